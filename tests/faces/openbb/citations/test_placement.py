"""A citation stands where the sentence that it supports ends."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.faces.openbb.citations.payload import Quote
from rightseat.faces.openbb.citations.placement import CitationPlacer, Piece
from rightseat.faces.openbb.citations.sources import CitationSource

PRICES = CitationSource(kind="widget", name="Prices", label="S1", origin="OpenBB", widget_id="prices")
NEWS = CitationSource(kind="widget", name="News", label="S2", origin="OpenBB", widget_id="news")


def find_quotes(text: str, exactly: bool) -> Sequence[Quote]:
    found = text == "All costs were stable." if exactly else "grew" in text
    return [Quote("S2", text, (2,), [[{"text": text, "page": 2}]])] if found else []


def shown(pieces: Sequence[Piece]) -> str:
    """The pieces as a reader sees them: a citation as the names of its sources in braces."""
    return "".join(piece if isinstance(piece, str) else "{" + names(piece) + "}" for piece in pieces)


def names(citations: Sequence[dict[str, object]]) -> str:
    return ",".join(str(citation["source_info"]["name"]) for citation in citations)  # type: ignore[index]  # a wire value


def placed(*pieces: str, read: Sequence[str] = ()) -> str:
    placing = CitationPlacer([PRICES, NEWS], read, find_quotes)
    return shown([piece for text in pieces for piece in placing.feed(text)] + placing.end())


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("It closed at 233.85 [S1]. Fine.", "It closed at 233.85.{Prices} Fine."),
        ("It closed at 233.85. [S1] Fine.", "It closed at 233.85.{Prices} Fine."),
        ("It closed at 233.85.[S1] Fine.", "It closed at 233.85.{Prices} Fine."),
        ("Up [S1, S2]! Yes.", "Up!{Prices,News} Yes."),
        ("Up [S1][S2]? Yes.", "Up?{Prices,News} Yes."),
        ("Up【S1】. Yes.", "Up.{Prices} Yes."),
        ("Up [S1] and away [S1]. Yes.", "Up and away.{Prices} Yes."),
        ("(Up [S1].) Yes.", "(Up.){Prices} Yes."),
        ("**Up [S1].** Yes.", "**Up.**{Prices} Yes."),
        ("- up [S1]\n- down [S2]\n", "- up{Prices}\n- down{News}\n"),
        ("涨了[S1]。跌了。", "涨了。{Prices}跌了。"),
        ("No end [S1]", "No end{Prices}"),
        ("a[S9] and [S] and [x](y) and [S1", "a[S9] and [S] and [x](y) and [S1"),
        ("Two  spaces  stay. ", "Two  spaces  stay. "),
    ],
)
def test_a_label_becomes_a_citation_at_the_end_of_its_sentence(said: str, seen: str) -> None:
    assert placed(said) == seen


def test_what_was_read_and_not_labelled_is_cited_at_the_end() -> None:
    assert placed("Up [S1]. Yes.", read=["S1", "S2"]) == "Up.{Prices} Yes.{News}"


def test_what_was_not_read_for_this_question_is_cited_only_where_it_is_labelled() -> None:
    assert placed("Up. Yes.", read=["S2"]) == "Up. Yes.{News}"


def test_a_table_keeps_its_rows_and_is_cited_after_them() -> None:
    table = "| a | b |\n|---|---|\n| 1. | x [S1] |\n"

    assert placed(table + "\nSo it is. Yes.") == "| a | b |\n|---|---|\n| 1. | x |\n\nSo it is.{Prices} Yes."
    assert placed(table) == "| a | b |\n|---|---|\n| 1. | x |\n\n{Prices}"
    assert placed(table.rstrip()) == "| a | b |\n|---|---|\n| 1. | x |\n\n{Prices}"


def test_code_is_left_alone() -> None:
    code = "See [S1]:\n```py\nx = a[S1]. \n```"

    assert placed(code) == "See:{Prices}\n```py\nx = a[S1]. \n```"
    assert placed("Look:\n```\nx\n```", read=["S1"]) == "Look:\n```\nx\n```\n\n{Prices}"


def test_a_quotation_that_stands_in_a_document_is_cited_with_its_place() -> None:
    placing = CitationPlacer([PRICES, NEWS], ["S2"], find_quotes)

    pieces = [*placing.feed('The letter says: "Revenue grew." That is good.'), *placing.end()]

    assert shown(pieces) == 'The letter says: "Revenue grew."{News} That is good.'
    (citation,) = next(piece for piece in pieces if isinstance(piece, list))
    assert citation["quote_bounding_boxes"] == [[{"text": "Revenue grew.", "page": 2}]]
    assert citation["details"] == [{"Name": "News", "Page": 2, "Reference": "Revenue grew."}]


@pytest.mark.parametrize("end", ["", " ", "\n", " And so on."])
def test_a_whole_sentence_of_a_document_is_cited_without_quotation_marks(end: str) -> None:
    assert placed(f"Well. All costs were stable.{end}") == f"Well. All costs were stable.{{News}}{end}"


def test_a_sentence_after_a_table_is_a_sentence_of_its_own() -> None:
    assert placed("| a |\n|---|\n\nAll costs were stable.") == "| a |\n|---|\n\nAll costs were stable.{News}"


def test_without_sources_nothing_is_touched() -> None:
    placing = CitationPlacer()

    assert placing.feed("a [S1] b ") == ["a [S1] b "]
    assert placing.end() == []


def test_only_spaces_and_what_may_be_a_label_are_held_back() -> None:
    placing = CitationPlacer([PRICES])

    assert placing.feed("It is ") == ["It is"]
    assert placing.feed("up [S") == [" up"]
    assert placing.feed("ony]") == [" [Sony]"]
    assert placing.end_message() == []


def test_what_is_held_comes_out_where_the_text_stops() -> None:
    placing = CitationPlacer([PRICES])

    assert shown(placing.feed("Look: [S1] ")) == "Look:"
    assert shown(placing.end_message()) == " {Prices}"


scraps = st.sampled_from(
    [
        "[S1]",
        "[S1, S2]",
        "[",
        "]",
        "S1",
        " ",
        "  ",
        ".",
        "! ",
        "\n",
        "| a |",
        "```",
        '"',
        '"it grew"',
        "word",
        "“grew”",
        "。",
    ]
)


@given(st.lists(scraps, max_size=14))
def test_no_cut_of_the_text_changes_what_is_shown(pieces: list[str]) -> None:
    whole = "".join(pieces)

    assert placed(*pieces, read=["S1"]) == placed(whole, read=["S1"]) == placed(*whole, read=["S1"])


@given(st.text(alphabet=st.characters(exclude_characters="[|`~")))
def test_no_text_is_lost(text: str) -> None:
    placing = CitationPlacer([PRICES, NEWS], ["S1"], find_quotes)

    pieces = [*placing.feed(text), *placing.end()]

    assert "".join(piece for piece in pieces if isinstance(piece, str)) == text
