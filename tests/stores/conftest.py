"""Stores of every kind, empty, for the tests that hold all of them to the same promises."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.core.threads import Threads
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.sql import SqlThreads
from tests.services import schema


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def threads(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Threads]:
    if request.param == "memory":
        yield MemoryThreads()
        return
    async with database(request.param, tmp_path) as where, SqlThreads(connect(where)) as threads:
        yield threads


@pytest.fixture(params=["sqlite", "postgres"])
async def where(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path | str]:
    """An empty database, for `connect`."""
    async with database(request.param, tmp_path) as where:
        yield where


@asynccontextmanager
async def database(kind: str, folder: Path) -> AsyncIterator[Path | str]:
    if kind == "sqlite":
        yield folder / "state" / "rightseat.db"
    else:
        async with schema() as url:
            yield url
