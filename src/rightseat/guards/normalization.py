"""Text as guards compare it: one spelling for what readers see as the same.

Compatibility letters become plain ones (NFKD: full width, mathematical, circled, ligatures), decimal digits of every
script become 0 to 9, and marks on letters are left out. White space of any length and kind becomes one space. A run of
characters that a page shows as nothing or as a blank (controls, format characters, fillers) becomes one `UNSEEN`,
because a reader may take it for either.

Each character is normalised by itself, so a text may be cut anywhere: the results of its pieces, joined, are the result
of the whole. That is why letters and marks are not composed again (NFKC): the mark may be in the next piece.
"""

import unicodedata
from functools import lru_cache

UNSEEN = "\u200b"
"""Stands for a run of characters that may be read as nothing or as a blank."""

_UNSEEN_RANGES = (
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
_NATIVE = "\u0900"
"""From here on are the scripts whose marks are vowels, tones or sounds: भि is another syllable than भ, が than か."""
_GENERIC_RANGES = ((0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0x302A, 0x302F), (0xFE20, 0xFE2F))
"""Marks above `_NATIVE` that go with letters of any script."""


Segment = tuple[str, int]
"""A part of a text as it was written, and how many of its characters count: all of them, or none. A reader sees nothing
of those that do not."""


class Normalizer:
    """Normalises one text, piece by piece."""

    def __init__(self) -> None:
        self._last = ""  # that came out
        self._base = ""  # the last that came out and is no `UNSEEN`

    def feed(self, text: str) -> tuple[str, list[Segment]]:
        """The piece normalised, and as it was written, in segments."""
        # Most pieces are plain already; a loop over their characters would take ten times as long.
        is_plain = text.isascii() and text.isprintable() and "  " not in text
        if is_plain and text and (self._last != " " or text[0] != " "):
            self._last = self._base = text[-1]
            return text, [(text, len(text))]
        normalized: list[str] = []
        segments: list[Segment] = []
        start, counts = 0, True
        for place, character in enumerate(text):
            plain = self._next(normalize_character(character))
            normalized.append(plain)
            if (plain != "" and plain != UNSEEN) != counts:
                if place > start:
                    segments.append((text[start:place], place - start if counts else 0))
                start, counts = place, not counts
        segments.append((text[start:], len(text) - start if counts else 0))
        return "".join(normalized), segments

    def copy(self) -> "Normalizer":
        other = Normalizer()
        other._last, other._base = self._last, self._base
        return other

    def _next(self, plain: str) -> str:
        """What comes out for a character, behind what came out before it."""
        if plain == " ":
            if self._last == " ":
                return ""
        elif plain == UNSEEN:
            if self._last in (" ", UNSEEN):
                return ""
            self._last = UNSEEN
            return plain
        elif plain >= _NATIVE > self._base and unicodedata.category(plain[0])[0] == "M":
            return ""  # a mark of another script than its letter: an ornament
        if plain:
            self._last = self._base = plain[-1]
        return plain


def normalize(text: str) -> str:
    return Normalizer().feed(text)[0]


@lru_cache(8192)
def normalize_character(character: str) -> str:
    if is_unseen(character):
        return UNSEEN
    return "".join(map(_normalize_part, unicodedata.normalize("NFKD", character)))


def is_unseen(character: str) -> bool:
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs"):
        return character not in "\t\n\r"
    return _is_in(character, _UNSEEN_RANGES)


def _normalize_part(character: str) -> str:
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in ("Mn", "Me") and (character < _NATIVE or category == "Me" or _is_in(character, _GENERIC_RANGES)):
        return ""
    return str(unicodedata.decimal(character)) if category == "Nd" else character


def _is_in(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)
