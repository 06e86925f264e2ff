"""What a model thinks is shown in steps that are whole, and not too long."""

from hypothesis import given
from hypothesis import strategies as st

from rightseat.faces.openbb.response.reasoning import MAX_STEP_CHARS, ReasoningSplitter


def steps_of(*pieces: str) -> list[str]:
    thoughts = ReasoningSplitter()
    return [step for piece in pieces for step in thoughts.feed(piece)] + thoughts.end()


def test_short_reasoning_is_one_step() -> None:
    assert steps_of("Let me weigh ", "the wombat ", "question.") == ["Let me weigh the wombat question."]


def test_a_line_is_a_step_and_is_given_when_it_ends() -> None:
    thoughts = ReasoningSplitter()

    assert thoughts.feed("First\n\nSec") == ["First"]
    assert thoughts.feed("ond\n") == ["Second"]


def test_a_long_line_is_cut_at_its_sentences_or_at_a_space() -> None:
    sentence = "This is a sentence of about fifty letters, I think. "

    assert steps_of(sentence * 3) == [sentence.strip()] * 3
    assert all(len(step) <= MAX_STEP_CHARS for step in steps_of("word " * 400))
    assert all(len(step) <= MAX_STEP_CHARS for step in steps_of("x" * 1000))


@given(st.lists(st.sampled_from(["word ", "end. ", "\n", "x" * 90, "! "]), max_size=30))
def test_no_cut_changes_the_steps_and_no_word_is_lost(pieces: list[str]) -> None:
    whole = "".join(pieces)

    assert steps_of(*pieces) == steps_of(whole) == steps_of(*whole)
    assert "".join("".join(steps_of(whole)).split()) == "".join(whole.split())
