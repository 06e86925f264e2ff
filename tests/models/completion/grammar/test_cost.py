"""Two hundred kilobytes of tools are no burden."""

import json
import time

from rightseat.models.completion.grammar import gbnf, strings
from rightseat.models.completion.grammar.schema import Builder
from tests.measure.grammar_cost import grammar, tools


def test_200_kb_of_tools_become_a_grammar_quickly() -> None:
    given = tools()
    assert len(json.dumps(given)) > 200_000

    took = []
    for _ in range(3):
        start = time.process_time()
        gbnf.write(grammar(given))
        took.append(time.process_time() - start)

    assert min(took) < 0.25  # about 0.025 on a quiet machine; ten times that is a mistake


def test_a_pattern_is_read_once_for_all_requests() -> None:
    strings.shaped.cache_clear()
    for _ in range(3):
        Builder().value({"items": {"type": "string", "format": "date-time"}, "type": "array"}, "schema")

    assert strings.shaped.cache_info().misses == 1
