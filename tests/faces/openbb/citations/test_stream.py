"""An answer's text on its way to the user: from the sources of a session to pieces on the wire."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from rightseat.data.quotes import DocumentIndex
from rightseat.data.values import DocumentPage, ParsedDocument, Word
from rightseat.faces.openbb.citations import stream
from rightseat.faces.openbb.citations.placement import Piece
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.citations.stream import CitationStream, QuoteFinder
from rightseat.faces.openbb.session import Session
from tests.faces.openbb import serving


def session_of(*sources: CitationSource) -> Session:
    session = serving.session_of()
    for source in sources:
        session.add_source(source)
    return session


def widget(name: str, **more: Any) -> CitationSource:
    return CitationSource(kind="widget", name=name, origin="OpenBB", widget_id=name.lower(), **more)


def said(session: Session, *texts: str) -> list[Piece]:
    answer = CitationStream(session.sources, session.quotes or QuoteFinder(session.sources))
    return [*(piece for text in texts for piece in answer.feed(text)), *answer.end_message(), *answer.end()]


def cited(pieces: Sequence[Piece]) -> list[str]:
    found = [citation for piece in pieces if isinstance(piece, list) for citation in piece]
    return [citation["source_info"]["name"] for citation in found]


def text_of(pieces: Sequence[Piece]) -> str:
    return "".join(piece for piece in pieces if isinstance(piece, str))


def test_without_sources_a_piece_is_the_piece() -> None:
    answer = CitationStream(())

    assert answer.feed("Hello [S1] ") == ("Hello [S1] ",)
    assert list(answer.end_message()) == []
    assert list(answer.end()) == []


def test_markers_go_even_where_nothing_can_be_cited() -> None:
    pieces = said(session_of(), "Up 3%", ".<|start", "_citation_id|>abc", "<|end_citation_id|", "> If a <", "| b.")

    assert text_of(pieces) == "Up 3%. If a <| b."


def test_what_was_read_is_cited_and_what_failed_or_must_not_be_cited_is_not() -> None:
    session = session_of(widget("Price"), widget("Broken", has_failed=True), widget("Secret", citable=False))

    pieces = said(session, "It rose [S1] [S2] [S3].")

    assert cited(pieces) == ["Price"]
    assert text_of(pieces) == "It rose."


def test_what_an_earlier_question_read_is_cited_only_by_its_label() -> None:
    session = session_of(
        widget("Old", is_fresh=False), widget("New"), CitationSource(kind="artifact", name="Table", is_fresh=False)
    )

    assert cited(said(session, "It rose.")) == ["New"]
    assert cited(said(session, "It rose [S1]. As the table says [C1]. Yes.")) == ["Old", "Table", "New"]


def test_citations_do_not_wait_for_the_end_of_the_answer() -> None:
    answer = CitationStream(session_of(widget("Price")).sources)

    assert cited(answer.feed("It rose [S1]. And")) == ["Price"]
    assert list(answer.end_message()) == []


def letter() -> ParsedDocument:
    words = [
        Word(text, 72.0 + 40 * at, 280.0, 110.0 + 40 * at, 292.0)
        for at, text in enumerate(["Revenue", "grew", "by", "15%."])
    ]
    pages = (DocumentPage(1, "Dear shareholders,", ()), DocumentPage(2, "Revenue grew by 15%.", tuple(words)))
    return ParsedDocument("letter.pdf", "pdf", pages)


@pytest.mark.parametrize("quotation", ['"Revenue grew by 15%."', "“Revenue grew by 15%.”", "«revenue grew by 15%»"])
def test_a_quotation_of_a_document_brings_its_boxes(quotation: str) -> None:
    pieces = said(session_of(widget("Price"), widget("Letter", documents=[letter()])), f"It says: {quotation} Good.")

    (citation,) = next(piece for piece in pieces if isinstance(piece, list))
    assert citation["source_info"]["name"] == "Letter"
    ((box,),) = citation["quote_bounding_boxes"]
    assert (box["page"], box["x0"], box["x1"]) == (2, 72.0, 230.0)
    assert cited(pieces) == ["Letter", "Price"]


@pytest.mark.parametrize("quotation", ['"Revenue grew by 16%."', '"grew by"', '"Revenue grew'])
def test_what_does_not_stand_there_brings_none(quotation: str) -> None:
    pieces = said(session_of(widget("Letter", documents=[letter()])), f"It says: {quotation} Good.")

    (citation,) = next(piece for piece in pieces if isinstance(piece, list))
    assert "quote_bounding_boxes" not in citation


def test_a_long_document_is_made_ready_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_INLINE_WORDS", 1)

    pieces = said(session_of(widget("Letter", documents=[letter()])), 'It says: "Revenue grew by 15%." Good.')

    (citation,) = next(piece for piece in pieces if isinstance(piece, list))
    assert citation["quote_bounding_boxes"]


def test_a_slow_search_continues_with_exact_quotations_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stream, "MAX_FUZZY_SEARCH_S", 0.0)
    caplog.set_level("INFO", stream.__name__)
    quotes = stream.QuoteFinder([widget("Letter", label="S1", documents=[letter()])])

    assert quotes.find("This stands nowhere at all.") == ()
    assert "only exact matches are cited from now on" in caplog.text
    assert [quote.label for quote in quotes.find("Revenue grew by 15%.")] == ["S1"]


def book() -> ParsedDocument:
    """Long enough to be made ready beside the event loop."""
    words = [
        Word(f"word{at}", at % 500, at // 10, at % 500 + 5, at // 10 + 9) for at in range(stream.MAX_INLINE_WORDS + 10)
    ]
    return ParsedDocument("book.pdf", "pdf", (DocumentPage(1, "", tuple(words)),))


async def test_a_long_document_is_ready_before_the_answer_and_not_by_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    class Noted(DocumentIndex):
        def __init__(self, document: ParsedDocument) -> None:
            made.append(threading.get_ident())
            super().__init__(document)

    monkeypatch.setattr(stream, "DocumentIndex", Noted)
    session = session_of(widget("Book", documents=[book()]))

    await session.index_quotes()
    pieces = said(session, 'It says "word7 word8 word9 word10".')

    assert len(made) == 1
    assert made[0] != threading.get_ident()
    (citation,) = next(piece for piece in pieces if isinstance(piece, list))
    assert citation["quote_bounding_boxes"]


def test_what_an_agent_cites_itself_is_not_cited_again() -> None:
    answer = CitationStream(session_of(widget("Price"), widget("News")).sources)
    answer.feed("It rose.")

    answer.mark_cited([{"source_info": {"type": "widget", "origin": "OpenBB", "widget_id": "price"}}])

    assert cited(list(answer.end())) == ["News"]
