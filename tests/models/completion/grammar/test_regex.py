"""Patterns: what a grammar says matches, and what matches can be said."""

import json
import re

import jsonschema_rs
import pytest

from rightseat.models.completion.grammar import lengths, regex
from rightseat.models.completion.grammar.nodes import Concat, Grammar, LiteralText
from rightseat.models.completion.grammar.strings import QUOTE, escape_node
from tests.models.completion.grammar import words
from tests.models.completion.grammar.schemas import PATTERNS

MORE = (
    r"^(a+)+$",
    r"^((a|aa)*b?)*$",
    r"^(a*)*(b*)*$",
    r"^\w+([.-]?\w+)*@\w+([.-]?\w+)*(\.\w{2,3})+$",
    r"^[\]\\^-]+$",
    r"^[^\]\\^-]+$",
    r"^\x41\u0042\cJ$",
    r"^(?<year>\d{4})-(?:0[1-9]|1[0-2])$",
    r"^a{2}b{1,}c{0,3}?$",
    r"^\/\.\*$",
    "^-$|^[+-]?1$",
    "^[a-]$",
)
SHORT = 60


@pytest.mark.parametrize("pattern", [*PATTERNS, *MORE])
def test_every_word_matches_its_pattern(pattern: str) -> None:
    node = lengths.fit(regex.parse(pattern), 0, SHORT)
    assert node is not None
    grammar = Grammar(Concat((QUOTE, escape_node(node), QUOTE)), {})
    validator = jsonschema_rs.validator_for({"pattern": pattern, "maxLength": SHORT})

    for seed in range(60):
        word = words.Speaker(grammar, seed).word()
        assert validator.is_valid(json.loads(word)), word


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (r"^\d{3}-[A-Z]{2}$", ["123-AB"], ["123-ab", "1234-AB"]),
        ("b+c", ["bc", "abbcd"], ["b", "c"]),
        ("^a|b$", ["a", "abc", "b", "ab"], ["ba", "c"]),
        (r"^[^\s@]+@[^\s@]+$", ["a@b", "é@b"], ["a b@c", "a\u00a0b@c", "\ufeff@c"]),
        (r"^[^\w]$", ["-"], ["a", "é"]),
        (r"^[^\S]$", [" "], ["a", "\u0085"]),
        (r"^[^\s,]+(,[^\s,]+)*$", ["a", "a,b,cc"], ["a,", "a b"]),
        (r"^.$", ["a", "é", "😀"], ["", "\n", "ab"]),
        (r"^\s$", [" ", "\t"], ["a"]),
        (r"^(?:a|)$", ["", "a"], ["aa"]),
        ("", ["", "anything"], []),
    ],
)
def test_the_grammar_accepts_exactly_the_matching_text(pattern: str, right: list[str], wrong: list[str]) -> None:
    grammar = Grammar(regex.parse(pattern), {})

    for text in right:
        assert re.search(pattern, text)
        assert words.accepts(grammar, text), text
    for text in wrong:
        assert not words.accepts(grammar, text), text


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)b", "look-ahead"),
        ("(?<!a)b", "look-behind"),
        (r"(a)\1", "back reference"),
        (r"(?<n>a)\k<n>", "back reference"),
        (r"\bword", "a zero-width assertion"),
        ("a^b", "an anchor in the middle"),
        ("(a$|b)c", "an anchor in the middle"),
        ("(a", "`(` without its `)`"),
        ("a)", "`)` without its `(`"),
        ("[a", "`[` without its `]`"),
        ("[b-a]", "bounds are reversed"),
        ("a{2,1}", "bounds are reversed"),
        ("*a", "nothing to repeat"),
        ("a{x}", "does not start a repetition"),
        ("a\\", "ends with a backslash"),
        (r"\q", "unknown escape"),
        (r"\p{Greek}", "known are"),
        ("[]", "an empty character set"),
        ("(?i)a", "JSON Schema does not support"),
        ("(" * 500 + ")" * 500, "nested more than"),
        ("a" * 6_000, "characters"),
        ("(x{1,500}){1,500}", "can match 25"),
    ],
)
def test_what_no_grammar_can_do_is_named(pattern: str, why: str) -> None:
    with pytest.raises(regex.UnsupportedPattern, match=re.escape(why)):
        regex.parse(pattern)


@pytest.mark.parametrize(
    ("pattern", "low", "high", "right", "wrong"),
    [
        ("^[a-z]+$", 2, 4, ["ab", "abcd"], ["a", "abcde"]),
        ("^a*b*$", 0, 4, ["ab", "aabb"], ["aaaaa"]),
        ("^(ab)+$", 3, 5, ["abab"], ["ab", "ababab"]),
        ("^(ab|c)+$", 2, 4, ["abab", "cc"], ["c", "ababab"]),
        ("^ab?$", 2, 9, ["ab"], ["a"]),
        ("^(a|bb|ccc)$", 2, 2, ["bb"], ["a", "ccc"]),
        (r"^\w+@\w+$", 5, 9, ["ab@cd"], ["a@b", "aaaaa@aaaaa"]),
    ],
)
def test_a_pattern_is_narrowed_to_its_lengths(
    pattern: str, low: int, high: int, right: list[str], wrong: list[str]
) -> None:
    node = lengths.fit(regex.parse(pattern), low, high)

    assert node is not None
    assert all(words.accepts(Grammar(node, {}), text) for text in right)
    assert not any(words.accepts(Grammar(node, {}), text) for text in wrong)


@pytest.mark.parametrize(
    ("tangled", "plain"),
    [
        ("^(a+)+$", "^a+$"),
        ("^(a*)*$", "^a*$"),
        ("^((a+)*)+$", "^a*$"),
        ("^(a{1,3}){2,5}$", "^a{2,15}$"),
        (r"^\w*\w*\w+$", r"^\w+$"),
        ("^a{2}a?$", "^a{2,3}$"),
    ],
)
def test_what_could_be_counted_in_many_ways_is_counted_in_one(tangled: str, plain: str) -> None:
    assert lengths.fit(regex.parse(tangled), 0, SHORT) == lengths.fit(regex.parse(plain), 0, SHORT)


def test_a_pattern_that_cannot_be_so_short_is_none() -> None:
    assert lengths.fit(regex.parse("^abc$"), 0, 2) is None
    assert lengths.fit(regex.parse("^abc$"), 4, 9) is None
    assert lengths.fit(LiteralText(""), 1, 9) is None
