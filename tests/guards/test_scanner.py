"""What is found while a text is still being written, and what is shown of it by then."""

import json
import time
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.ask import Answer, Ask
from rightseat.core.errors import GuardDenied
from rightseat.core.messages import Call, user
from rightseat.guards import scanner
from rightseat.guards.expressions import Pattern, pattern, phrase, phrases
from rightseat.guards.normalization import normalize
from rightseat.guards.patterns import Patterns
from rightseat.guards.personal_data import PersonalData
from rightseat.guards.scanner import SearchFilter, SearchGuard, TextSearch, TextTail
from tests.conditions import counting_turns
from tests.profiles import examples

PLAN = phrase("secret plan")


async def show(pieces: list[str], search: TextSearch) -> tuple[str, bool]:
    """What a reader gets to see, and whether it was denied."""
    scan, shown = SearchFilter(search), ""
    try:
        for piece in pieces:
            shown += await scan.add(piece)
        return shown + await scan.end(), False
    except GuardDenied:
        return shown, True


async def through(one: Pattern, *pieces: str) -> tuple[str, bool]:
    return await show(list(pieces), Patterns([one], "No plans."))


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
        "s\x00e\x1bc\x7fr\x0ce\x85t plan",
        "ｓｅｃｒｅｔ　ｐｌａｎ",
        "𝐬𝐞𝐜𝐫𝐞𝐭 𝓅𝓁𝒶𝓃",
        "ⓢⓔⓒⓡⓔⓣ ⓟⓛⓐⓝ",
        "sęcrèť plän",
        "s\u0323e\u0336c\u20ddr\u0e48e\u093ft plan",
        "secret\u2800plan",
        "secret\u3164pl\u200ban",
        "secret\u200bplan",
        "secret\u200b \u2800\n plan",
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


async def test_a_longer_word_is_another_word() -> None:
    assert await through(PLAN, "a secret plan", "et") == ("a secret planet", False)
    assert await through(PLAN, "Such a secret plan", " B") == ("Such ", True)


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
async def test_allowed_text_is_passed_on_complete(pieces: list[str]) -> None:
    shown, denied = await through(PLAN, *pieces)

    text = "".join(pieces)
    assert denied == (" secret plan " in f" {' '.join(text.split())} ")
    assert denied or shown == text


@pytest.mark.parametrize(
    "text",
    [
        "Tiếng Việt có dấu, café, naïve, Straße, ﬁne ½ ℡",
        "مَرْحَبًا بالعالم می‌خواهم",
        "हिन्दी में क्‍ष और कुल",
        "ภาษาไทย น้ำ",
        "が か 한국어 \u1112\u1161\u11ab",
        "👩‍👩‍👧‍👦 ❤️ 🇩🇪",
        "two  spaces\n\n\tand a tab, \x00 and \u2800\u3164\u200b",
        "e\u0301" * 300,
        "\u200b" * 3000,
        "ﷺ" * 60,
    ],
)
async def test_a_text_that_is_not_denied_reaches_the_reader_as_it_was_written(text: str) -> None:
    for size in (1, 2, 5, 4000):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]

        assert await show(pieces, Patterns([PLAN, pattern("sk-[a-z]{3,9}")], "")) == (text, False)
        assert await show(pieces, PersonalData()) == (text, False)


@pytest.mark.parametrize(
    ("written", "text", "is_denied"),
    [
        ("naïve plan", "a naive plan", True),
        ("naïve plan", "a NAI\u0308VE plan", True),
        ("ﬁne print", "the fine print", True),
        ("secret\u00adplan", "a secretplan", True),
        ("कुल", "आज कल", False),
        ("कुल", "यह कुल है", True),
        ("がき", "あ かき あ", False),
        ("한국", "이 \u1112\u1161\u11ab\u1100\u116e\u11a8 을", True),
    ],
)
async def test_a_phrase_is_normalised_as_texts_are(written: str, text: str, is_denied: bool) -> None:
    assert (await through(phrase(written), *text))[1] == is_denied


@pytest.mark.parametrize("text", ["therapist", "secretplan", "s e c r e t plan"])
async def test_words_are_divided_as_the_phrase_is(text: str) -> None:
    for one in ("the rapist", "secret plan"):
        assert await through(phrase(one), *text) == (text, False)


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
        ("card ٤١١١ ١١١١ ١١١１ １１１１", True),
        ("card 5\u28004111 1111 1111 1111", True),
        ("card é4111 1111 1111 1111", False),
        ("card 4111 1111 1111 1111_", False),
        ("x\u2800D\u200bE89 3704 0044 0532 0130 00", True),
        ("to ann\u200b@mail.example.org", True),
        ("“@ann.lee” said", False),
        ("+1\u200b 212\u200b-555-0123-44", True),
    ],
)
async def test_personal_data_is_found_piece_by_piece(text: str, is_one: bool) -> None:
    for width in (1, 3, len(text)):
        pieces = [text[start : start + width] for start in range(0, len(text), width)]
        shown, denied = await show(pieces, PersonalData())
        assert denied == is_one
        assert not denied or not any(character.isdigit() or character == "@" for character in shown)


