"""Stores of every kind, empty, for the tests that hold all of them to the same promises."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest

from rightseat.core.threads import Threads
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.sql import SqlThreads

SERVER = "postgresql://postgres@127.0.0.1:5432/test"


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


@asynccontextmanager
async def schema() -> AsyncIterator[str]:
    """A schema of its own, as a URL that leads nowhere else."""
    name = f"test_{secrets.token_hex(8)}"
    try:
        connection = await asyncpg.connect(SERVER)
    except OSError:
        pytest.skip("there is no PostgreSQL on this machine")
    try:
        await connection.execute(f"CREATE SCHEMA {name}")
        yield f"{SERVER}?options=-csearch_path%3D{name}"
    finally:
        await connection.execute(f"DROP SCHEMA {name} CASCADE")
        await connection.close()
