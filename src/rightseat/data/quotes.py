"""Finds a quotation in a document, with the bounding boxes of its lines.

Models rarely copy text exactly: they change quotation marks, join lines and fix hyphens. So words are compared by their
letters and digits only. Longer quotations may differ in a word or two, but never in a number or a negation: a made-up
quotation must not look real.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, groupby, islice
from typing import NamedTuple

import msgspec

from rightseat.data.values import ParsedDocument, Word

MIN_PARTIAL_CHARS = 20  # a longer quotation may begin or end within a word: PDFs sometimes glue words
MIN_FUZZY_WORDS = 6  # a quotation with fewer words must match exactly
MAX_FUZZY_TRIES = 300  # positions compared in a fuzzy search
PAGE_BREAK_CHARS = 200  # of footers and headers between two pages of one quotation
NEGATIONS = frozenset("no not never none nor neither without cannot kein keine nicht nie ohne non pas sans".split())  # noqa: SIM905

_GAP = re.compile(r"\[?(?:…|\.\.\.)\]?")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_IGNORED = re.compile(
    r"[^\w%$€£¥.,+-]|_"  # what is no letter, no digit and no part of a number
    r"|(?<![0-9])[.,]|[.,](?![0-9])"  # a full stop or a comma, unless within a number
    r"|[+-](?![0-9])|(?<=[^\W0-9])[+-]"  # a hyphen, unless it is the sign of a number or between two
)


class QuoteBox(msgspec.Struct, frozen=True):
    """A line of a quotation, in points from the upper left corner of its page."""

    text: str
    page: int
    x0: float
    top: float
    x1: float
    bottom: float


class PlacedWord(NamedTuple):
    page: int
    word: Word


def find(quotation: str, document: ParsedDocument) -> list[list[QuoteBox]] | None:
    """Find one quotation. For several in one document, build a `DocumentIndex`."""
    return DocumentIndex(document).find(quotation)


class DocumentIndex:
    """The words of a document, indexed for search."""

    def __init__(self, document: ParsedDocument) -> None:
        words = [PlacedWord(page.number, word) for page in document.pages for word in page.words]
        normalized = {text: normalize_word(text) for text in {place.word.text for place in words}}  # most words repeat
        self._places = [place for place in words if normalized[place.word.text]]
        self._words = [normalized[place.word.text] for place in self._places]
        self._text = "".join(self._words)
        self._starts = [0, *accumulate(map(len, self._words))]
        self._breaks = [at for at in range(1, len(self._places)) if self._places[at].page != self._places[at - 1].page]

    def find(self, quotation: str, is_exact: bool = False) -> list[list[QuoteBox]] | None:
        """One group of boxes, one box per line; None if not found. `…` matches anything.

        `is_exact` is fast, and for text without quotation marks.
        """
        found: list[int] = []
        for piece in filter(None, (split_words(part) for part in _GAP.split(quotation))):
            after = found[-1] + 1 if found else 0
            words = self._find_exact(piece, after)
            if not words and not is_exact:
                words = self._find_across_pages(piece, after) or self._find_fuzzy(piece, after)
            if not words:
                return None
            found += words
        return [group_lines([self._places[at] for at in found])] if found else None

    def _find_exact(self, piece: Sequence[str], after: int) -> list[int] | None:
        text = "".join(piece)
        start = self._text.find(text, self._starts[after])
        while start >= 0:
            first, last = self._at(start), self._at(start + len(text) - 1)
            is_whole = self._starts[first] == start and self._starts[last + 1] == start + len(text)
            if is_whole or len(text) >= MIN_PARTIAL_CHARS:
                return list(range(first, last + 1))
            start = self._text.find(text, start + 1)
        return None

    def _find_across_pages(self, piece: Sequence[str], after: int) -> list[int] | None:
        """Find the start near the end of one page and the rest near the top of the next."""
        for turn in (at for at in self._breaks if at > after):
            here = self._starts[turn]
            for cut in range(len(piece) - 1, 0, -1):
                head, tail = "".join(piece[:cut]), "".join(piece[cut:])
                if len(head) + len(tail) < MIN_PARTIAL_CHARS:
                    continue
                start = self._text.rfind(head, max(0, here - len(head) - PAGE_BREAK_CHARS), here)
                rest = self._text.find(tail, here, here + len(tail) + PAGE_BREAK_CHARS)
                if start >= self._starts[after] and rest >= 0 and start >= 0:
                    return [*self._span(start, len(head)), *self._span(rest, len(tail))]
        return None

    def _find_fuzzy(self, piece: Sequence[str], after: int) -> list[int] | None:
        """Find by the rarest words; one word in ten may be replaced, added or missing."""
        if len(piece) < MIN_FUZZY_WORDS:
            return None
        counted = Counter(self._words)
        anchors = sorted((word for word in set(piece) if counted[word]), key=lambda word: counted[word])[:3]
        places = ((at, piece.index(anchor)) for anchor in anchors for at in self._positions_of(anchor, after))
        for at, place in islice(places, MAX_FUZZY_TRIES):
            begin = max(after, at - place - 2)
            if found := match_words(piece, self._words[begin : at - place + len(piece) + 3]):
                return [begin + one for one in found]
        return None

    def _positions_of(self, word: str, after: int) -> Iterator[int]:
        while True:
            try:
                after = self._words.index(word, after) + 1
            except ValueError:
                return
            yield after - 1

    def _at(self, letter: int) -> int:
        return bisect_right(self._starts, letter) - 1

    def _span(self, start: int, length: int) -> range:
        return range(self._at(start), self._at(start + length - 1) + 1)


def normalize_word(word: str) -> str:
    """The normalised form by which words are compared."""
    return _IGNORED.sub("", unicodedata.normalize("NFKC", word).casefold().translate(_DASHES))


def split_words(text: str) -> list[str]:
    return [word for word in map(normalize_word, text.split()) if word]


def match_words(piece: Sequence[str], window: Sequence[str]) -> range | None:
    """The words of the window that match the piece, if the differences are few and insignificant."""
    blocks = [
        block for block in SequenceMatcher(None, window, piece, autojunk=False).get_matching_blocks() if block.size
    ]
    if not blocks:
        return None
    span = range(blocks[0].a, blocks[-1].a + blocks[-1].size)
    same = Counter(window[block.a + step] for block in blocks for step in range(block.size))
    added, lacking = Counter(window[at] for at in span) - same, Counter(piece) - same
    differs = max(added.total(), lacking.total())
    if differs > max(1, len(piece) // 10) or any(map(is_significant, [*added, *lacking])):
        return None
    return span


def is_significant(word: str) -> bool:
    """Whether the word is a number or a negation, including "didn't"."""
    return any(letter.isdigit() for letter in word) or word in NEGATIONS or word.endswith("nt")


def group_lines(places: Sequence[PlacedWord]) -> list[QuoteBox]:
    numbered = zip(accumulate(map(starts_line, [None, *places], places)), places, strict=False)
    return [write_line([place for _, place in line]) for _, line in groupby(numbered, key=lambda one: one[0])]


def starts_line(previous: PlacedWord | None, current: PlacedWord) -> int:
    """1 if a new line starts: on another page, below, or further left."""
    if previous is None or previous.page != current.page:
        return 1
    middle = (current.word.top + current.word.bottom) / 2
    return int(not previous.word.top <= middle <= previous.word.bottom or current.word.x0 < previous.word.x0)


def write_line(places: Iterable[PlacedWord]) -> QuoteBox:
    line = list(places)
    words = [place.word for place in line]
    return QuoteBox(
        " ".join(word.text for word in words),
        line[0].page,
        min(word.x0 for word in words),
        min(word.top for word in words),
        max(word.x1 for word in words),
        max(word.bottom for word in words),
    )
