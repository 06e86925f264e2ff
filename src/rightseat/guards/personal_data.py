"""A guard that blocks personal data: e-mail addresses, phone, card and bank account numbers.

Card and account numbers need valid check digits. They begin and end at groups of digits: a neighbouring group may be
another number.
"""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from string import ascii_letters
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.errors import GuardDenied
from rightseat.core.guard import Guard
from rightseat.guards.expressions import NON_WORD, Expression
from rightseat.guards.normalization import INVISIBLE, normalize_with_places
from rightseat.guards.scanner import ALL_PARTS, CheckedPart, SearchGuard, TextSpan, TextTail
from rightseat.parts import Parts

DataKind = Literal["email", "phone", "card", "iban"]
ALL_KINDS: tuple[DataKind, ...] = ("email", "iban", "card", "phone")

DESCRIPTIONS: dict[DataKind, str] = {
    "email": "an e-mail address",
    "phone": "a telephone number",
    "card": "a card number",
    "iban": "a bank account number",
}
MAX_MATCH_CHARS = 132
"""Of an e-mail address: 64 characters before the @, 63 after it, a dot, one more, and one on either side."""
LOOKBACK_CHARS: dict[DataKind, int] = {"email": 2 * MAX_MATCH_CHARS, "phone": 96, "card": 80, "iban": 104}
"""Characters to search again before new ones, with an invisible character in every gap."""
U = f"{INVISIBLE}?"  # optional, in every gap
CANDIDATE = Expression(rf"@|[0-9](?:{U}[ ().\/-]{{0,2}}{U}[0-9]){{7}}|[a-z]{U}[a-z]{U}[0-9]{U}[0-9]", MAX_MATCH_CHARS)
"""A quick test: every kind contains it, and most texts do not."""
PHONE = Expression(
    rf"(?:^|[^\pL\pN\pM_+])(?:\+|0{U}0){U}[1-9](?:{U}[ ().\/-]{{0,2}}{U}[0-9]){{7,14}}{U}(?:{NON_WORD}|$)",
    50,
)
# The standard library is safe here: the patterns are unambiguous and the texts short.
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
DOMAIN = re.compile(r"[\w-]{1,63}\.[\w-]")
CARD = re.compile(rf"[0-9](?:(?:{INVISIBLE}[ -]?{U}|[ -]{U})?[0-9]){{12,}}")
DIGITS = re.compile(r"[0-9]+")
COUNTRY = re.compile(rf"([A-Za-z]){U}([A-Za-z]){U}([0-9]){U}([0-9])")
GROUP = re.compile(rf"(?:{INVISIBLE} ?| )?([A-Za-z0-9]+)")

LUHN_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""Every second digit in Luhn's sum."""
LETTER_VALUES = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_letters})


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "personal_data"
    """The name of the guard in events and in the server log."""
    kinds: tuple[DataKind, ...] = Field(default=ALL_KINDS, min_length=1)
    """The kinds of personal data to detect. Card and account numbers are verified by their check digits."""
    applies_to: tuple[CheckedPart, ...] = Field(default=ALL_PARTS, min_length=1)
    """What is checked: the user's `question`, the `answer`, the arguments of a tool `call`, a `memory` before it is
    saved."""


def build(options: Options, parts: Parts) -> Guard:
    return SearchGuard(options.name, PersonalData(options.kinds), options.applies_to)


class PersonalData:
    """Searches for personal data."""

    window = MAX_MATCH_CHARS
    separator = " "

    def __init__(self, kinds: tuple[DataKind, ...] = ALL_KINDS) -> None:
        self._kinds = kinds

    def find(self, text: str) -> Iterator[TextSpan]:
        plain, places = normalize_with_places(text)
        if CANDIDATE.is_in(plain):
            found = ((kind, span) for kind in self._kinds for span in FINDERS[kind](plain))
            yield from (TextSpan(places[start], places[end - 1] + 1, kind) for kind, (start, end) in found)

    def __call__(self, normalized: TextTail, raw: TextTail, *, final: bool) -> None:
        text = normalized.text
        if not CANDIDATE.is_in(text):
            return
        for kind in self._kinds:
            start = max(normalized.start, len(text) - normalized.new - LOOKBACK_CHARS[kind])
            if DETECTORS[kind](text, start, final):
                raise GuardDenied(f"Sorry, I can't process personal data, and this contains {DESCRIPTIONS[kind]}.")


def find_emails(text: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in EMAIL.finditer(text))


