"""Stores of every kind, without rows, for the tests that hold all of them to the same promises."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.core.threads import Threads
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.sql import SqlThreads
from tests.databases import migrated_database, migrated_file
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
    """A database with tables and without rows, for `connect`."""
    async with database(request.param, tmp_path) as where:
        yield where


@pytest.fixture(params=["sqlite", "postgres"])
async def empty(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path | str]:
    """A database without tables, for tests of the migrations."""
    if request.param == "sqlite":
        yield tmp_path / "state" / "rightseat.db"
        return
    async with schema() as url:
        yield url


@asynccontextmanager
async def database(kind: str, folder: Path) -> AsyncIterator[Path | str]:
    if kind == "sqlite":
        yield migrated_file(folder / "state" / "rightseat.db")
    else:
        async with migrated_database() as url:
            yield url
