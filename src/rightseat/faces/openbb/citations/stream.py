"""Filters the streamed text of an answer: removes made-up markers and adds citations."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

from rightseat.data.quotes import DocumentIndex
from rightseat.faces.openbb.citations.markers import MarkerFilter
from rightseat.faces.openbb.citations.payload import Quote, is_citable_source
from rightseat.faces.openbb.citations.placement import CitationPlacer, Piece
from rightseat.faces.openbb.citations.sources import CitationSource

logger = logging.getLogger(__name__)

MIN_QUOTE_WORDS = 3
"""Fewer words in quotation marks are a name, not a quotation."""
MAX_FUZZY_SEARCH_S = 0.5
"""Seconds per answer for fuzzy quotation search; after that only exact matches count."""
MAX_INLINE_WORDS = 5000
"""Documents with more words are indexed in a thread, to not block the event loop."""


class CitationStream:
    """Filters one answer. It never blocks."""

    def __init__(self, sources: Sequence[CitationSource], quotes: "QuoteFinder | None" = None) -> None:
        self._sources = sources
        self._markers = MarkerFilter()
        self._quotes = quotes
        self._placer: CitationPlacer | None = None

    def feed(self, text: str) -> Sequence[Piece]:
        if self._placer is None:
            if not self._sources and not self._markers.has_held_text and "<" not in text:
                return (text,)
            self._placer = self._make_placer()
        return self._placer.feed(self._markers.feed(text))

    def end_message(self) -> Sequence[Piece]:
        """End one message of the model."""
        placer = self._placer
        return () if placer is None else [*placer.feed(self._markers.end()), *placer.end_message()]

    def end(self) -> Sequence[Piece]:
        """End the answer: cite the sources that were read and not cited yet."""
        placer = self._placer or self._make_placer()
        return [*placer.feed(self._markers.end()), *placer.end()]

    def mark_cited(self, citations: Iterable[Mapping[str, Any]]) -> None:
        """The agent has sent these citations itself."""
        self._placer = self._placer or self._make_placer()
        self._placer.mark_cited(citations)

    def _make_placer(self) -> CitationPlacer:
        read = [source.label for source in self._sources if source.is_fresh and source.kind == "widget"]
        find_quotes = self._quotes.find if self._quotes and self._quotes.documents else None
        return CitationPlacer(self._sources, read, find_quotes)


async def index_quotes(sources: Sequence[CitationSource]) -> "QuoteFinder | None":
    """Index the documents of the sources, long ones in a thread. None if there are no documents."""
    if not any(source.documents for source in sources):
        return None
    quotes = QuoteFinder(sources)
    if sum(len(page.words) for _, document in quotes.documents for page in document.pages) > MAX_INLINE_WORDS:
        await asyncio.to_thread(quotes.build_finders)
    return quotes


class QuoteFinder:
    """Finds quotations in the documents of the sources."""

    def __init__(self, sources: Iterable[CitationSource]) -> None:
        citable = [source for source in sources if is_citable_source(source)]
        self.documents = [(source.label, document) for source in citable for document in source.documents]
        self._fuzzy_search_s = 0.0
        self._finders: list[tuple[str, DocumentIndex]] | None = None

    def build_finders(self) -> list[tuple[str, DocumentIndex]]:
        """Build the indexes on first use; slow for long documents."""
        self._finders = self._finders or [(label, DocumentIndex(document)) for label, document in self.documents]
        return self._finders

    def find(self, text: str, is_exact: bool = False) -> Sequence[Quote]:
        """Find the text in the first document that contains it."""
        if not self.documents or len(text.split()) < MIN_QUOTE_WORDS:
            return ()
        is_exact = is_exact or self._fuzzy_search_s > MAX_FUZZY_SEARCH_S
        started = perf_counter()
        found = self._find(text, is_exact)
        if not is_exact:
            self._fuzzy_search_s += perf_counter() - started
            if self._fuzzy_search_s > MAX_FUZZY_SEARCH_S:
                logger.info(
                    "fuzzy quotation search took %.1f s: only exact matches are cited from now on", self._fuzzy_search_s
                )
        return found

    def _find(self, text: str, is_exact: bool) -> Sequence[Quote]:
        for label, finder in self.build_finders():
            if boxes := finder.find(text, is_exact):
                pages = tuple(dict.fromkeys(box.page for group in boxes for box in group))
                return (Quote(label, text, pages, msgspec.to_builtins(boxes)),)
        return ()
