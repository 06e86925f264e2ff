"""What every store of pins promises (`operations.pins`)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat.operations.pins import Pin, PinStore
from rightseat.stores.databases import connect
from rightseat.stores.pins import SqlPins
from rightseat.stores.sql import SqlThreads
from rightseat.toolboxes.mcp.pin_files import FilePins
from tests.stores.conftest import database


@pytest.fixture(params=["files", "sqlite", "postgres"])
async def pins(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PinStore]:
    if request.param == "files":
        yield FilePins(tmp_path / "pins")
        return
    async with database(request.param, tmp_path) as where:
        opened = connect(where)
        async with SqlThreads(opened):
            yield SqlPins(opened)


async def test_what_is_first_seen_stays_pinned(pins: PinStore) -> None:
    before = await pins.read("shop")
    await pins.add("shop", {"buy": "1", "look": "1"})
    await pins.add("shop", {"buy": "2", "sell": "2"})
    await pins.add("other", {"buy": "3"})

    assert before == {}
    assert await pins.read("shop") == {"buy": Pin("1"), "look": Pin("1"), "sell": Pin("2")}
    assert await pins.read("other") == {"buy": Pin("3")}


async def test_several_that_pin_at_once_agree_on_one(pins: PinStore) -> None:
    if isinstance(pins, FilePins):
        pytest.skip("files are for one server")
    await asyncio.gather(*(pins.add("shop", {"buy": str(number), "look": str(number)}) for number in range(5)))

    assert set(await pins.read("shop")) == {"buy", "look"}


async def test_a_change_is_kept_beside_the_pin_until_the_server_takes_it_back(pins: PinStore) -> None:
    await pins.add("shop", {"buy": "1", "look": "1"})
    await pins.see("shop", {"buy": "2", "unknown": "2"})
    changed = await pins.read("shop")
    await pins.see("shop", {"buy": None})

    assert changed == {"buy": Pin("1", "2"), "look": Pin("1")}
    assert await pins.read("shop") == {"buy": Pin("1"), "look": Pin("1")}


async def test_a_change_is_accepted_as_it_was_shown_or_not_at_all(pins: PinStore) -> None:
    await pins.add("shop", {"buy": "1", "look": "1"})
    await pins.see("shop", {"buy": "3"})

    assert not await pins.accept("shop", "buy", "2")
    assert not await pins.accept("shop", "look", "1")
    assert not await pins.accept("other", "buy", "3")
    assert await pins.read("shop") == {"buy": Pin("1", "3"), "look": Pin("1")}
    assert await pins.accept("shop", "buy", "3")
    assert await pins.read("shop") == {"buy": Pin("3"), "look": Pin("1")}


async def test_only_servers_that_share_a_database_share_pins(tmp_path: Path) -> None:
    assert SqlThreads(connect(tmp_path / "rightseat.db")).pins is None
    assert SqlThreads(connect("postgresql://postgres@127.0.0.1:1/test")).pins is not None
