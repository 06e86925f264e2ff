"""Whatever JSON holds, it becomes a table that holds the same."""

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.errors import NotConfigured
from rightseat.data.database import AddTable, SqlQuery, TableDatabase, build, connect
from rightseat.data.documents import docx, pdf, xlsx
from rightseat.data.documents.limits import DocumentLimits
from tests.data.test_documents import archive
from tests.profiles import examples

pytestmark = pytest.mark.whole

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates().map(str)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
records = st.lists(st.dictionaries(st.text(max_size=10), values, min_size=1, max_size=5), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def database() -> TableDatabase:
    return build()


def add(database: TableDatabase, data: object) -> tuple[Any, list[list[Any]]]:
    database._connection.execute("DROP TABLE IF EXISTS the_table")
    table = database.add(AddTable("the_table", "", "json"), json.dumps(data).encode("utf-8", "surrogatepass"))
    return table, database.query(SqlQuery("SELECT * FROM the_table", 1000, 10**6, 10)).rows


@settings(max_examples=examples(0.15))
@given(records)
def test_any_records_become_a_table_with_a_row_for_each(database: TableDatabase, rows: list[dict[str, Any]]) -> None:
    table, found = add(database, rows)

    assert table.rows == len(found) == len(rows)
    assert {column.original_name or column.name for column in table.columns} >= {
        name for row in rows for name in row if name
    }


@settings(max_examples=examples(0.15))
@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_numbers_come_out_as_they_went_in(database: TableDatabase, numbers: list[float | None]) -> None:
    _, found = add(database, [{"n": number} for number in numbers])

    assert [row[0] for row in found] == numbers


@settings(max_examples=examples(0.15))
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), min_size=1))
def test_text_is_unchanged_unless_a_note_reports_it(database: TableDatabase, texts: list[str]) -> None:
    table, found = add(database, [{"t": text} for text in texts])

    if not table.notes and table.columns[0].type == "VARCHAR":
        assert [row[0] for row in found] == texts
    else:
        assert table.columns[0].type != "VARCHAR"


def test_values_that_are_no_numbers_are_returned_as_text(database: TableDatabase) -> None:
    _, found = add(database, [{"n": math.inf}, {"n": math.nan}, {"n": 1.5}])

    assert [row[0] for row in found] == ["inf", "nan", 1.5]


def test_a_missing_library_is_reported_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("duckdb", "pypdfium2", "openpyxl", "docx"):
        monkeypatch.setitem(sys.modules, name, None)

    for read in (
        connect,
        lambda: pdf.read(b"", "", DocumentLimits()),
        lambda: xlsx.read(archive({"xl/a": b""}), "", DocumentLimits()),
        lambda: docx.read(archive({"word/a": b""}), DocumentLimits()),
    ):
        with pytest.raises(NotConfigured, match="install the extra 'openbb' of rightseat on the server"):
            read()
