"""Data comes in many shapes, and each becomes columns."""

import csv
import json
import time
from typing import Any

import pytest

from rightseat.core.errors import UnreadableFile
from rightseat.data.rows import read_csv, read_json, unique_name


@pytest.mark.parametrize(
    ("value", "columns"),
    [
        ([{"a": 1, "b": 2}, {"a": 3}], {"a": [1, 3], "b": [2, None]}),
        ([["a", "b"], [1, 2], [3, 4]], {"a": [1, 3], "b": [2, 4]}),
        ([[1, 2], [3, 4]], {"column_1": [1, 3], "column_2": [2, 4]}),
        ([1, 2], {"value": [1, 2]}),
        ([{"a": 1}, 5], {"a": [1, None], "value": [None, 5]}),
        ({"a": [1, 2], "b": [3, 4]}, {"a": [1, 2], "b": [3, 4]}),
        ({"AAPL": {"pe": 30}, "MSFT": {"pe": 35}}, {"key": ["AAPL", "MSFT"], "pe": [30, 35]}),
        ({"price": 5, "name": "x"}, {"price": [5], "name": ["x"]}),
        ("just words", {"value": ["just words"]}),
        ([{"a": {"b": 1}}], {"a": [{"b": 1}]}),
    ],
)
def test_json_of_any_shape_becomes_columns(value: Any, columns: dict[str, list[Any]]) -> None:
    assert read_json(json.dumps(value)).columns == columns


def test_a_list_inside_an_object_is_the_table_and_omitted_fields_are_noted() -> None:
    frame = read_json('{"results": [{"a": 1}], "provider": "x"}')

    assert frame.columns == {"a": [1]}
    assert frame.notes == ["only the list 'results' was read, not 'provider'"]


def test_nan_as_many_servers_write_it_is_read() -> None:
    (value,) = read_json('[{"a": NaN}]').columns["a"]

    assert value != value


def test_names_are_unique_where_case_is_ignored() -> None:
    frame = read_json('[{"Price": 1, "price": 2, "": 3, " price\\n": 4}]')

    assert frame.columns == {"Price": [1], "price_2": [2], "column_3": [3], "price_3": [4]}
    assert frame.original_names == {"price_2": "price", "column_3": "", "price_3": " price\n"}


@pytest.mark.parametrize("text", ["{broken", b'"\xd5"', b"[" * 100_000])
def test_invalid_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(UnreadableFile, match="not valid JSON"):
        read_json(text)


def test_more_columns_than_a_table_may_have_are_refused() -> None:
    with pytest.raises(UnreadableFile, match="2,000 columns; up to 1,000"):
        read_json(json.dumps([{f"c{number}": 1} for number in range(2000)]))


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_csv_is_read_whatever_stands_between_its_cells(mark: str) -> None:
    frame = read_csv(f'\ufeffname{mark}price\r\n"a{mark}b"{mark}1\r\n\r\nc{mark}2\r\n')

    assert frame.columns == {"name": [f"a{mark}b", "c"], "price": ["1", "2"]}


def test_rows_with_another_length_than_the_header_are_noted() -> None:
    frame = read_csv("a,b\n1,2\n3\n4,5,6\n")

    assert frame.columns == {"a": ["1", "3", "4"], "b": ["2", None, "5"], "column_3": [None, None, "6"]}
    assert frame.notes == ["2 rows are longer or shorter than the header"]


def test_a_short_csv_leaves_the_limit_of_the_process_as_it_is() -> None:
    before = csv.field_size_limit()
    read_csv("a,b\n1,2\n")
    assert csv.field_size_limit() == before

    long = "x" * (before + 1)
    assert read_csv(f"a,b\n{long},2\n").columns["a"] == [long]


def test_an_empty_csv_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="empty"):
        read_csv("\n\n")


def test_very_many_equal_names_get_different_numbers_soon() -> None:
    used: set[str] = set()
    before = time.process_time()

    names = [unique_name("Data", used) for _ in range(20_000)]

    assert time.process_time() - before < 5  # trying each number takes a minute
    assert names[:3] == ["Data", "Data_2", "Data_3"]
    assert len(set(names)) == len(names)
