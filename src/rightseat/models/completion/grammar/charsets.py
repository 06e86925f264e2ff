"""Sets of characters as ranges of code points."""

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

SURROGATES: Ranges = ((0xD800, 0xDFFF),)
UNICODE: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
"""Without surrogates, which are not characters."""


def subtract(whole: Iterable[tuple[int, int]], holes: Iterable[tuple[int, int]]) -> Ranges:
    """Return sorted ranges without overlaps; without holes, it only normalizes."""
    left: list[tuple[int, int]] = []
    gaps = sorted(holes)
    for low, high in _merge_ranges(whole):
        for first, last in gaps:
            if last < low or first > high:
                continue
            if first > low:
                left.append((low, first - 1))
            low = last + 1
            if low > high:
                break
        if low <= high:
            left.append((low, high))
    return tuple(left)


def intersect(some: Iterable[tuple[int, int]], others: Iterable[tuple[int, int]]) -> Ranges:
    return subtract(some, subtract(((0, 0x10FFFF),), others))


def _merge_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def from_text(text: str) -> Ranges:
    return tuple(_merge_ranges((ord(sign), ord(sign)) for sign in text))


LINE_ENDS = from_text("\n\r\u2028\u2029")
DOT = subtract(UNICODE, LINE_ENDS)
DIGITS: Ranges = ((48, 57),)
WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
SPACE = (*from_text(" \t\n\v\f\r"),)
EXOTIC_SPACE = (*from_text("\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff\u0085"), (0x2000, 0x200A), (0x1C, 0x1F))
LETTERS: Ranges = (
    (65, 90),
    (97, 122),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x17F),
    (0x391, 0x3A1),
    (0x3A3, 0x3C9),
    (0x410, 0x44F),
    (0x3041, 0x3096),
    (0x30A1, 0x30FA),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
)

CLASSES: dict[str, Ranges] = {
    "d": DIGITS,
    "w": WORD,
    "s": SPACE,
    "S": subtract(UNICODE, (*SPACE, *EXOTIC_SPACE)),
    "D": subtract(((0, 127), *LETTERS), DIGITS),
    "W": subtract(((0, 127),), WORD),
}
PROPERTIES: dict[str, Ranges] = {
    "L": LETTERS,
    "Letter": LETTERS,
    "Alphabetic": LETTERS,
    "Lu": ((65, 90),),
    "Uppercase_Letter": ((65, 90),),
    "Ll": ((97, 122),),
    "Lowercase_Letter": ((97, 122),),
    "N": DIGITS,
    "Nd": DIGITS,
    "P": from_text("!\"#%&'()*,-./:;?@[\\]_{}"),
    "S": from_text("$+<=>^`|~"),
    "Z": from_text(" "),
    "Zs": from_text(" "),
}
"""Narrower than Unicode's properties: the characters that models write."""
