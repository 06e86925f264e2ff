"""Places citations after the sentences that they support, in streamed text.

The model writes the label of a source in brackets, `[S1]`, next to a statement. A quotation, or a whole sentence, that
is found in a document is cited without a label. Workspace shows a citation where its event arrives, so the label is
removed from the text and the citation follows the end of its sentence: `.`, `!` or `?` with closing characters and a
space after it, or the end of the line. Table rows and code cannot hold citations: theirs follow the next sentence.
Widgets read for this question without a label in the text are cited at the end of the answer.

Text may be split anywhere; only spaces and possible labels are held. Text inside code is not changed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rightseat.faces.openbb.citations.payload import Quote, forward_citations, is_citable_source, write_citations
from rightseat.faces.openbb.citations.sources import CitationSource

LABELS = re.compile(r"[\[【]\s*([A-Z]\d+(?:\s*[,;]\s*[A-Z]\d+)*)\s*[\]】]")
OPENING, CLOSING = "[【", "]】"  # some models use the second pair despite the instructions
LABEL_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,; ")
MAX_LABELS_CHARS = 80
FULL_STOPS = frozenset(".!?…")
WIDE_STOPS = frozenset("。！？")
CLOSERS = frozenset("\"'”’“»)]}*_`")
QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»"}
MAX_QUOTE_CHARS = 2000
MIN_SENTENCE_CHARS = 20

Citations = list[dict[str, Any]]
Piece = str | Citations
FindQuotes = Callable[[str, bool], Sequence[Quote]]
"""Finds a text in the documents. True: exact match, for text without quotation marks."""


class CitationPlacer:
    """Splits the text of an answer into text and citations. It never blocks.

    `sources` are all sources with a label, `labels_read` those read for the current question. The label of a source
    that must not be cited is removed from the text as well.
    """

    def __init__(
        self,
        sources: Iterable[CitationSource] = (),
        labels_read: Iterable[str] = (),
        find_quotes: FindQuotes | None = None,
    ) -> None:
        self._sources = {source.label: source for source in sources}
        self._citable = {label for label, source in self._sources.items() if is_citable_source(source)}
        self._uncited = [label for label in dict.fromkeys(labels_read) if label in self._citable]
        self._find_quotes = find_quotes
        self._pieces: list[Piece] = []
        self._held = ""  # spaces, and a possible label after them
        self._due: dict[str, list[Quote]] = {}
        self._forwarded: set[str] = set()
        self._position = MarkdownPosition()
        self._quote_scanner = QuoteScanner()
        self._sentence: list[str] = []
        self._stop = ""  # the full stop that may end the sentence, with only closing characters after it

    def feed(self, text: str) -> list[Piece]:
        if not self._sources:
            return [text] if text else []
        for character in text:
            self._add(character)
        return self._take()

    def end_message(self) -> list[Piece]:
        """End a message: write held text and due citations before anything else follows."""
        self._release()
        self._end_sentence()
        self._write_due()
        return self._take()

    def end(self) -> list[Piece]:
        """End the answer: cite the sources that were read and not cited yet."""
        self._release()
        self._end_sentence()
        for label in self._uncited:
            self._schedule(label)
        self._write_due()
        return self._take()

    def mark_cited(self, citations: Iterable[Mapping[str, Any]]) -> None:
        """The agent has sent these citations itself: do not cite them again."""
        infos = [info for one in citations if isinstance(info := one.get("source_info"), dict)]
        known = [(info.get("origin"), info.get("widget_id")) for info in infos]
        sources = self._sources
        self._uncited = [
            label for label in self._uncited if (sources[label].origin, sources[label].widget_id) not in known
        ]

    def _take(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _add(self, character: str) -> None:
        """Hold spaces and possible labels until they can be decided."""
        label = self._held.lstrip(" ")
        if label and character in CLOSING:
            self._read_labels(label + character)
        elif self._may_follow(label, character):
            self._held += character
        else:
            self._release()
            if self._may_follow("", character):
                self._held = character
            else:
                self._write(character)

    def _may_follow(self, label: str, character: str) -> bool:
        if label:
            return character in LABEL_CHARS and len(label) < MAX_LABELS_CHARS
        return character == " " or (character in OPENING and not self._position.is_in_code)

    def _read_labels(self, bracketed: str) -> None:
        match = LABELS.fullmatch(bracketed)
        labels = re.split(r"\s*[,;]\s*", match[1]) if match else []
        if labels and all(label in self._sources for label in labels):
            self._held = ""
            for label in labels:
                self._schedule(label)
        else:
            self._held += bracketed[-1]
            self._release()

    def _schedule(self, label: str, *quotes: Quote) -> None:
        if label in self._citable:
            self._due.setdefault(label, []).extend(quotes)

    def _release(self) -> None:
        held, self._held = self._held, ""
        for character in held:
            self._write(character)

    def _write(self, character: str) -> None:
        if (self._due or self._find_quotes) and self._position.can_cite and self._ends_before(character):
            self._end_sentence()
            self._write_due()
        if character in FULL_STOPS or character in WIDE_STOPS:
            self._stop = character
        elif character not in CLOSERS:
            self._stop = ""
        if self._find_quotes:
            if character == "\n":
                self._sentence.clear()
            self._sentence.append(character)
            if (quote := self._quote_scanner.add(character)) is not None:
                self._find(quote, False)
        self._position.add(character)
        self._text(character)

    def _end_sentence(self) -> None:
        """A sentence may be taken from a document without quotation marks."""
        sentence = "".join(self._sentence).strip()
        self._sentence.clear()
        if self._position.can_cite and len(sentence) >= MIN_SENTENCE_CHARS and not any(self._due.values()):
            self._find(sentence, True)

    def _find(self, text: str, is_exact: bool) -> None:
        for quote in self._find_quotes(text, is_exact) if self._find_quotes else ():
            self._schedule(quote.label, quote)

    def _ends_before(self, character: str) -> bool:
        """Whether the sentence ends before this character."""
        if character == "\n":
            return True
        if self._stop in WIDE_STOPS:
            return character not in CLOSERS and character not in WIDE_STOPS
        return self._stop != "" and character.isspace()

    def _text(self, text: str) -> None:
        if self._pieces and isinstance(self._pieces[-1], str):
            self._pieces[-1] += text
        else:
            self._pieces.append(text)

    def _write_due(self) -> None:
        if not self._due:
            return
        if gap := self._position.gap:  # a citation in the last row of a table would belong to no cell
            self._text(gap)
            self._position.add_all(gap)
        citations: Citations = []
        for label, quotes in self._due.items():
            citations += write_citations(self._sources[label], quotes)
            if label not in self._forwarded:
                citations += forward_citations(self._sources[label])
                self._forwarded.add(label)
        self._uncited = [label for label in self._uncited if label not in self._due]
        self._due = {}
        self._pieces.append(citations)


class MarkdownPosition:
    """Tracks the position in a Markdown text: in code, in a table, or in lines that can hold a citation."""

    def __init__(self) -> None:
        self._line = ""  # the first 3 characters of this line after its indentation
        self._fence = ""
        self._is_block = False  # the last non-empty line belongs to a table or code

    def add(self, character: str) -> None:
        if character == "\n":
            self._end_line()
        elif len(self._line) < 3 and (self._line or not character.isspace()):
            self._line += character

    def add_all(self, text: str) -> None:
        for character in text:
            self.add(character)

    def _end_line(self) -> None:
        if self._line:
            self._is_block = self._is_row or self._is_fence or bool(self._fence)
        if self._is_fence and (not self._fence or self._line == self._fence):
            self._fence = "" if self._fence else self._line
        self._line = ""

    @property
    def _is_fence(self) -> bool:
        return self._line in ("```", "~~~")

    @property
    def _is_row(self) -> bool:
        return self._line.startswith("|")

    @property
    def is_in_code(self) -> bool:
        return bool(self._fence) or self._is_fence

    @property
    def can_cite(self) -> bool:
        return bool(self._line) and not self._is_row and not self.is_in_code

    @property
    def gap(self) -> str:
        """Newlines required between a table or code and a citation after it."""
        if self._line:
            return "" if self.can_cite else "\n\n"
        return "\n" if self._is_block else ""


class QuoteScanner:
    """Finds text in quotation marks, in streamed text."""

    def __init__(self) -> None:
        self._closers = ""
        self._quoted: list[str] = []

    def add(self, character: str) -> str | None:
        """Return the quotation that this character closes."""
        if self._closers and character in self._closers:
            quote = "".join(self._quoted)
            self._closers, self._quoted = "", []
            return quote
        if self._closers:
            self._quoted.append(character)
            if character == "\n" or len(self._quoted) > MAX_QUOTE_CHARS:
                self._closers, self._quoted = "", []
        elif character in QUOTES:
            self._closers = QUOTES[character]
        return None
