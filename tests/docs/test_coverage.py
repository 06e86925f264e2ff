"""What the coverage page names as evidence exists."""

import pytest

from tests.docs import coverage

PAGE = coverage.PAGE.read_text()


def test_everything_that_the_page_names_as_evidence_exists() -> None:
    assert list(coverage.problems(PAGE)) == []


def test_every_statement_of_the_four_documents_has_one_verdict() -> None:
    assert list(coverage.wrong_numbers(PAGE)) == []


def test_a_statement_without_a_row_and_one_with_two_verdicts_are_found() -> None:
    without = PAGE.replace("| S0-37 |", "| |")
    twice = PAGE.replace("| S0-37 |", "| S0-44 |")
    unknown = PAGE.replace("| S0-37 |", "| S0-37, 66 |")

    assert list(coverage.wrong_numbers(without)) == ["S0-37 is in no row"]
    assert list(coverage.wrong_numbers(twice)) == ["S0-37 is in no row", "S0-44 is delivered and otherwise"]
    assert list(coverage.wrong_numbers(unknown)) == ["S0-66 is no statement"]


def test_a_row_that_gives_no_reason_is_found() -> None:
    assert list(coverage.problems("| S0-1 | a | otherwise: because | |")) == ["line 1: nothing shows 'a'"]
    assert next(coverage.rows("| S0-1, 3–5 | a | missing: b | |")).numbers == ("S0-1", "S0-3", "S0-4", "S0-5")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("tests/docs/test_coverage.py::test_that_is_not_there", "is no test of that file"),
        ("tests/nowhere.py::test_the_page_has_rows_of_all_four_documents", "is no test of that file"),
        ("test_that_is_not_there", "is no test"),
        ("test_every_snippet_is_a_configuration_that_can_be_served", "is in 5 files"),
        ("tests/docs/test_coverage.py", "is no test: name those that show it"),
        ("tests/docs/", "is no test: name those that show it"),
        ("test_coverage.py", "is no test: name those that show it"),
        ("examples/nowhere", "does not exist"),
        ("plain-chats", "is no suite, no scenario"),
        ("no-leak-nothing", "is no suite, no scenario"),
        ("style-nobody-*", "is no suite, no scenario"),
        ("slow-reader-nobody", "is no suite, no scenario"),
        ("--nothing", "is no suite, no scenario"),
    ],
)
def test_a_name_that_is_not_there_is_found_out(name: str, problem: str) -> None:
    assert problem in (coverage.problem_of(name) or "")


@pytest.mark.parametrize(
    "row",
    [
        "| | a statement | here | |",
        "| | a statement | here | the server's log |",
        "| | a statement | here | [one](events.md) |",
        "| a statement | here |",
    ],
)
def test_a_row_without_evidence_is_found_out(row: str) -> None:
    assert list(coverage.problems(row)) == ["line 1: nothing shows 'a statement'"]


def test_a_code_that_the_table_of_diagnostics_does_not_have_is_found_out() -> None:
    name = f"`{coverage.DIAGNOSTICS}::test_R_17_1_a_diagnostic_has_its_code_and_its_line`"

    assert list(coverage.problems(f"| | a | an error (E106) | {name} |")) == []
    assert list(coverage.problems(f"| | a | an error (E999) | {name} |")) == [
        f"line 1: E999 is not in {coverage.DIAGNOSTICS}"
    ]


def test_a_link_that_leads_nowhere_is_found_out() -> None:
    assert list(coverage.problems("| | a | otherwise: b | [one](../decisions/none.md) |")) == [
        "line 1: there is no ../decisions/none.md"
    ]


def test_every_statement_about_the_plugin_guide_is_shown_by_a_test() -> None:
    section = PAGE.partition("## EulerCopilot's plugin guide\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| no. |")]

    assert len(rows) > 50
    assert [row for row in rows if "::test_" not in row] == []
