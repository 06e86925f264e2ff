"""The page about JSON Schema says what the code does."""

import re

import pytest

from rightseat.models.completion.grammar import formats, keywords
from rightseat.models.completion.grammar.bounds import GrammarBounds
from tests.docs.configuration import REFERENCE

PAGE = (REFERENCE / "json-schema.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(
    ("title", "column"),
    [("Enforced", keywords.ENFORCED), ("Refused", keywords.REFUSED), ("Annotations", keywords.ANNOTATIONS)],
)
def test_every_keyword_is_on_the_page_with_its_note(title: str, column: dict[str, str]) -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.*?) ?\|$", section(title), re.MULTILINE))

    assert rows == column


def test_every_format_is_on_the_page() -> None:
    assert set(re.findall(r"`([a-z0-9-]+)`", section("Formats"))) - {"format"} == formats.PATTERNS.keys()


def test_every_bound_is_on_the_page() -> None:
    rows = {
        row: int(most.replace(",", ""))
        for row, most in re.findall(r"^\| (.+?) \| ([\d,]+) \|$", section("Bounds"), re.MULTILINE)
    }
    defaults, limits = section("Bounds").split("Whatever the schema says")
    bounds = GrammarBounds()

    assert f"| characters of a string | {bounds.text:,} |" in defaults
    assert f"| items of an array | {bounds.items:,} |" in defaults
    assert f"| characters of a string | {bounds.longest_text:,} |" in limits
    assert f"| items of an array | {bounds.most_items:,} |" in limits
    assert rows["members of an object without declared names"] == bounds.entries
    assert rows["levels of a value that may be anything"] == bounds.any_depth
    assert rows["digits of an integer"] == bounds.digits
    assert rows["schemas within each other"] == bounds.depth
    assert rows["values of an `enum`"] == bounds.enumerated
    assert rows["options of combined `anyOf` and `oneOf`"] == bounds.options
