"""Regular expressions of Python are read as `re` reads them; the parser relies on no private part of `re`."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.guards.expressions import BadPattern, pattern
from rightseat.guards.regex_parser import (
    UNLIMITED,
    Alternatives,
    Anchor,
    AnyCharacter,
    CaseGroup,
    Character,
    CharacterSet,
    Node,
    Nodes,
    Repetition,
    measure,
    parse,
)


def read(expression: str) -> Nodes:
    return parse(expression, re.compile(expression, re.IGNORECASE).flags)


def text(characters: str) -> Nodes:
    return tuple(Character(ord(character)) for character in characters)


def ranges(*members: tuple[str, str] | str, is_negated: bool = False, is_ascii: bool = False) -> CharacterSet:
    """A set of categories and of ranges from one character to another."""
    codes = tuple(member if isinstance(member, str) else (ord(member[0]), ord(member[1])) for member in members)
    return CharacterSet(codes, is_negated, is_ascii)


def repeat(nodes: Nodes, least: int, most: int, *, is_lazy: bool = False) -> Repetition:
    return Repetition(nodes, least, most, is_lazy)


A = text("a")


@pytest.mark.parametrize(
    ("expression", "nodes"),
    [
        # escapes
        (r"\n\t\a\\\.\é\ ", text("\n\t\a\\.é ")),
        (r"\x41\u00e9\U0001f600\N{EM DASH}", text("Aé😀—")),
        (r"\0\07\012\101\0101", text("\0\7\nA\b1")),
        ("\\\n", text("\n")),
        (r"\d\W", (ranges("d"), ranges("W"))),
        (r"(?a)\w[^\s-]", (ranges("w", is_ascii=True), ranges("s", ("-", "-"), is_negated=True, is_ascii=True))),
        # sets
        ("[a]", A),
        ("[^a]", (ranges(("a", "a"), is_negated=True),)),
        ("[]a]", (ranges(("]", "]"), ("a", "a")),)),
        ("[^]-a]", (ranges(("]", "a"), is_negated=True),)),
        ("[a-]", (ranges(("a", "a"), ("-", "-")),)),
        ("[-a]", (ranges(("-", "-"), ("a", "a")),)),
        (r"[\d-]", (ranges("d", ("-", "-")),)),
        (r"[+-\-\]\\]", (ranges(("+", "-"), ("]", "]"), ("\\", "\\")),)),
        (r"[\b\7\101-\x5a\N{EM DASH}]", (ranges(("\b", "\b"), ("\7", "\7"), ("A", "Z"), ("—", "—")),)),
        ("[.|)(]", (ranges((".", "."), ("|", "|"), (")", ")"), ("(", "(")),)),
        # repeats
        ("a*b+?", (repeat(A, 0, UNLIMITED), repeat(text("b"), 1, UNLIMITED, is_lazy=True))),
        ("a{2}b{,3}", (repeat(A, 2, 2), repeat(text("b"), 0, 3))),
        ("a{2,}?", (repeat(A, 2, UNLIMITED, is_lazy=True),)),
        ("a{,}", (repeat(A, 0, UNLIMITED),)),
        ("a{}{a}{1{2,b}", text("a{}{a}{1{2,b}")),
        ("(?:ab){2}", (repeat(text("ab"), 2, 2),)),
        ("(?:^){2,9}a", (repeat((Anchor.TEXT_START,), 1, 1), *A)),
        # groups
        ("(a(?:b)(?P<c>d))", text("abd")),
        ("a|bc|", (Alternatives((A, text("bc"), ())),)),
        ("(?-i:a)b", (CaseGroup(A, ignores_case=False), *text("b"))),
        ("(?-i:a(?i:b))", (CaseGroup((*A, CaseGroup(text("b"), ignores_case=True)), ignores_case=False),)),
        ("(?s:.).", (AnyCharacter(includes_newline=True), AnyCharacter(includes_newline=False))),
        ("(?s).(?-s:.)", (AnyCharacter(includes_newline=True), AnyCharacter(includes_newline=False))),
        (r"(?a)(?u:\d)", (ranges("d"),)),
        # anchors
        (
            r"^\A\b\B\Z$",
            (
                *(Anchor.TEXT_START, Anchor.TEXT_START, Anchor.BOUNDARY, Anchor.NO_BOUNDARY),
                *(Anchor.TEXT_END, Anchor.LAST_LINE_END),
            ),
        ),
        ("(?m)^$", (Anchor.LINE_START, Anchor.LINE_END)),
        ("(?m:^)^", (Anchor.LINE_START, Anchor.TEXT_START)),
        # comments and blanks
        (r"a(?#b\)c){2}", (repeat(A, 2, 2),)),
        ("(?x) a {2} # b \\\n c\n [ ]\\ ", (repeat(A, 2, 2), *text("  "))),
        ("(?#a)(?x) (?-x: a)", text(" a")),
        ("(?x: a ) b", text("a b")),
        ("(?x)(?: a | # ) |\n b )c", (Alternatives((A, text("b"))), *text("c"))),
    ],
)
def test_an_expression_becomes_nodes(expression: str, nodes: tuple[Node, ...]) -> None:
    assert read(expression) == nodes


def test_the_least_and_the_most_characters_of_a_match_are_known() -> None:
    assert measure(read("a{2,3}(?:b|cd){2}^(?-i:e?)")) == (4, 8)
    assert measure(read("(?:a+){2}")) == (2, UNLIMITED)


def test_an_expression_nested_too_deeply_is_refused() -> None:
    for depth in range(100, 1000, 50):
        try:
            assert pattern("(?i:(?-i:" * depth + "a" + "))" * depth).raw
        except BadPattern as error:
            assert "recursion" in str(error)  # noqa: PT017  # the depth depends on Python


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.sampled_from(["(", "(?:", "(?-i:", "(?i:", "(?s:", "(?x: ", "(?m:"])
    count = st.sampled_from(["?", "{2}", "{,2}", "{1,2}", "{0,2}?", "??"])
    return st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format),
        st.builds("{}{})".format, group, inner),
        st.builds("(?:{}){}".format, inner, count),
    )


SIMPLE = (
    *("a", "B", "é", "1", "_", "-", " ", ".", "^", "$", "{", "]", "(?#-)", r"\Z", r"\A", r"\-", r"\x41", r"\u00e9"),
    *(
        r"\141",
        r"\w",
        r"\W",
        r"\d",
        r"\D",
        r"\s",
        r"\S",
        "[ab]",
        "[^ab]",
        "[]a]",
        "[a-]",
        r"[^\W\d]",
        "[à-ü]",
        r"[\d-]",
    ),
)


@settings(deadline=None)  # a set with letters of every script takes long to compile
@given(
    expression=st.recursive(st.sampled_from(SIMPLE), combine, max_leaves=8),
    texts=st.lists(st.text("abAB1É_ \n-{]", max_size=6), min_size=3, max_size=8),
)
def test_any_expression_finds_what_it_finds_in_python(expression: str, texts: list[str]) -> None:
    compiled = re.compile(expression, re.IGNORECASE)
    try:
        raw = pattern(expression).raw
    except BadPattern as error:
        assert re.search("matches the empty text|more than 16 MB|repetition size", str(error))  # noqa: PT017
        return
    assert raw is not None

    assert [raw.is_in(text) for text in texts] == [bool(compiled.search(text)) for text in texts]
