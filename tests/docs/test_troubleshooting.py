"""The messages that the page quotes are those of the code."""

import re
from functools import cache

import pytest

from tests.docs.blocks import ROOT

QUOTES = re.findall(r"^> (.+)$", (ROOT / "docs" / "how-to" / "troubleshooting.md").read_text(), re.MULTILINE)
MIN_CHARS = 12  # of a text between two values of a message
MIN_SHARE = 0.5  # of a quoted message; the rest are values


@pytest.mark.parametrize("quote", QUOTES)
def test_a_quoted_message_exists(quote: str) -> None:
    assert count_known_chars(quote) >= MIN_SHARE * len(quote)


def count_known_chars(quote: str) -> int:
    """The characters in parts that the source has too."""
    known = start = 0
    while start < len(quote):
        end = start + MIN_CHARS
        while end <= len(quote) and quote[start:end] in read_source():
            end += 1
        found = end - 1 - start
        known += found if found >= MIN_CHARS else 0
        start += found if found >= MIN_CHARS else 1
    return known


@cache
def read_source() -> str:
    """With each text that is written on several lines in one."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return re.sub(r'"\s*\n\s*f?"', "", "\n".join(file.read_text() for file in files))
