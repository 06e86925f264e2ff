"""The files that are made from the code are what the code makes of them."""

from pathlib import Path

import pytest

from tests.docs import generated, rules
from tests.docs.generated import ROOT


def test_every_generated_file_is_current() -> None:
    stale = [str(file.relative_to(ROOT)) for file in generated.find_stale(generated.generate())]

    assert stale == [], "stale. Run `just generate`, and commit what it writes"


def test_a_missing_and_a_stale_file_are_found(tmp_path: Path) -> None:
    (tmp_path / "current").write_text("same")
    (tmp_path / "stale").write_text("old")

    files = {tmp_path / "current": "same", tmp_path / "stale": "new", tmp_path / "missing": "new"}

    assert generated.find_stale(files) == [tmp_path / "stale", tmp_path / "missing"]


@pytest.mark.parametrize(("old", "is_current"), [("`tests/", True), ("| R-1.1 |", False)])
def test_only_the_tests_of_a_rule_may_differ(old: str, is_current: bool) -> None:
    text = rules.PAGE.read_text()

    assert old in text
    assert generated.is_current(rules.PAGE, text.replace(old, "")) == is_current
