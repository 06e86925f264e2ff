"""Puts citations where the sentence that they support ends.

The model writes the label of a source in brackets, `[S1]`, beside what it takes from there. A quotation that stands in
a document that was read speaks for itself, and so does a whole sentence that stands there. Workspace shows a citation
where its event arrives. So the label is taken out of the text, and the citation follows the end of its sentence: `.`,
`!` or `?` with what closes after it and a space behind it, or the end of the line. Rows of a table and lines of code
cannot hold one: theirs wait for the next sentence. What this question read and the model gave no label is cited at the
end of the answer.

Text is fed in pieces, cut anywhere; only spaces and what may be a label are held back. The text of code is left alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rightseat.faces.openbb.citations import Quote, cite, may_be_cited, pass_on
from rightseat.faces.openbb.sources import Source

LABELS = re.compile(r"[\[【]\s*([A-Z]\d+(?:\s*[,;]\s*[A-Z]\d+)*)\s*[\]】]")
OPENING, CLOSING = "[【", "]】"  # some models write the second pair whatever they are told
WITHIN_LABELS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,; ")
LONGEST_LABELS = 80
FULL_STOPS = frozenset(".!?…")
WIDE_STOPS = frozenset("。！？")
CLOSERS = frozenset("\"'”’“»)]}*_`")
QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»"}
LONGEST_QUOTE = 2000
SHORTEST_SENTENCE = 20

Citations = list[dict[str, Any]]
Piece = str | Citations
FindQuotes = Callable[[str, bool], Sequence[Quote]]
"""Where a text stands in the documents that were read. True: letter by letter, for text that is no quotation."""


class Placing:
    """Turns the text of an answer into text and citations. Never waits: feed it, take its pieces.

    `sources` are all that have a label, `read` the labels of those that this question had read for it. The label of one
    that must not be cited is taken out of the text all the same.
    """

    def __init__(
        self, sources: Iterable[Source] = (), read: Iterable[str] = (), find_quotes: FindQuotes | None = None
    ) -> None:
        self._sources = {source.label: source for source in sources}
        self._citable = {label for label, source in self._sources.items() if may_be_cited(source)}
        self._uncited = [label for label in dict.fromkeys(read) if label in self._citable]
        self._find_quotes = find_quotes
        self._pieces: list[Piece] = []
        self._held = ""  # spaces, and what may be a label behind them
        self._due: dict[str, list[Quote]] = {}
        self._passed_on: set[str] = set()
        self._lines = Lines()
        self._quoting = Quoting()
        self._sentence: list[str] = []
        self._stop = ""  # the full stop that may end the sentence, with nothing but closers after it

    def feed(self, text: str) -> list[Piece]:
        if not self._sources:
            return [text] if text else []
        for character in text:
            self._hold(character)
        return self._take()

    def rest(self) -> list[Piece]:
        """The text stops here: something else follows that must not overtake it."""
        self._release()
        self._end_sentence()
        self._write_due()
        return self._take()

    def end(self) -> list[Piece]:
        """The answer is whole: what was read for it and not cited yet is cited now."""
        self._release()
        self._end_sentence()
        for label in self._uncited:
            self._owe(label)
        self._write_due()
        return self._take()

    def told(self, citations: Iterable[Mapping[str, Any]]) -> None:
        """An agent has cited these itself: they are owed no longer."""
        infos = [info for one in citations if isinstance(info := one.get("source_info"), dict)]
        known = [(info.get("origin"), info.get("widget_id")) for info in infos]
        sources = self._sources
        self._uncited = [
            label for label in self._uncited if (sources[label].origin, sources[label].widget_id) not in known
        ]

    def _take(self) -> list[Piece]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def _hold(self, character: str) -> None:
        """Keep spaces and labels back until it is clear that they are such."""
        label = self._held.lstrip(" ")
        if label and character in CLOSING:
            self._judge(label + character)
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
            return character in WITHIN_LABELS and len(label) < LONGEST_LABELS
        return character == " " or (character in OPENING and not self._lines.are_code)

    def _judge(self, marked: str) -> None:
        match = LABELS.fullmatch(marked)
        labels = re.split(r"\s*[,;]\s*", match[1]) if match else []
        if labels and all(label in self._sources for label in labels):
            self._held = ""
            for label in labels:
                self._owe(label)
        else:
            self._held += marked[-1]
            self._release()

    def _owe(self, label: str, *quotes: Quote) -> None:
        if label in self._citable:
            self._due.setdefault(label, []).extend(quotes)

    def _release(self) -> None:
        held, self._held = self._held, ""
        for character in held:
            self._write(character)

    def _write(self, character: str) -> None:
        if (self._due or self._find_quotes) and self._lines.can_cite and self._ends_before(character):
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
            if (quote := self._quoting.add(character)) is not None:
                self._find(quote, False)
        self._lines.add(character)
        self._text(character)

    def _end_sentence(self) -> None:
        """A sentence may stand in a document without quotation marks around it."""
        sentence = "".join(self._sentence).strip()
        self._sentence.clear()
        if self._lines.can_cite and len(sentence) >= SHORTEST_SENTENCE and not any(self._due.values()):
            self._find(sentence, True)

    def _find(self, text: str, exactly: bool) -> None:
        for quote in self._find_quotes(text, exactly) if self._find_quotes else ():
            self._owe(quote.label, quote)

    def _ends_before(self, character: str) -> bool:
        """Is the sentence over, now that this follows?"""
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
        if gap := self._lines.gap:  # a citation in the last row of a table would be no part of any cell
            self._text(gap)
            self._lines.add_all(gap)
        citations: Citations = []
        for label, quotes in self._due.items():
            citations += cite(self._sources[label], quotes)
            if label not in self._passed_on:
                citations += pass_on(self._sources[label])
                self._passed_on.add(label)
        self._uncited = [label for label in self._uncited if label not in self._due]
        self._due = {}
        self._pieces.append(citations)


class Lines:
    """Where in a Markdown text we are: in code, in a table, or in lines that can hold a citation."""

    def __init__(self) -> None:
        self._line = ""  # the first few characters of this line that are no spaces
        self._fence = ""
        self._is_block = False  # whether the last line that was not empty belongs to a table or to code

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
    def are_code(self) -> bool:
        return bool(self._fence) or self._is_fence

    @property
    def can_cite(self) -> bool:
        return bool(self._line) and not self._is_row and not self.are_code

    @property
    def gap(self) -> str:
        """What must stand between a table or code and a citation that follows it."""
        if self._line:
            return "" if self.can_cite else "\n\n"
        return "\n" if self._is_block else ""


class Quoting:
    """Finds what stands in quotation marks."""

    def __init__(self) -> None:
        self._closers = ""
        self._said: list[str] = []

    def add(self, character: str) -> str | None:
        """The quotation, when this closes one."""
        if self._closers and character in self._closers:
            quote = "".join(self._said)
            self._closers, self._said = "", []
            return quote
        if self._closers:
            self._said.append(character)
            if character == "\n" or len(self._said) > LONGEST_QUOTE:
                self._closers, self._said = "", []
        elif character in QUOTES:
            self._closers = QUOTES[character]
        return None
