"""Personal data that is not to leave: addresses, numbers of telephones, cards and accounts.

A number is taken for one of a card or an account only where its check digits are right.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.errors import Denied
from rightseat.core.guard import Guard
from rightseat.guards.scanning import EVERYWHERE, Finder, Where, compiled, start
from rightseat.parts import Parts

Kind = Literal["email", "phone", "card", "iban"]
EVERY: tuple[Kind, ...] = ("email", "iban", "card", "phone")

EXPRESSIONS: dict[Kind, str] = {
    "email": r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}",
    "phone": r"(?<![\w+])(?:\+|00)[1-9](?:[ ().\/-]{0,2}\d){7,14}(?!\w)",
    "card": r"(?<!\w)\d(?:[ -]?\d){12,18}(?!\w)",
    "iban": r"(?<!\w)[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}(?!\w)",
}
WORDS: dict[Kind, str] = {
    "email": "an e-mail address",
    "phone": "a telephone number",
    "card": "the number of a card",
    "iban": "the number of a bank account",
}
DIGIT = re.compile(r"\d")
NEEDED: dict[Kind, re.Pattern[str]] = {"email": re.compile("@"), "phone": DIGIT, "card": DIGIT, "iban": DIGIT}
"""What each of them has somewhere, and most texts have not: that is quickly found."""
WINDOW = 400
"""None of the expressions matches more characters."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "personal_data"
    """What the guard is called in the run and in the server's log."""
    kinds: tuple[Kind, ...] = Field(default=EVERY, min_length=1)
    """What to look for. The numbers of cards and accounts are known by their check digits."""
    on: tuple[Where, ...] = Field(default=EVERYWHERE, min_length=1)
    """Where to look: in the person's `question`, in the `answer`, in the arguments of a tool's `call`."""


def build(options: Options, parts: Parts) -> Guard:
    return Finder(options.name, PersonalData(options.kinds), WINDOW, options.on)


class PersonalData:
    """`scanning.Search` for personal data."""

    def __init__(self, kinds: tuple[Kind, ...] = EVERY) -> None:
        self._kinds = [(kind, compiled(EXPRESSIONS[kind], "").longest, overlapping(kind)) for kind in kinds]

    def __call__(self, text: str, *, final: bool = True, new: int | None = None) -> None:
        for kind, longest, expression in self._kinds:
            first = start(text, new, longest)
            if not NEEDED[kind].search(text, first):
                continue
            for found in expression.finditer(text, first):
                is_whole = final or found.end(1) < len(text)
                if is_whole and (kind not in CHECKS or any(map(CHECKS[kind], beginnings(found[1])))):
                    raise Denied(f"There is {WORDS[kind]} in it, and personal data is not passed on here.")


def overlapping(kind: Kind) -> re.Pattern[str]:
    return re.compile(f"(?=({EXPRESSIONS[kind]}))")


def beginnings(number: str) -> Iterator[str]:
    """The number without its gaps, and up to each of its gaps: what follows one may be another number."""
    groups = re.split("[ -]", number)
    for count in range(len(groups), 0, -1):
        yield "".join(groups[:count])


def is_card(digits: str) -> bool:
    """By Luhn's sum."""
    doubled = (2 * int(digit) if place % 2 else int(digit) for place, digit in enumerate(reversed(digits)))
    return len(digits) >= 13 and sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def is_iban(text: str) -> bool:
    """By ISO 7064: as one number, with letters from 10 to 35, it leaves 1 of 97."""
    moved = text[4:] + text[:4]
    return len(text) >= 15 and int("".join(str(int(character, 36)) for character in moved)) % 97 == 1


CHECKS: dict[Kind, Callable[[str], bool]] = {"card": is_card, "iban": is_iban}
