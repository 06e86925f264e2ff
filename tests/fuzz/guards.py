"""Texts through the guards, in pieces of any size: the verdict is that on the whole text, and what is shown by then is
a beginning of it."""

from random import Random
from typing import Any

from rightseat.core.errors import GuardDenied
from rightseat.guards.expressions import pattern, phrase
from rightseat.guards.patterns import Patterns
from rightseat.guards.personal_data import PersonalData
from rightseat.guards.scanner import SearchFilter, TextSearch
from tests.fuzz.engine import Target, plain
from tests.fuzz.mutation import TEXTS, mutate_text

SEARCHES: dict[str, TextSearch] = {
    "phrases": Patterns([phrase("secret plan"), phrase("blue falcon")], "No plans."),
    "patterns": Patterns([pattern(r"\bcode-\d{2,6}\b"), pattern(r"top\s{1,8}secret")], "No codes."),
    "personal data": PersonalData(),
}
GOOD = (
    "The secret plan is to fly the blue falcon over code-1234, which is TOP   secret. " * 3,
    "Write to ada@example.com, call +49 30 1234567, pay with 4111 1111 1111 1111 or DE89 3704 0044 0532 0130 00.",
    "Nothing to see here: 1 2 3, a@b, 12-34, code-, secret planet, blue falconry. " * 4,
    "1 " * 2_000,
    "a@" * 2_000,
    "DE89 " * 500,
)
WORDS = (
    *("secret", " plan", "sec\u200bret", "ｓｅｃｒｅｔ", "s\u0301e\u0323c", "\u2800", "\u3164", "\x00", "\x1b[0m"),
    *("@", ".com", "+", "4111", "DE89", "0" * 40, "code-", "-", "_", " " * 500, "\u0301" * 300, "\u200b" * 300, "ß"),
    *("\u00ad", "\n", "\U0001d429\U0001d425\U0001d41a\U0001d427"),
    *TEXTS,
)


def make(random: Random) -> Any:
    """The guard, the text, and the sizes of its pieces."""
    text = random.choice(GOOD)
    text = mutate_text(random, text, WORDS, most=8) if random.random() < 0.95 else text
    sizes = [random.choice((1, 2, 7, 40, 1_000)) for _ in range(random.randint(1, 5))]
    return random.choice(list(SEARCHES)), text, sizes


def check(case: Any) -> None:
    name, text, sizes = case
    search = SEARCHES[name]
    shown, is_denied = show(search, list(pieces(text, sizes or [1])))
    _, is_whole_denied = show(search, [text])

    assert text.startswith(shown)
    assert is_denied or shown == text
    assert is_denied == is_whole_denied, f"in pieces: {is_denied}, at once: {is_whole_denied}"


def pieces(text: str, sizes: list[int]) -> Any:
    at = number = 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        yield text[at : at + size]
        at, number = at + size, number + 1


def show(search: TextSearch, given: list[str]) -> tuple[str, bool]:
    scan, shown = SearchFilter(search), ""
    try:
        for piece in given:
            shown += scan.feed(piece)
        scan.finish()
    except GuardDenied:
        return shown, True
    return "".join(given), False


TARGETS = (Target("guards", make, plain(check), (("phrases", "Hi", [1]),), night_cases=150),)
