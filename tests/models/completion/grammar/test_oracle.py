"""No word of a grammar is outside its schema: jsonschema-rs and llguidance say so, for schemas made by chance."""

import json
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rightseat.core.errors import SchemaNotSupported
from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.grammar.nodes import Grammar
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.models.completion.grammar import oracle, reading, words
from tests.models.completion.grammar.schemas import schemas
from tests.profiles import examples

Schema = dict[str, Any] | bool
SMALL = GrammarBounds(text=20, items=4, entries=3, any_depth=1)
"""So that words are short; the bounds themselves are tested elsewhere."""
PAINLESS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
A_WORD = 8


def built(schema: Schema) -> Grammar | None:
    builder = GrammarBuilder(SMALL)
    try:
        return builder.grammar(builder.value(schema, "schema"))
    except SchemaNotSupported:
        return None


def judged(schema: Schema, seed: int) -> None:
    grammar = built(schema)
    if grammar is None:
        return
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    peer, ours = oracle.of_schema(schema), oracle.of_lark(lark.write(grammar))
    read = reading.read(gbnf.write(grammar))
    assert not ours.problem
    for turn in range(A_WORD):
        word = words.Speaker(grammar, seed + turn).word()
        assert validator.is_valid(json.loads(word)), word
        assert ours.accepts(word), word
        if len(word) < 400:
            assert words.accepts(read, word), word
        if not peer.problem and comparable(schema):
            assert peer.accepts(word) or peer.accepts(tidy(word)), word


def comparable(schema: Schema) -> bool:
    """llguidance 1.9 takes 1.5 for no multiple of 0.25."""
    return "multipleOf" not in json.dumps(schema)


def tidy(word: str) -> str:
    """The same value in another spelling: llguidance takes no zeros behind a bounded fraction."""
    return msgspec.json.encode(msgspec.json.decode(word)).decode()


@settings(max_examples=examples(0.4), suppress_health_check=PAINLESS, derandomize=True)
@given(schemas, st.integers(0, 1_000))
def test_every_word_fits_its_schema(schema: Schema, seed: int) -> None:
    judged(schema, seed)


@pytest.mark.whole
@settings(max_examples=examples(4 / 3), suppress_health_check=PAINLESS)
@given(schemas, st.integers(0, 1_000))
def test_every_word_fits_its_schema_in_many_tries(schema: Schema, seed: int) -> None:
    judged(schema, seed)
