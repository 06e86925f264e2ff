"""Long data: shown as a table, or as much of it as there is room for."""

import asyncio

import pytest

from rightseat.core.errors import Unreadable
from rightseat.data.tables import Rows, Tables
from rightseat.faces.openbb import files
from rightseat.faces.openbb.asking import Item
from rightseat.faces.openbb.files import Files, Library
from rightseat.faces.openbb.sources import Source


async def test_no_more_databases_run_at_once_than_there_are_places_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "DATABASES", 1)
    library = Library()

    async with asyncio.timeout(20), library.tables() as first, library.tables() as second:
        await first.add("a", Rows([{"x": 1}]))
        waiting = asyncio.create_task(second.add("b", Rows([{"x": 2}])))
        await first.query("SELECT x FROM data_a")
        is_waiting = not waiting.done() and not second.tables
        await first.aclose()
        table = await waiting

    assert is_waiting
    assert table.rows == 1


async def test_why_there_is_no_table_is_told_with_what_is_shown_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    async def add(*_: object) -> None:
        raise Unreadable("The server works on as much data as it can.")

    monkeypatch.setattr(Tables, "add", add)
    item = Item('[{"tick": 1}, ' + '{"tick": 2}, ' * 5000 + "{}]")

    shown = await Files(Library(), 8000, []).show(item, "object", Source(kind="widget", name="Ticks"))

    assert shown.text.startswith('[{"tick": 1}')
    assert "left out here; The server works on as much data as it can …]" in shown.text