async def test_what_a_person_answers_to_a_question_is_looked_at() -> None:
    guard = SearchGuard("plans", Patterns([PLAN], "No plans."), ("question",))

    await guard.check_question(Ask(messages=(), answers=(Answer("i", "resolved", {"approved": True}),)))
    with pytest.raises(GuardDenied):
        await guard.check_question(Ask(messages=(), answers=(Answer("i", "resolved", {"note": "the secret plan"}),)))


SEARCHES: dict[str, TextSearch] = {
    "patterns": Patterns([PLAN, pattern("p{2,4}l"), pattern("a(?:n| a){1,6}s"), pattern(r"\b4\d\d")], "No."),
    "personal data": PersonalData(),
}


LETTERS = st.text("secrt plan\n\u200b\u0323\u0e48１1@.+0-é", max_size=12)
WORDS = st.sampled_from(
    ["secret", "plan", "pp", "a@b.c", "4111", "1111", "+49 30", "1234567", "DE89 3704", "0044 0532"]
)
PIECES = st.lists(st.one_of(LETTERS, WORDS), max_size=30)


def verdict(pieces: list[str], search: TextSearch) -> tuple[list[str], bool]:
    """What is shown at each piece, up to the one that is denied, and whether one is."""
    scan, shown = SearchFilter(search), list[str]()
    with suppress(GuardDenied):
        for piece in pieces:
            shown.append(scan.feed(piece))  # it may be denied in the middle
        scan.finish()
        return shown, False
    return shown, True


@pytest.mark.parametrize("kind", SEARCHES)
@given(pieces=PIECES)
def test_a_text_in_pieces_gets_the_verdict_of_the_whole(kind: str, pieces: list[str]) -> None:
    assert verdict(pieces, SEARCHES[kind])[1] == verdict(["".join(pieces)], SEARCHES[kind])[1]


@pytest.mark.parametrize("kind", SEARCHES)
@settings(max_examples=examples(0.2))
@given(pieces=PIECES, padding=st.sampled_from(["", "x y ", "\u200b", "1 ", "é "]))
async def test_windows_of_a_long_text_get_the_verdict_of_one_search_over_all_of_it(
    kind: str, pieces: list[str], padding: str
) -> None:
    search, text = SEARCHES[kind], padding * 700 + "".join(pieces)

    assert (await show([text], search))[1] == verdict([text], search)[1]


@pytest.mark.parametrize("kind", SEARCHES)
@given(pieces=PIECES)
def test_what_was_searched_before_need_not_be_searched_again(kind: str, pieces: list[str]) -> None:
    """A scan looks only at what can have become a match. One that looks at everything, each time, sees the same."""

    class Everything:
        window, separator = SEARCHES[kind].window, SEARCHES[kind].separator

        def __init__(self) -> None:
            self.pieces: list[str] = []
            self.find = SEARCHES[kind].find

        def __call__(self, normalized: TextTail, raw: TextTail, *, final: bool) -> None:
            text = "".join(pieces[: len(self.pieces)])
            if not final:
                self.pieces.append(pieces[len(self.pieces)])
                text = "".join(self.pieces)
            plain = normalize(text)
            SEARCHES[kind](TextTail(plain, new=len(plain)), TextTail(text), final=final)

    assert verdict(pieces, SEARCHES[kind]) == verdict(pieces, Everything())


HOSTILE = {
    "digits": "1 ",
    "accounts": "aa11 ",
    "addresses": "x@",
    "long labels": "a" * 60 + "@",
    "telephones": "+49 ",
    "unseen": "\u200b",
    "marks": "a\u0323",
    "blanks": " \n",
    "the beginning of a phrase": "secret ",
    "repeats": "ab",
}
SLOW = pattern("(?:[a-z0-9]{1,30} ?){1,30}#")


@pytest.mark.serial
@pytest.mark.parametrize("name", HOSTILE)
async def test_the_time_for_a_hostile_text_grows_as_its_length_does(name: str) -> None:
    """Quadratic time would be 16 times as long for four times the text."""
    short = await took(HOSTILE[name], 20_000)

    assert await took(HOSTILE[name], 80_000) < 9 * short + 0.05


async def took(text: str, size: int) -> float:
    """Processor seconds for a text of that size, whole and in pieces: the best of three."""
    whole = (text * size)[:size]
    times = []
    for _ in range(3):
        began = time.process_time()
        for search in (*SEARCHES.values(), Patterns([*phrases(["blue falcon", "top secret"])], "")):
            await show([whole], search)
            await show([whole[start : start + 50] for start in range(0, size // 4, 50)], search)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_event_loop_gets_its_turn_while_a_long_text_is_judged(name: str) -> None:
    guard = SearchGuard("all", Patterns([PLAN, SLOW], ""), ("question",))

    async with counting_turns() as counter:
        with suppress(GuardDenied):
            await guard.check_question(Ask(messages=(user((HOSTILE[name] * 8000)[:8000]),)))

    assert counter.turns >= 8000 // scanner.SEARCH_STEP_CHARS


async def test_the_event_loop_gets_its_turn_between_short_texts() -> None:
    guard = SearchGuard("all", Patterns([PLAN], ""), ("call",))

    async with counting_turns() as counter:
        await guard.check_call(Ask(messages=()), Call("c", "show", json.dumps(["a"] * 2000)))

    assert counter.turns > 100
