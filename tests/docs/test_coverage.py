"""What the coverage page names as shown exists."""

import re
from pathlib import Path

from tests.docs import rules

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "coverage.md").read_text()
TESTS = set(rules.tests())


def test_every_test_on_the_page_exists() -> None:
    names = {name for name, _ in TESTS}

    assert sorted(set(re.findall(r"`(test_\w+)`", PAGE)) - names) == []
    assert (
        sorted(set(re.findall(r"`(tests/[\w/.-]+)::(test_\w+)`", PAGE)) - {(path, name) for name, path in TESTS}) == []
    )


def test_every_file_on_the_page_exists() -> None:
    files = re.findall(r"`(tests/[\w/.-]+?)(?:::\w+)?`", PAGE)

    assert [file for file in files if not (ROOT / file).exists()] == []


def test_every_statement_about_the_plugin_guide_is_shown_by_a_test() -> None:
    section = PAGE.partition("## EulerCopilot's plugin guide\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "the document says" not in line]

    assert len(rows) > 50
    assert [row for row in rows if "::test_" not in row] == []
