"""An operator's expression means what it means in Python, or is refused with the construct and the cure."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.guards.expressions import BadPattern, pattern, phrase


def is_found(expression: str, text: str) -> bool:
    raw = pattern(expression).raw
    assert raw is not None
    return raw.is_in(text)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("a+", "must be bounded"),
        ("(", "is not a valid pattern"),
        ("a{0,3}", "matches the empty text"),
        ("a(?=b)", "has a look-ahead"),
        ("a(?!b)", "has a negative look-ahead"),
        ("(?<=a)b", "has a look-behind"),
        ("x(?:a|(?<!a)b)", "has a negative look-behind"),
        (r"(a)\1", "has a back-reference"),
        (r"(?P<one>a){1,2}(?P=one)", "has a back-reference"),
        ("(a)?(?(1)b|c)", "has a conditional group"),
        ("a{1,3}+b", "has a possessive repeat"),
        ("(?>ab)c", "has an atomic group"),
        (r"(\w{1,30} ?){1,30}#", "more than 16 MB"),
        (r"(?:(?:a{1,9}){1,99}){1,9}b", "repetition size|more than 4,096"),
        (r"проект\b.{0,20}козодой", "has a word boundary"),
        (r"é\bж", "has a word boundary"),
    ],
)
def test_an_invalid_pattern_is_reported_with_the_reason(expression: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        pattern(expression)


def test_an_empty_phrase_is_refused() -> None:
    for text in ("", "  ", "\u200b\u0323"):
        with pytest.raises(BadPattern, match="everywhere"):
            phrase(text)


def test_what_would_hold_back_too_much_is_refused() -> None:
    with pytest.raises(BadPattern, match="more than 4,096"):
        phrase("a" * 4097)
    with pytest.raises(BadPattern, match="more than 4,096"):
        pattern("ﷺ{1,900}")  # it is normalised to 18 letters


EXPRESSIONS = [
    r"\w{2}\d",
    r"\W\s\S",
    r"[^\W\d_]{2}\D",
    r"[\W_]a",
    r"[^a\s]b",
    r"\bab\b",
    r"\b(?:ab|é1|\d)\b",
    r"(?:\bé|b)a",
    r"^a.",
    r"a.\Z",
    r"b$",
    r"(?m:^b$)",
    r"(?s:a.b)",
    r"(?-i:A)b",
    r"(?P<name>a|é){2}?1",
    r"[a-cà-ü]{3}",
    r"(?x: a \  b )",
    r"(?a)\w\W",
    r"é",
    r"_\x41",
    r"a{2,3}b{1,9}?x|ж",
    r"é\b-",
    r"\w{1,3}\b-",
    r"-\bé",
    r"(-é)\b\s",
    r"é\Bж",
    r"\b-",
    r"-{1,2}\b",
    r"é\b|éb",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@given(text=st.text("abAB1é_ж \n-", max_size=8))
def test_an_expression_finds_what_it_finds_in_python(expression: str, text: str) -> None:
    assert is_found(expression, text) == bool(re.search(expression, text, re.IGNORECASE))


def test_alternatives_that_are_invisible_do_not_keep_the_others_from_normalised_text() -> None:
    normalized = pattern("\u200b|plan").normalized

    assert normalized is not None
    assert normalized.is_in("the plan")
    assert not normalized.is_in("nothing")


def test_a_repeat_may_be_longer_than_the_engine_takes_at_once() -> None:
    assert is_found("a.{1500,2500}b", "a" + "x" * 2500 + "b")
    assert not is_found("a.{1500,2500}b", "a" + "x" * 1499 + "b")


@pytest.mark.serial
def test_nested_repeats_take_time_that_is_linear_in_the_text() -> None:
    """With the standard library this takes longer than anybody waits."""
    began = time.process_time()

    assert not is_found(r"([A-Za-z0-9_]{1,30} ?){1,30}#", "please tell me something nice today " * 20)
    assert time.process_time() - began < 2


@pytest.mark.serial
def test_many_matches_are_found_in_time_that_is_linear_in_the_text() -> None:
    """If each one decodes the text before it, this takes minutes."""
    number, count = pattern("ж[0-9]{3}").normalized, 20_000
    assert number is not None
    began = time.process_time()

    assert list(number.find("ж123 é " * count)) == [(7 * place, 7 * place + 4) for place in range(count)]
    assert time.process_time() - began < 5


def test_a_match_at_the_end_of_an_incomplete_text_is_not_final() -> None:
    for expression, text in ((pattern("ab"), "xab"), (pattern("é"), "xé"), (pattern(r"b\b"), "ab")):
        assert expression.raw is not None
        assert expression.raw.is_in(text)
        assert not expression.raw.is_in(text, final=False)
        assert expression.raw.is_in(f"{text} é", final=False)


def test_what_is_only_context_is_no_beginning() -> None:
    anchored = pattern("^b").raw
    assert anchored is not None

    assert anchored.is_in("bb")
    assert not anchored.is_in("bb", 1)
    assert not anchored.is_in("éb", 1)
