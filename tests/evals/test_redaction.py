"""What is replaced in a case before it is written."""

from collections.abc import Iterator

import pytest

from rightseat.egress.redaction import MASK, Redactor
from rightseat.evals.redaction import LONGEST_SPAN, STEP_CHARS, Redaction
from rightseat.guards import expressions
from rightseat.guards.patterns import Patterns
from rightseat.guards.personal_data import PersonalData
from rightseat.guards.scanner import TextSpan

PHRASES = Patterns([*expressions.phrases(("project nightjar",)), expressions.pattern("[0-9]{3}-[0-9]{4}-x")], "No.")


def redaction() -> Redaction:
    return Redaction((PersonalData(), PHRASES), Redactor(secrets=["hunter2-hunter2"]))


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Mail kim.lee@example.com, please.", "Mail [email 1], please."),
        ("kim@example.com and Kim@Example.com, not lee@example.com", "[email 1] and [email 1], not [email 2]"),
        ("Card 4111 1111 1111 1111 or 4111-1111-1111-1111.", "Card [card 1] or [card 1]."),
        ("Pay to DE89 3704 0044 0532 0130 00 now", "Pay to [iban 1] now"),
        ("Call +49 (0)30 1234567!", "Call [phone 1]!"),
        ("kim@example.com", "[email 1]"),
        ("\uff2b\uff49\uff4d@example.com is kim\u200b@example.com", "[email 1] is [email 2]"),
        ("About Project  Nightjar: project nightjar", "About [phrase 1]: [phrase 1]"),
        ("the code 123-4567-X", "the code [phrase 1]"),
        ("key sk-abcdefghijklmnopqrstuvwxyz0123456789!", "key [secret 1]!"),
        ("Authorization: Bearer abcdefghijklmnop.qrst", "Authorization: [secret 1]"),
        ("AKIAABCDEFGHIJKLMNOP ghp_0123456789abcdefghij0123456789abcdef", "[secret 1] [secret 2]"),
        ("the password is hunter2-hunter2", f"the password is {MASK}"),
        ("Order 7 of 2026-11-19 costs 120.00", "Order 7 of 2026-11-19 costs 120.00"),
        ("run_6ad72397b9a6eb9350243b02f7790004", "run_6ad72397b9a6eb9350243b02f7790004"),
        ('{"id": 7, "mail": "kim@example.com"}', '{"id": 7, "mail": "[email 1]"}'),
        ("", ""),
    ],
)
def test_values_are_replaced_and_nothing_else(text: str, redacted: str) -> None:
    assert redaction().redact_text(text) == redacted


def test_a_value_has_one_placeholder_in_names_numbers_and_lists() -> None:
    found = redaction()

    value = {
        "kim@example.com": [4111111111111111, "4111 1111 1111 1111", True, 7, None, 1.5],
        "x": ("kim@example.com",),
    }

    assert found.redact_value(value) == {  # type: ignore[arg-type]  # a tuple of a model's field
        "[email 1]": ["[card 1]", "[card 1]", True, 7, None, 1.5],
        "x": ["[email 1]"],
    }
    assert found.values == 2


def test_a_private_key_is_replaced_as_a_whole() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"

    assert redaction().redact_text(f"{key}\n") == "[secret 1]\n"


def test_what_the_guard_denies_is_found() -> None:
    """In a text of 100,000 characters, within the time of a test."""
    text = f"{'word 12 ' * 12_000}kim@example.com"

    assert redaction().redact_text(text).endswith("12 [email 1]")


VALUES = {
    "kim@example.com": "[email 1]",
    "+49 30 1234567": "[phone 1]",
    "DE89 3704 0044 0532 0130 00": "[iban 1]",
    "Bearer " + "a1b2" * 900: "[secret 1]",
    f"eyJ{'a' * 3000}.{'b' * 7000}.c": "[secret 1]",
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("left", [0, 1, 5, 2000])
def test_a_long_text_is_searched_in_steps_and_a_value_between_two_is_found_whole(value: str, left: int) -> None:
    """`left` is how much of the value belongs to the first step."""
    before, after = ("-; " * STEP_CHARS)[: STEP_CHARS - left - 1] + " ", " -;" * STEP_CHARS

    assert redaction().redact_text(before + value + after) == before + VALUES[value] + after


def test_a_search_gets_no_more_than_a_step_of_a_long_text() -> None:
    """It keeps Python's interpreter lock as long as it takes."""
    lengths = []

    class Listening:
        def find(self, text: str) -> Iterator[TextSpan]:
            lengths.append(len(text))
            return iter(())

    Redaction((Listening(),), Redactor()).redact_text("x" * 200_000)

    assert max(lengths) <= STEP_CHARS + LONGEST_SPAN + 1
    assert sum(lengths) >= 200_000
