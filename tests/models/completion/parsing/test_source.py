"""Text in pieces, read as if it were all there."""

import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.completion.parsing.source import Reading, T, TextSource, find_partial_mark
from tests.models.completion.playing import cut

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def run(pieces: list[str], read: Callable[[TextSource], Reading[T]]) -> tuple[T, str]:
    """What a reading gives, and what it left."""
    source = TextSource()
    reading = read(source)
    waiting = [*pieces]
    try:
        while True:
            next(reading)
            if waiting:
                source.add(waiting.pop(0))
            else:
                source.ended = True
    except StopIteration as done:
        return done.value, source.text[source.at :] + "".join(waiting)


@given(VALUES, SIZES, st.booleans())
def test_a_json_value_is_handed_on_as_it_stands(value: object, sizes: list[int], plain: bool) -> None:
    text = json.dumps(value, ensure_ascii=not plain)
    parts: list[str] = []

    whole, _ = run(cut(text + ",", sizes), lambda source: source.value(parts.append))

    assert whole
    assert "".join(parts) == text


@given(st.text(), SIZES)
def test_a_json_string_is_read_piece_by_piece(text: str, sizes: list[int]) -> None:
    for written in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        parts: list[str] = []

        whole, _ = run(cut(written, sizes), lambda source, parts=parts: source.content(parts.append))  # type: ignore[misc]

        assert whole
        assert "".join(parts) == text


@given(st.text(alphabet="</ab>"), SIZES)
def test_text_before_a_mark_is_handed_on_and_the_mark_is_not(text: str, sizes: list[int]) -> None:
    before, mark, after = f"{text}</a>rest".partition("</a>")
    parts: list[str] = []

    found, left = run(cut(before + mark + after, sizes), lambda source: source.until("</a>", parts.append))

    assert found
    assert "".join(parts) == before
    assert left == after


def test_a_mark_that_never_comes_leaves_all_as_text() -> None:
    parts: list[str] = []

    found, _ = run(["a</", "b</"], lambda source: source.until("</a>", parts.append))

    assert not found
    assert "".join(parts) == "a</b</"


def test_what_may_begin_a_mark_is_held_back() -> None:
    parts: list[str] = []
    source = TextSource()
    reading = source.until("</tool_call>", parts.append)
    next(reading)
    source.add("x <b></tool")
    next(reading)

    assert parts == ["x <b>"]


def test_a_literal_that_is_not_there_passes_over_nothing() -> None:
    assert run(["ab", "cd"], lambda source: source.literal("abx")) == (False, "abcd")
    assert run(["ab", "cd"], lambda source: source.literal("abc")) == (True, "d")


def test_a_broken_string_passes_over_nothing() -> None:
    assert run(['"a', '\\q"'], lambda source: source.string()) == (None, '"a\\q"')
    assert run(['"a', '"b'], lambda source: source.string()) == ("a", "b")


def test_a_word_must_end_soon() -> None:
    assert run(["get_", "weather>x"], lambda source: source.word(">")) == ("get_weather", "x")
    assert run(["x" * 300, ">"], lambda source: source.word(">")) == (None, "x" * 300 + ">")


def test_the_earliest_beginning_of_any_mark_counts() -> None:
    assert find_partial_mark("ab <to", 0, ("<tool>", "<")) == 3
    assert find_partial_mark("ab [TOOL", 0, ("<tool>", "[TOOLS]")) == 3
    assert find_partial_mark("ab", 0, ("<tool>",)) == 2
