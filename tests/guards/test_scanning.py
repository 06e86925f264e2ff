"""What is found while a text is still being written, and what is shown of it by then."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.ask import Answer, Ask
from rightseat.core.errors import Denied
from rightseat.guards.patterns import Patterns
from rightseat.guards.personal_data import EXPRESSIONS, WINDOW, PersonalData
from rightseat.guards.scanning import BadPattern, Finder, Pattern, Scan, Search, compiled, pattern, phrase

PLAN = phrase("secret plan", "No plans.")


async def show(pieces: list[str], search: Search, window: int) -> tuple[str, bool]:
    """What a reader gets to see, and whether it was denied."""
    scan, shown = Scan(search, window), ""
    try:
        for piece in pieces:
            shown += await scan.add(piece)
        return shown + await scan.end(), False
    except Denied:
        return shown, True


async def through(one: Pattern, *pieces: str) -> tuple[str, bool]:
    return await show(list(pieces), Patterns([one]), one.longest)


@pytest.mark.parametrize(
    "spelt",
    [
        "secret plan",
        "SECRET  Plan",
        "secret\nplan",
        "se\u200bcret plan",
        "secret\u200b plan",
        "s" + "\u200b" * 50 + "ecret plan",
        "secret" + " " * 300 + "plan",
        "secret" + " \u2060" * 300 + "plan",
        "s\ufe0fe\u2062c\u034fret plan",
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_phrase_is_found_however_it_is_written(spelt: str, size: int) -> None:
    text = f"It is a {spelt}."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]

    shown, is_denied = await through(PLAN, *pieces)

    assert is_denied
    assert "It is a ".startswith(shown)


@pytest.mark.parametrize("text", ["secret planet", "top-secret-ish plan", "unsecret plan", "secret, plan"])
async def test_what_only_looks_like_it_passes_whole(text: str) -> None:
    assert await through(PLAN, *text) == (text, False)


async def test_a_word_that_goes_on_is_another_word() -> None:
    assert await through(PLAN, "a secret plan", "et") == ("a secret planet", False)
    assert await through(PLAN, "a secret plan", " B") == ("a ", True)


@given(before=st.text("ab c\n", max_size=90), after=st.text("ab c", max_size=40), cuts=st.sets(st.integers(0, 150)))
async def test_nothing_of_a_match_is_shown_wherever_it_stands_and_however_it_is_cut(
    before: str, after: str, cuts: set[int]
) -> None:
    text = f"{before} secret plan {after}"
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]

    shown, denied = await through(PLAN, *pieces)

    assert denied
    assert f"{before} ".startswith(shown)


@given(st.lists(st.text("secrtplan \n", max_size=20)))
async def test_what_is_not_denied_is_shown_whole(pieces: list[str]) -> None:
    shown, denied = await through(PLAN, *pieces)

    text = "".join(pieces)
    assert denied == bool(PLAN.compiled.search(text))
    assert denied or shown == text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("write to ann.lee+x@mail.example.org today", True),
        ("an @ alone, or a@b, is none", False),
        ("card 4111 1111 1111 1111", True),
        ("card 4111-1111-1111-1111 555", True),
        ("1 4111 1111 1111 1111", True),
        ("on 12 of 11, 33 4111 1111 1111 1111 22 33", True),
        ("card 4\u200b1\u200b1\u200b1 1111 1111 1111", True),
        ("order 4111 1111 1111 1112", False),
        ("to de89370400440532013000 please", True),
        ("to DE89 3704 0044 0532 0130 00 please", True),
        ("to DE88 3704 9944 1532 0130 00 please", False),
        ("call +49 (30) 901820-44", True),
        ("call 0049 30 90182044", True),
        ("on 2026-11-15 at 10:30:55 it was 3.14159", False),
    ],
)
async def test_personal_data_is_found_piece_by_piece(text: str, is_one: bool) -> None:
    for width in (1, 3, len(text)):
        pieces = [text[start : start + width] for start in range(0, len(text), width)]
        shown, denied = await show(pieces, PersonalData(), WINDOW)
        assert denied == is_one
        assert not denied or not any(character.isdigit() or character == "@" for character in shown)


async def test_what_a_person_answers_to_a_question_is_looked_at() -> None:
    guard = Finder("plans", Patterns([PLAN]), PLAN.longest, ("question",))

    await guard.check_question(Ask(messages=(), answers=(Answer("i", "resolved", {"approved": True}),)))
    with pytest.raises(Denied):
        await guard.check_question(Ask(messages=(), answers=(Answer("i", "resolved", {"note": "the secret plan"}),)))


def test_no_personal_data_is_longer_than_what_is_held_back() -> None:
    assert all(compiled(expression, "").longest <= WINDOW for expression in EXPRESSIONS.values())


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("a+", "needs an end"),
        ("(", "is no pattern"),
        ("a{0,3}", "even in none"),
        ("a(?=b)", "looks ahead"),
        ("(?<!a)b", "looks ahead or behind"),
    ],
)
def test_a_pattern_that_cannot_be_looked_for_says_why(expression: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        pattern(expression, "")


def test_an_empty_phrase_is_refused() -> None:
    with pytest.raises(BadPattern, match="everywhere"):
        phrase("  ", "")


SEARCHES: dict[str, tuple[Search, int]] = {
    "patterns": (Patterns([PLAN, pattern("p{2,4}l", "No."), pattern("a(?:n| a){1,6}s", "No.")]), 16),
    "personal data": (PersonalData(), WINDOW),
}


LETTERS = st.text("secrt plan\n\u200b1@.+0-", max_size=12)
WORDS = st.sampled_from(["secret", "plan", "pp", "a@b.c", "4111", "1111", "+49 30", "1234567", "DE89 3704"])


@pytest.mark.parametrize("kind", SEARCHES)
@given(pieces=st.lists(st.one_of(LETTERS, WORDS), max_size=30))
def test_what_was_searched_before_need_not_be_searched_again(kind: str, pieces: list[str]) -> None:
    """A scan looks only at what can have become a match. One that looks at everything, each time, sees the same."""
    search, window = SEARCHES[kind]

    def everything(text: str, *, final: bool = True, new: int | None = None) -> None:
        search(text, final=final)

    assert step_by_step(pieces, search, window) == step_by_step(pieces, everything, window)


def step_by_step(pieces: list[str], search: Search, window: int) -> list[str]:
    """What is shown at each piece, up to the one that is denied."""
    scan, shown = Scan(search, window), list[str]()
    with suppress(Denied):
        for piece in pieces:
            shown.append(scan.feed(piece))  # it may be denied in the middle
    return shown
