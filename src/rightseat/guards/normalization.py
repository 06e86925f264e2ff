"""Normalises text for guards: one form for text that looks the same to a reader.

Compatibility letters become plain ones (NFKD: full width, mathematical, circled, ligatures), decimal digits of every
script become 0 to 9, and marks on letters are removed. Any white space becomes one space. A run of characters shown as
nothing or as a blank (controls, format characters, fillers) becomes one `INVISIBLE`, because a reader may see either.

Each character is normalised by itself, so text may be split anywhere. This is why letters and marks are not composed
again (NFKC): the mark may be in the next chunk.
"""

import unicodedata
from functools import lru_cache

INVISIBLE = "\u200b"
"""Replaces a run of characters that may be read as nothing or as a blank."""

_INVISIBLE_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
"""Joiners, fillers, variation selectors, tags and the braille blank: of other categories than Cc and Cf."""
_FIRST_VOWEL_MARK_SCRIPT = "\u0900"
"""From here on, marks of a script are vowels, tones or sounds: भि and भ differ, and so do が and か."""
_GENERIC_RANGES = ((0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0x302A, 0x302F), (0xFE20, 0xFE2F))
"""Marks above `_FIRST_VOWEL_MARK_SCRIPT` that go with letters of any script."""


Segment = tuple[str, int]
"""A part of a text as written, and the number of its characters that count: all, or none if they are invisible."""


class Normalizer:
    """Normalises one streamed text."""

    def __init__(self) -> None:
        self._last = ""  # character of the output
        self._base = ""  # last character of the output that is not `INVISIBLE`

    def feed(self, text: str) -> tuple[str, list[Segment]]:
        """Return the normalised chunk, and its segments as written."""
        # Most chunks are plain; a loop over their characters takes ten times as long.
        is_plain = text.isascii() and text.isprintable() and "  " not in text
        if is_plain and text and (self._last != " " or text[0] != " "):
            self._last = self._base = text[-1]
            return text, [(text, len(text))]
        normalized: list[str] = []
        segments: list[Segment] = []
        start, counts = 0, True
        for place, character in enumerate(text):
            plain = self._emit(normalize_character(character))
            normalized.append(plain)
            if (plain != "" and plain != INVISIBLE) != counts:
                if place > start:
                    segments.append((text[start:place], place - start if counts else 0))
                start, counts = place, not counts
        segments.append((text[start:], len(text) - start if counts else 0))
        return "".join(normalized), segments

    def copy(self) -> "Normalizer":
        other = Normalizer()
        other._last, other._base = self._last, self._base
        return other

    def _emit(self, plain: str) -> str:
        """The output for a normalised character, given the output before it."""
        if plain == " ":
            if self._last == " ":
                return ""
        elif plain == INVISIBLE:
            if self._last in (" ", INVISIBLE):
                return ""
            self._last = INVISIBLE
            return plain
        elif plain >= _FIRST_VOWEL_MARK_SCRIPT > self._base and unicodedata.category(plain[0])[0] == "M":
            return ""  # a mark of another script than its letter is decoration
        if plain:
            self._last = self._base = plain[-1]
        return plain


def normalize_with_places(text: str) -> tuple[str, list[int]]:
    """The normalised text without `INVISIBLE`, and for each of its characters the index of the one as written."""
    normalizer, pieces, places = Normalizer(), list[str](), list[int]()
    for place, character in enumerate(text):
        plain = normalizer.feed(character)[0].replace(INVISIBLE, "")
        pieces.append(plain)
        places += [place] * len(plain)
    return "".join(pieces), places


def normalize(text: str) -> str:
    return Normalizer().feed(text)[0]


@lru_cache(8192)
def normalize_character(character: str) -> str:
    if is_invisible(character):
        return INVISIBLE
    return "".join(map(_normalize_part, unicodedata.normalize("NFKD", character)))


def is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs"):
        return character not in "\t\n\r"
    return _is_in(character, _INVISIBLE_RANGES)


def _normalize_part(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in ("Mn", "Me") and (
        character < _FIRST_VOWEL_MARK_SCRIPT or category == "Me" or _is_in(character, _GENERIC_RANGES)
    ):
        return ""
    return str(unicodedata.decimal(character)) if category == "Nd" else character


def _is_in(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)
