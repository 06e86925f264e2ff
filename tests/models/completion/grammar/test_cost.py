"""Two hundred kilobytes of tools are no burden."""

import json
import time

import pytest

from rightseat.models.completion.grammar import strings
from rightseat.models.completion.grammar.output import gbnf
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.measure.grammar_cost import grammar, tools


@pytest.mark.serial
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
    strings.build_pattern_node.cache_clear()
    for _ in range(3):
        GrammarBuilder().value({"items": {"type": "string", "format": "date-time"}, "type": "array"}, "schema")

    assert strings.build_pattern_node.cache_info().misses == 1
