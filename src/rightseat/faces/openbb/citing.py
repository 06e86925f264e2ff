"""The way of an answer's text to the user: without markers that the model made up, with citations in their places."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec

from rightseat.data.quoting import Finder
from rightseat.faces.openbb.citations import Quote, may_be_cited
from rightseat.faces.openbb.markers import Markers, stripped
from rightseat.faces.openbb.placing import Piece, Placing
from rightseat.faces.openbb.sources import Source

__all__ = ["Citing", "prepare", "stripped"]

logger = logging.getLogger(__name__)

FEWEST_WORDS = 3
"""Fewer in quotation marks are a name, not a quotation."""
PATIENCE = 0.5
"""Seconds of an answer in which quotations are looked for that differ a little from what stands in a document."""
MANY_WORDS = 5000
"""Documents with as many take longer than an event loop should be kept from other things."""


class Citing:
    """One for each answer. Never waits: feed it, take its pieces."""

    def __init__(self, sources: Sequence[Source], quotes: "Quotes | None" = None) -> None:
        self._sources = sources
        self._markers = Markers()
        self._quotes = quotes
        self._placing: Placing | None = None

    def feed(self, text: str) -> Sequence[Piece]:
        if self._placing is None:
            if not self._sources and not self._markers.holds and "<" not in text:
                return (text,)
            self._placing = self._place()
        return self._placing.feed(self._markers.feed(text))

    def rest(self) -> Sequence[Piece]:
        """One message of the model is over."""
        placing = self._placing
        return () if placing is None else [*placing.feed(self._markers.end()), *placing.rest()]

    def end(self) -> Sequence[Piece]:
        """The whole answer is over: what was read for it and not cited yet is cited now."""
        placing = self._placing or self._place()
        return [*placing.feed(self._markers.end()), *placing.end()]

    def told(self, citations: Iterable[Mapping[str, Any]]) -> None:
        """An agent has cited these itself."""
        self._placing = self._placing or self._place()
        self._placing.told(citations)

    def _place(self) -> Placing:
        read = [source.label for source in self._sources if source.fresh and source.kind == "widget"]
        find_quotes = self._quotes.find if self._quotes and self._quotes.documents else None
        return Placing(self._sources, read, find_quotes)


async def prepare(sources: Sequence[Source]) -> "Quotes | None":
    """Index the documents of these sources: beside the event loop, where they are long. None where there are none."""
    if not any(source.documents for source in sources):
        return None
    quotes = Quotes(sources)
    if sum(len(page.words) for _, document in quotes.documents for page in document.pages) > MANY_WORDS:
        await asyncio.to_thread(quotes.make_ready)
    return quotes


class Quotes:
    """Finds the places of quotations in the documents of these sources."""

    def __init__(self, sources: Iterable[Source]) -> None:
        citable = [source for source in sources if may_be_cited(source)]
        self.documents = [(source.label, document) for source in citable for document in source.documents]
        self._spent = 0.0
        self._finders: list[tuple[str, Finder]] | None = None

    def make_ready(self) -> list[tuple[str, Finder]]:
        """Takes a while, once, where the documents are long."""
        self._finders = self._finders or [(label, Finder(document)) for label, document in self.documents]
        return self._finders

    def find(self, text: str, exactly: bool = False) -> Sequence[Quote]:
        """In the first document that has the words."""
        if not self.documents or len(text.split()) < FEWEST_WORDS:
            return ()
        exactly = exactly or self._spent > PATIENCE
        began = perf_counter()
        found = self._find(text, exactly)
        if not exactly:
            self._spent += perf_counter() - began
            if self._spent > PATIENCE:
                logger.info("the search for quotations took %.1f s: from now on they must be exact", self._spent)
        return found

    def _find(self, text: str, exactly: bool) -> Sequence[Quote]:
        for label, finder in self.make_ready():
            if boxes := finder.find(text, exactly):
                pages = tuple(dict.fromkeys(box.page for group in boxes for box in group))
                return (Quote(label, text, pages, msgspec.to_builtins(boxes)),)
        return ()
