"""From values to a type of SQL, with care."""

from typing import Any

import pytest

from rightseat.data.columns import read_column


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None], "BIGINT"),
        ([1, 2.5, None], "DOUBLE"),
        ([True, None], "BOOLEAN"),
        (["1", "-2", "0"], "BIGINT"),
        (["1.5", "2", "-0.25"], "DOUBLE"),
        (["2024-02-29", "1999-12-31"], "DATE"),
        (["2024-02-29T10:00:00", "2024-03-01 11:30"], "TIMESTAMP"),
        (["2024-02-29T10:00:00Z", "2024-03-01T11:30:00+02:00"], "TIMESTAMP"),
        ([{"a": 1}, [1], None], "JSON"),
        ([None, None], "VARCHAR"),
        (["AAPL", "MSFT"], "VARCHAR"),
    ],
)
def test_a_column_gets_the_type_of_its_values(values: list[Any], kind: str) -> None:
    assert read_column(values).type == kind


@pytest.mark.parametrize(
    "values",
    [
        ["007", "008"],  # an identifier: as a number it would lose its zeros
        ["0000320193"],
        ["1e5", "2e6"],
        ["1,234", "5,678"],
        ["$5", "$6"],
        ["2024-02-30"],  # no such day
        ["15/10/2024"],  # a day or a month first?
        ["1", "2", "three"],
        ["12345678901234567890"],
        ["٣"],
    ],
)
def test_what_only_looks_like_a_number_or_a_date_stays_text(values: list[str]) -> None:
    column = read_column(values)

    assert (column.type, list(column.values), column.note) == ("VARCHAR", values, "")


def test_words_for_missing_values_become_null_among_numbers_with_a_note() -> None:
    column = read_column(["1.5", "N/A", "", "2.5"])

    assert column.type == "DOUBLE"
    assert list(column.values) == ["1.5", None, None, "2.5"]
    assert column.note == "text that is numbers; 1 × 'N/A' as NULL"


def test_numbers_with_a_word_for_missing_among_them_are_numbers() -> None:
    column = read_column([1, "-", 3])

    assert (column.type, list(column.values), column.note) == ("BIGINT", [1, None, 3], "1 × '-' as NULL")


def test_words_for_missing_stay_what_they_are_among_words() -> None:
    assert list(read_column(["NA", "EU", "-"]).values) == ["NA", "EU", "-"]


def test_mixed_values_are_kept_as_text_with_a_note() -> None:
    column = read_column([1, "two", {"three": 3}, True])

    assert (column.type, list(column.values)) == ("VARCHAR", ["1", "two", '{"three":3}', "true"])
    assert column.note == "values of several types (nested values, numbers, text, truth values), as text"


def test_a_number_over_64_bits_keeps_its_digits() -> None:
    assert list(read_column([1, 2**70]).values) == ["1", "1180591620717411303424"]
