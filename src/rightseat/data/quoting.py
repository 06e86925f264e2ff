"""Where a quotation stands in a document: line by line, or nowhere.

A model seldom copies a text letter by letter: it changes quotation marks, joins lines and mends hyphens. So words are
compared by their letters and digits only. Longer quotations may differ in a word or two, but never in a number and
never in a "not": what is not in the document must not look as if it were.
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

from rightseat.data.values import Document, Word

LONG = 20  # letters from which on a quotation may begin or end within a word: words of a PDF are glued at times
MANY = 6  # words from which on a quotation may differ a little
TRIES = 300  # places at which a quotation that differs a little is compared
AROUND_A_BREAK = 200  # letters of footers and headers that may stand between two pages of one quotation
DENIALS = frozenset("no not never none nor neither without cannot kein keine nicht nie ohne non pas sans".split())  # noqa: SIM905

_GAP = re.compile(r"\[?(?:…|\.\.\.)\]?")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_UNSAID = re.compile(
    r"[^\w%$€£¥.,+-]|_"  # what is no letter, no digit and no part of a number
    r"|(?<![0-9])[.,]|[.,](?![0-9])"  # a full stop or a comma, unless within a number
    r"|[+-](?![0-9])|(?<=[^\W0-9])[+-]"  # a hyphen, unless it is the sign of a number or between two
)


class Box(msgspec.Struct, frozen=True):
    """A line of a quotation, in points from the upper left corner of its page."""

    text: str
    page: int
    x0: float
    top: float
    x1: float
    bottom: float


class Placed(NamedTuple):
    page: int
    word: Word


def find(quotation: str, document: Document) -> list[list[Box]] | None:
    """For one quotation; to look for several in one document, make a `Finder`."""
    return Finder(document).find(quotation)


class Finder:
    """The words of a document, ready to be searched."""

    def __init__(self, document: Document) -> None:
        every = [Placed(page.number, word) for page in document.pages for word in page.words]
        said = {text: letters(text) for text in {place.word.text for place in every}}  # most words come often
        self._places = [place for place in every if said[place.word.text]]
        self._words = [said[place.word.text] for place in self._places]
        self._text = "".join(self._words)
        self._starts = [0, *accumulate(map(len, self._words))]
        self._breaks = [at for at in range(1, len(self._places)) if self._places[at].page != self._places[at - 1].page]

    def find(self, quotation: str, exactly: bool = False) -> list[list[Box]] | None:
        """One group of boxes, a box a line; None where it does not stand there. `…` stands for anything in between.

        `exactly` is quick, and for text that nobody says is a quotation.
        """
        found: list[int] = []
        for piece in filter(None, (split(part) for part in _GAP.split(quotation))):
            after = found[-1] + 1 if found else 0
            words = self._exactly(piece, after)
            if not words and not exactly:
                words = self._across_pages(piece, after) or self._nearly(piece, after)
            if not words:
                return None
            found += words
        return [lines([self._places[at] for at in found])] if found else None

    def _exactly(self, piece: Sequence[str], after: int) -> list[int] | None:
        sought = "".join(piece)
        start = self._text.find(sought, self._starts[after])
        while start >= 0:
            first, last = self._at(start), self._at(start + len(sought) - 1)
            is_whole = self._starts[first] == start and self._starts[last + 1] == start + len(sought)
            if is_whole or len(sought) >= LONG:
                return list(range(first, last + 1))
            start = self._text.find(sought, start + 1)
        return None

    def _across_pages(self, piece: Sequence[str], after: int) -> list[int] | None:
        """The beginning near the end of one page and the rest near the head of the next."""
        for turn in (at for at in self._breaks if at > after):
            here = self._starts[turn]
            for cut in range(len(piece) - 1, 0, -1):
                head, tail = "".join(piece[:cut]), "".join(piece[cut:])
                if len(head) + len(tail) < LONG:
                    continue
                start = self._text.rfind(head, max(0, here - len(head) - AROUND_A_BREAK), here)
                go_on = self._text.find(tail, here, here + len(tail) + AROUND_A_BREAK)
                if start >= self._starts[after] and go_on >= 0 and start >= 0:
                    return [*self._span(start, len(head)), *self._span(go_on, len(tail))]
        return None

    def _nearly(self, piece: Sequence[str], after: int) -> list[int] | None:
        """With a word in ten replaced, added or left out; found by its rarest words."""
        if len(piece) < MANY:
            return None
        counted = Counter(self._words)
        anchors = sorted((word for word in set(piece) if counted[word]), key=lambda word: counted[word])[:3]
        places = ((at, piece.index(anchor)) for anchor in anchors for at in self._all(anchor, after))
        for at, place in islice(places, TRIES):
            begin = max(after, at - place - 2)
            if found := alike(piece, self._words[begin : at - place + len(piece) + 3]):
                return [begin + one for one in found]
        return None

    def _all(self, word: str, after: int) -> Iterator[int]:
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


def letters(word: str) -> str:
    """What a word is compared by."""
    return _UNSAID.sub("", unicodedata.normalize("NFKC", word).casefold().translate(_DASHES))


def split(text: str) -> list[str]:
    return [word for word in map(letters, text.split()) if word]


def alike(piece: Sequence[str], window: Sequence[str]) -> range | None:
    """Which words of the window are the piece, if they differ in little that matters little."""
    blocks = [
        block for block in SequenceMatcher(None, window, piece, autojunk=False).get_matching_blocks() if block.size
    ]
    if not blocks:
        return None
    span = range(blocks[0].a, blocks[-1].a + blocks[-1].size)
    same = Counter(window[block.a + step] for block in blocks for step in range(block.size))
    added, lacking = Counter(window[at] for at in span) - same, Counter(piece) - same
    differs = max(added.total(), lacking.total())
    if differs > max(1, len(piece) // 10) or any(map(matters, [*added, *lacking])):
        return None
    return span


def matters(word: str) -> bool:
    """A number, or a denial, also of the sort of "didn't"."""
    return any(letter.isdigit() for letter in word) or word in DENIALS or word.endswith("nt")


def lines(places: Sequence[Placed]) -> list[Box]:
    numbered = zip(accumulate(map(turns, [None, *places], places)), places, strict=False)
    return [write_line([place for _, place in line]) for _, line in groupby(numbered, key=lambda one: one[0])]


def turns(before: Placed | None, now: Placed) -> int:
    """1 where a new line begins: on another page, below, or further to the left."""
    if before is None or before.page != now.page:
        return 1
    middle = (now.word.top + now.word.bottom) / 2
    return int(not before.word.top <= middle <= before.word.bottom or now.word.x0 < before.word.x0)


def write_line(places: Iterable[Placed]) -> Box:
    line = list(places)
    words = [place.word for place in line]
    return Box(
        " ".join(word.text for word in words),
        line[0].page,
        min(word.x0 for word in words),
        min(word.top for word in words),
        max(word.x1 for word in words),
        max(word.bottom for word in words),
    )
