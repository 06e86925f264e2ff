"""Long data: shown as a table, or as much of it as there is room for."""

import asyncio

import pytest

from rightseat.core.errors import UnreadableFile
from rightseat.data.tables import Rows, Tables
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.prompt import files, results
from rightseat.faces.openbb.prompt.files import FileService, RequestFiles
from rightseat.faces.openbb.request.types import Data, DataItem


async def test_no_more_databases_run_at_once_than_there_are_places_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_DATABASES", 1)
    library = FileService()

    async with asyncio.timeout(60), library.tables() as first, library.tables() as second:
        await first.add("a", Rows([{"x": 1}]))
        waiting = asyncio.create_task(second.add("b", Rows([{"x": 2}])))
        await first.query("SELECT x FROM data_a")
        is_waiting = not waiting.done() and not second.tables
        await first.aclose()
        table = await waiting

    assert is_waiting
    assert table.rows == 1


async def test_the_reason_for_a_missing_table_is_reported_with_the_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    async def add(*_: object) -> None:
        raise UnreadableFile("The server works on as much data as it can.")

    monkeypatch.setattr(Tables, "add", add)
    item = DataItem('[{"tick": 1}, ' + '{"tick": 2}, ' * 5000 + "{}]")

    shown = await RequestFiles(FileService(), 8000, []).render(
        item, "object", CitationSource(kind="widget", name="Ticks")
    )

    assert shown.text.startswith('[{"tick": 1}')
    assert "characters omitted; The server works on as much data as it can …]" in shown.text


async def test_only_the_first_hundred_items_of_a_result_are_shown() -> None:
    items = tuple(DataItem(f"item {number}.") for number in range(9_900))

    shown = await results.render(
        Data(items), CitationSource(kind="widget", name="Many"), RequestFiles(FileService(), 8000, [])
    )

    assert "item 99." in shown.text
    assert "item 100." not in shown.text
    assert shown.text.endswith("(9,800 more items of this result are not shown: the limit is 100.)")
    assert shown.error is None
