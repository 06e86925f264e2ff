"""The page has every code block of the founding documents, with the changes that a reader makes and its test."""

import re

import pytest

from tests.docs import coverage

PAGE = coverage.PAGE.with_name("document-examples.md").read_text()
BLOCKS = {"S0": 14, "S1": 34, "S2": 17, "S3": 13}
"""How many code blocks each document has."""
ROW = re.compile(r"^\| (S\d)-(\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = [match.groups() for match in ROW.finditer(PAGE)]


@pytest.mark.parametrize("document", BLOCKS)
def test_every_code_block_of_a_document_is_on_the_page(document: str) -> None:
    numbers = [int(number) for key, number, *_ in ROWS if key == document]

    assert numbers == list(range(1, BLOCKS[document] + 1))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_an_example_has_its_changes_and_a_test_or_it_is_none(row: tuple[str, ...]) -> None:
    _, _, _, change, shown = row
    tests = re.findall(r"`([^`]+)`", shown)

    assert [problem for name in tests if (problem := coverage.problem_of(name))] == []
    assert bool(tests) != change.startswith("no example: ")
