"""The rest of a grammar, behind every beginning of what it lets through. The judge is llguidance."""

import pytest

from rightseat.models.completion.grammar import derivative
from rightseat.models.completion.grammar.nodes import (
    Chars,
    Choice,
    Concat,
    Grammar,
    LiteralText,
    Node,
    Repeat,
    Rule,
    Until,
)
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.models.completion.grammar import reading
from tests.models.completion.grammar.oracle import Judge

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "xy"]}}}
NESTED = {
    "$ref": "#/$defs/n",
    "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "additionalProperties": False}},
}
LETTER = Chars(((97, 122),))


def rest(node: Node, said: str, **rules: Node) -> Grammar | None:
    return derivative.derive(Grammar(node, rules), said)


def accepts(grammar: Grammar | None, text: str) -> bool:
    return grammar is not None and Judge(lark.write(grammar)).accepts(text)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "maxLength": 12}, '"a\\n \\" é🎈"'),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "xy"]}}},
            '{"a": -12, "b": "xy"}',
        ),
        ({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 4}, "[1.5, 2, -3]"),
        ({"anyOf": [{"const": "abc"}, {"const": "abd"}, {"type": "null"}]}, '"abd"'),
        (NESTED, '{"n": {"n": {}}}'),
    ],
)
def test_behind_every_beginning_the_rest_is_let_through_and_nothing_else(schema: object, text: str) -> None:
    builder = GrammarBuilder()
    grammar = builder.grammar(builder.value(schema, "it"))

    for at in range(len(text) + 1):
        said, following = text[:at], text[at:]
        left = derivative.derive(grammar, said)
        assert accepts(left, following)
        for other in (following + "]", "~" + following, "~" * 12 + following, following[1:], ""):
            assert accepts(left, other) == accepts(grammar, said + other), other
    assert derivative.derive(grammar, "~") is None


def test_the_rest_can_be_written_for_llama_cpp() -> None:
    builder = GrammarBuilder()
    grammar = builder.grammar(builder.value({"type": "string"}, "it"))

    left = derivative.derive(grammar, '"Hel')

    assert left is not None
    reading.read(gbnf.write(left))


def test_a_text_that_is_over_leaves_nothing() -> None:
    left = rest(LiteralText("ab"), "ab")

    assert accepts(left, "")
    assert not accepts(left, "a")
    assert left is not None
    reading.read(gbnf.write(left))


def test_a_free_text_continues_up_to_its_end_marker() -> None:
    node = Concat((Until("<end>"), Repeat(Concat((LiteralText("<end>"), LETTER)), 0, 1)))

    left = rest(node, "some < text <en ")

    assert accepts(left, "more")
    assert accepts(left, "more<end>x")
    assert not accepts(left, "more<end>xy")


def test_a_free_text_knows_its_end_again_after_a_false_beginning() -> None:
    assert accepts(rest(Concat((Until("aab"), LiteralText("aab"))), "aaab"), "")
    assert rest(Until("aab"), "aaab") is None


def test_what_stops_within_the_end_of_a_free_text_is_not_followed() -> None:
    assert rest(Until("<end>"), "text <e") is None


def test_a_bounded_text_has_what_is_left_of_its_bound() -> None:
    left = rest(Concat((Until("<", 4), LiteralText("<"))), "abc")

    assert accepts(left, "d<")
    assert not accepts(left, "de<")


def test_the_rest_of_a_repetition_counts_the_generated_items() -> None:
    left = rest(Repeat(LETTER, 3, 5), "ab")

    assert not accepts(left, "")
    assert accepts(left, "c")
    assert accepts(left, "cde")
    assert not accepts(left, "cdef")


def test_what_may_be_empty_ends_nothing_and_repeats_for_ever() -> None:
    left = rest(Repeat(Choice((LiteralText(""), LETTER)), 2, None), "a")

    assert accepts(left, "")
    assert accepts(left, "bcd")


def test_a_rule_that_names_itself_is_followed() -> None:
    nested = Choice((LiteralText("x"), Concat((LiteralText("("), Rule("nested"), LiteralText(")")))))

    assert rest(Rule("nested"), "((", nested=nested) == Grammar(
        Concat((Rule("nested"), LiteralText(")"), LiteralText(")"))), {"nested": nested}
    )


def test_too_many_ways_or_too_long_a_text_are_not_followed() -> None:
    ways = Concat(tuple(Repeat(LETTER, 0, 9) for _ in range(100)))

    assert rest(ways, "abcdefgh") is None
    assert rest(Repeat(LETTER), "a" * (derivative.MAX_CHARS + 1)) is None
    assert rest(Repeat(LETTER), "a" * derivative.MAX_CHARS) is not None
