"""Personal data that is not to leave: addresses, numbers of telephones, cards and accounts.

A number is taken for one of a card or an account only where its check digits are right. It begins and ends where groups
of it do: what stands beside it may be another number.
"""

import re
from collections.abc import Callable
from itertools import accumulate
from string import ascii_letters
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.errors import Denied
from rightseat.core.guard import Guard
from rightseat.guards.expressions import NO_WORD, Expression
from rightseat.guards.normalization import UNSEEN
from rightseat.guards.scanning import EVERYWHERE, Finder, Spelling, Where
from rightseat.parts import Parts

Kind = Literal["email", "phone", "card", "iban"]
EVERY: tuple[Kind, ...] = ("email", "iban", "card", "phone")

WORDS: dict[Kind, str] = {
    "email": "an e-mail address",
    "phone": "a telephone number",
    "card": "the number of a card",
    "iban": "the number of a bank account",
}
WINDOW = 132
"""Characters of the longest of them: 64 of an e-mail address before its @, 63 behind it, a dot, one more, and one on
either side."""
REACH: dict[Kind, int] = {"email": 2 * WINDOW, "phone": 96, "card": 80, "iban": 104}
"""Characters of each that a search must read again before new ones, where an unseen one is in every gap."""
U = f"{UNSEEN}?"
CANDIDATE = Expression(rf"@|[0-9](?:{U}[ ().\/-]{{0,2}}{U}[0-9]){{7}}|[a-z]{U}[a-z]{U}[0-9]{U}[0-9]", WINDOW)
"""What each of them has somewhere, and most texts have not."""
PHONE = Expression(
    rf"(?:^|[^\pL\pN\pM_+])(?:\+|0{U}0){U}[1-9](?:{U}[ ().\/-]{{0,2}}{U}[0-9]){{7,14}}{U}(?:{NO_WORD}|$)", 50
)
# Of the standard library: there is one way to match each of them, and a search reads few characters at a time.
DOMAIN = re.compile(r"[\w-]{1,63}\.[\w-]")
CARD = re.compile(rf"[0-9](?:(?:{UNSEEN}[ -]?{U}|[ -]{U})?[0-9]){{12,}}")
DIGITS = re.compile(r"[0-9]+")
COUNTRY = re.compile(rf"([A-Za-z]){U}([A-Za-z]){U}([0-9]){U}([0-9])")
GROUP = re.compile(rf"(?:{UNSEEN} ?| )?([A-Za-z0-9]+)")

DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
"""Digits as Luhn's sum counts every second one."""
VALUES = str.maketrans({letter: str(int(letter, 36)) for letter in ascii_letters})


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "personal_data"
    """What the guard is called in the run and in the server's log."""
    kinds: tuple[Kind, ...] = Field(default=EVERY, min_length=1)
    """What to look for. The numbers of cards and accounts are known by their check digits."""
    on: tuple[Where, ...] = Field(default=EVERYWHERE, min_length=1)
    """Where to look: in the person's `question`, in the `answer`, in the arguments of a tool's `call`."""


def build(options: Options, parts: Parts) -> Guard:
    return Finder(options.name, PersonalData(options.kinds), options.on)


class PersonalData:
    """`scanning.Search` for personal data."""

    window = WINDOW
    seam = " "

    def __init__(self, kinds: tuple[Kind, ...] = EVERY) -> None:
        self._kinds = kinds

    def __call__(self, normalized: Spelling, raw: Spelling, *, final: bool) -> None:
        text = normalized.text
        if not CANDIDATE.is_in(text):
            return
        for kind in self._kinds:
            start = max(normalized.start, len(text) - normalized.new - REACH[kind])
            if FINDERS[kind](text, start, final):
                raise Denied(f"There is {WORDS[kind]} in it, and personal data is not passed on here.")


def has_email(text: str, start: int, final: bool) -> bool:
    text = text.replace(UNSEEN, "")
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
        if has_sum(groups[first:last]):
            return True
    return False


def has_sum(groups: list[str]) -> bool:
    """Are there groups of digits side by side that are 13 to 19 digits together and have Luhn's sum?"""
    digits = [int(digit) for digit in "".join(groups)]
    sums = [  # up to each digit, where those at even places are doubled, and where those at odd places are
        list(
            accumulate((DOUBLED[digit] if place % 2 == odd else digit for place, digit in enumerate(digits)), initial=0)
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
    known: dict[int, tuple[int, int, int, int]] = {}
    return any(
        is_iban(text, found, known, final=final)
        for found in COUNTRY.finditer(text, start)
        if is_edge(text, found.start() - 1)
    )


def is_iban(text: str, country: re.Match[str], known: dict[int, tuple[int, int, int, int]], *, final: bool) -> bool:
    """Do 15 to 34 characters from here, up to the end of one of their groups, leave 1 of 97 (ISO 7064)?

    As one number, with letters from 10 to 35, and the first four characters behind the others. Groups that were read
    for another account are `known`.
    """
    head = int("".join(country.groups()).translate(VALUES))
    count, rest, place = 4, 0, country.end()
    while True:
        if place not in known:
            known[place] = read_group(text, place)
        length, value, factor, place = known[place]
        count += length
        if not length or count > 34:
            return False
        rest = (rest * factor + value) % 97
        if count >= 15 and (rest * 1_000_000 + head) % 97 == 1 and is_edge(text, place, final=final):
            return True


def read_group(text: str, place: int) -> tuple[int, int, int, int]:
    """The length of the group of letters and digits, what it leaves of 97, its power of ten, and where it ends."""
    found = GROUP.match(text, place)
    if not found or len(found[1]) > 30:
        return 0, 0, 0, place
    digits = found[1].translate(VALUES)
    return len(found[1]), int(digits) % 97, pow(10, len(digits), 97), found.end()


def is_edge(text: str, place: int, *, final: bool = True) -> bool:
    """Whether a number may begin behind this place, or end before it. The end of the text is one where it is final."""
    if not 0 <= place < len(text):
        return place < 0 or final
    return not text[place].isalnum() and text[place] != "_"


FINDERS: dict[Kind, Callable[[str, int, bool], bool]] = {
    "email": has_email,
    "phone": has_phone,
    "card": has_card,
    "iban": has_iban,
}
