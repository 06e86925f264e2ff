"""Markers that a model makes up never reach the user, however they are cut; everything else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.faces.openbb.citations.markers import TOKENS, MarkerFilter, artifact_names, strip_markers


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Up 3%.<|start_citation_id|>abc<|end_citation_id|> Fine.", "Up 3%. Fine."),
        ("If a <| b then c <| d.", "If a <| b then c <| d."),
        ("a < b, <b>c</b> and <|start", "a < b, <b>c</b> and <|start"),
        ("<|start_artifact_id|>Prices<|end_artifact_id|>Bye.", "Bye."),
        ("lonely <|end_citation_id|>end", "lonely end"),
        ("lonely <|start_citation_id|>start\nnext line", "lonely start\nnext line"),
        ("<|start_citation_id|>" + "x" * 300, "x" * 300),
        ("<|sta<|end_citation_id|>rt_citation_id|>nested", "nested"),
        ("<|sta<|start_artifact_id|>x<|end_artifact_id|>rt_citation_id|>nested", "nested"),
    ],
)
def test_a_marker_goes_and_the_rest_stays(text: str, left: str) -> None:
    assert strip_markers(text) == left


def test_text_without_an_angle_bracket_is_passed_on_at_once() -> None:
    markers = MarkerFilter()

    assert markers.feed("Hello ") == "Hello "
    assert markers.feed("there <") == "there "
    assert markers.feed("b> all") == "<b> all"
    assert not markers.has_held_text


def test_what_may_still_become_a_marker_is_held_and_given_back_at_the_end() -> None:
    markers = MarkerFilter()

    assert markers.feed("so <|start_ci") == "so "
    assert markers.end() == "<|start_ci"


def test_the_names_of_earlier_artifacts_are_found() -> None:
    text = "See <|start_artifact_id|>Prices<|end_artifact_id|> and <|start_artifact_id|>A < B<|end_artifact_id|>."

    assert artifact_names(text) == ["Prices", "A < B"]


scraps = st.sampled_from(
    [*sorted(TOKENS), "<|", "<|start_", "citation_id|>", "|>", "<", "a", " b ", "\n", "id", "x" * 150]
)


@given(st.lists(scraps, max_size=12))
def test_no_cut_of_the_text_changes_what_is_left(pieces: list[str]) -> None:
    whole, markers = "".join(pieces), MarkerFilter()

    left = "".join(map(markers.feed, pieces)) + markers.end()

    assert left == strip_markers(whole)
    assert not any(token in left for token in TOKENS)


@given(st.text().filter(lambda text: "_id|>" not in text))
def test_a_text_without_markers_stays_as_it_is(text: str) -> None:
    assert strip_markers(text) == text