def find_cards(text: str) -> Iterator[tuple[int, int]]:
    for found in CARD.finditer(text):
        if has_luhn_number(DIGITS.findall(found[0])):
            yield found.span()


def find_ibans(text: str) -> Iterator[tuple[int, int]]:
    groups_read: dict[int, tuple[int, int, int, int]] = {}
    for found in COUNTRY.finditer(text):
        end = find_iban_end(text, found, groups_read) if is_edge(text, found.start() - 1) else None
        if end is not None:
            yield found.start(), end


def has_email(text: str, start: int, final: bool) -> bool:
    text = text.replace(INVISIBLE, "")
    end = len(text) if final else len(text) - 1
    at = text.find("@")
    while at >= 0:
        is_behind_name = at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_.+-")
        if is_behind_name and DOMAIN.match(text, at + 1, min(at + 66, end)):
            return True
        at = text.find("@", at + 1)
    return False


def has_phone(text: str, start: int, final: bool) -> bool:
    return PHONE.is_in(text, start, final=final)


def has_card(text: str, start: int, final: bool) -> bool:
    for found in CARD.finditer(text, start):
        groups = DIGITS.findall(found[0])
        first = 0 if is_edge(text, found.start() - 1) else 1
        last = len(groups) if is_edge(text, found.end(), final=final) else len(groups) - 1
        if has_luhn_number(groups[first:last]):
            return True
    return False


def has_luhn_number(groups: list[str]) -> bool:
    """Whether adjacent groups have 13 to 19 digits together and a valid Luhn sum."""
    digits = [int(digit) for digit in "".join(groups)]
    sums = [  # prefix sums with digits at even places doubled, and at odd places
        list(
            accumulate(
                (LUHN_DOUBLED[digit] if place % 2 == odd else digit for place, digit in enumerate(digits)), initial=0
            )
        )
        for odd in (0, 1)
    ]
    edges = list(accumulate(map(len, groups), initial=0))
    beginnings = set(edges)
    for end in edges:
        counted = sums[end % 2]  # the last digit is not doubled
        for begin in range(max(0, end - 19), end - 12):
            if begin in beginnings and (counted[end] - counted[begin]) % 10 == 0:
                return True
    return False


def has_iban(text: str, start: int, final: bool) -> bool:
    groups_read: dict[int, tuple[int, int, int, int]] = {}
    return any(
        find_iban_end(text, found, groups_read, final=final) is not None
        for found in COUNTRY.finditer(text, start)
        if is_edge(text, found.start() - 1)
    )


def find_iban_end(
    text: str, country: re.Match[str], groups_read: dict[int, tuple[int, int, int, int]], *, final: bool = True
) -> int | None:
    """The end of an IBAN: 15 to 34 characters, up to the end of a group, with remainder 1 modulo 97 (ISO 7064).

    The first four characters are moved to the end, and letters count from 10 to 35. `groups_read` caches groups.
    """
    head = int("".join(country.groups()).translate(LETTER_VALUES))
    count, rest, place = 4, 0, country.end()
    while True:
        if place not in groups_read:
            groups_read[place] = read_group(text, place)
        length, value, factor, place = groups_read[place]
        count += length
        if not length or count > 34:
            return None
        rest = (rest * factor + value) % 97
        if count >= 15 and (rest * 1_000_000 + head) % 97 == 1 and is_edge(text, place, final=final):
            return place


def read_group(text: str, place: int) -> tuple[int, int, int, int]:
    """Length of the group of letters and digits, its remainder modulo 97, its power of ten, and its end."""
    found = GROUP.match(text, place)
    if not found or len(found[1]) > 30:
        return 0, 0, 0, place
    digits = found[1].translate(LETTER_VALUES)
    return len(found[1]), int(digits) % 97, pow(10, len(digits), 97), found.end()


def is_edge(text: str, place: int, *, final: bool = True) -> bool:
    """Whether a number may begin after this position, or end before it. The end of the text counts if `final`."""
    if not 0 <= place < len(text):
        return place < 0 or final
    return not text[place].isalnum() and text[place] != "_"


DETECTORS: dict[DataKind, Callable[[str, int, bool], bool]] = {
    "email": has_email,
    "phone": has_phone,
    "card": has_card,
    "iban": has_iban,
}
FINDERS: dict[DataKind, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": find_emails,
    "phone": PHONE.find,
    "card": find_cards,
    "iban": find_ibans,
}
