"""GBNF: what llama.cpp's limits do to long repetitions and to free text."""

import pytest

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
from rightseat.models.completion.grammar.prefix_tree import make_literal_choice
from tests.models.completion.grammar import oracle, reading, words


def both(node: Node, rules: dict[str, Node] | None = None) -> Grammar:
    """The grammar as it comes back from its GBNF."""
    return reading.read(gbnf.write(Grammar(node, rules or {})))


@pytest.mark.parametrize(
    ("least", "most"),
    [(0, 1_100), (0, 1_101), (0, 1_999), (0, 2_000), (1_234, 1_234), (3, 1_500), (1_150, 2_345), (1_200, None)],
)
def test_a_long_repetition_is_exact(least: int, most: int | None) -> None:
    grammar = both(Repeat(LiteralText("a"), least, most))

    for count in {0, 1, least - 1, least, least + 1, 1_000, (most or 3_000) - 1, most or 3_000, (most or 3_000) + 1} - {
        -1
    }:
        assert words.accepts(grammar, "a" * count) is (count >= least and (most is None or count <= most)), count


@pytest.mark.parametrize("end", ["</p>", "\n</parameter>", "aab", "abab", "<"])
def test_free_text_ends_at_the_first_occurrence_of_its_end(end: str) -> None:
    grammar = Grammar(Concat((Until(end), LiteralText(end))), {})
    back, judge = reading.read(gbnf.write(grammar)), oracle.of_lark(lark.write(grammar))
    assert not judge.problem

    for seed in range(200):
        text = words.Speaker(Grammar(Until(end), {}), seed).word()
        assert words.accepts(back, text + end), text
        assert judge.accepts(text + end), text
        assert not words.accepts(back, text + end + text + end), text


@pytest.mark.parametrize("end", ["</p>", "aab", "aa", "abab", "<"])
@pytest.mark.parametrize("most", [0, 1, 5, 64, 65, 300])
def test_limited_text_is_never_longer_and_never_contains_its_end(end: str, most: int) -> None:
    grammar = both(Until(end, most))

    for seed in range(60):
        word = words.Speaker(grammar, seed).word()
        assert len(word) <= most
        assert (word + end).find(end) == len(word)
    assert words.accepts(grammar, "x" * most)
    assert not words.accepts(grammar, "x" * (most + 1))


def test_free_text_with_a_limit_is_never_longer_and_never_contains_its_end() -> None:
    end = "</parameter>"
    grammar = both(Until(end, 20))

    assert words.accepts(grammar, "x" * 20)
    assert words.accepts(grammar, "if a < b")
    assert not words.accepts(grammar, "x" * 21)
    assert not words.accepts(grammar, "<a" * 11)
    assert not words.accepts(grammar, end)


def test_texts_are_written_as_llama_cpp_reads_them() -> None:
    odd = '"\\\n\r\t\x00\x7f[]{}é😀\u2028'

    assert words.accepts(both(LiteralText(odd)), odd)
    assert words.accepts(both(Repeat(Chars(tuple((ord(sign), ord(sign)) for sign in odd)), 0, None)), odd)
    assert not words.accepts(both(Chars(((ord("]"), ord("^")),), negated=True)), "]")


def test_only_rules_that_are_needed_are_written() -> None:
    text = gbnf.write(Grammar(Rule("a"), {"c": LiteralText("c"), "a": Rule("b"), "b": LiteralText("b")}))

    assert text == 'root ::= a\na ::= b\nb ::= "b"\n'


def test_what_is_repeated_is_one_rule() -> None:
    text = gbnf.write(Grammar(Repeat(Choice((LiteralText("ab"), LiteralText("c"))), 2, 5), {}))

    assert text == 'root ::= part-0{2,5}\npart-0 ::= "ab" | "c"\n'


def test_a_repetition_of_a_repetition_is_read_as_such() -> None:
    grammar = both(Repeat(Repeat(Repeat(LiteralText("a"), 2, 2), 0, 1), 0, 3))

    assert [count for count in range(9) if words.accepts(grammar, "a" * count)] == [0, 2, 4, 6]


def test_many_texts_share_their_beginnings() -> None:
    texts = [f"value number {number}" for number in range(3_000)]
    node = make_literal_choice(texts)
    grammar = both(node)

    assert isinstance(node, Concat)
    assert node.parts[0] == LiteralText("value number ")
    assert all(words.accepts(grammar, text) for text in texts[::97])
    assert not words.accepts(grammar, "value number 3000")
    assert not words.accepts(grammar, "value number ")


def test_texts_that_begin_each_other_are_all_there() -> None:
    texts = ["a" * size for size in range(1, 60)]
    grammar = both(make_literal_choice(texts))

    assert all(words.accepts(grammar, text) for text in texts)
    assert not words.accepts(grammar, "a" * 60)
    assert not words.accepts(grammar, "")
