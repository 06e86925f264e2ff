"""A warning at the start names roles that may create objects in the schema of the store."""

import logging
import secrets
from collections.abc import AsyncIterator

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest

from rightseat.stores.postgresql import Postgres
from tests.services import POSTGRES, schema

MODULE = "rightseat.stores.schema_rights"


@pytest.fixture
async def empty() -> AsyncIterator[str]:
    async with schema() as url:
        yield url


async def execute(*statements: str) -> None:
    connection = await asyncpg.connect(POSTGRES)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def start(url: str) -> None:
    store = Postgres(url, lease_seconds=15)
    await store.open()
    await store.close()


async def test_roles_that_may_create_in_the_schema_are_named_with_the_cure(
    empty: str, caplog: pytest.LogCaptureFixture
) -> None:
    name, role = empty.rpartition("%3D")[2], f'rs "{secrets.token_hex(6)}'
    quoted = '"' + role.replace('"', '""') + '"'
    await execute(f"CREATE ROLE {quoted}", f"GRANT CREATE ON SCHEMA {name} TO {quoted}, PUBLIC")
    try:
        with caplog.at_level(logging.WARNING, MODULE):
            await start(empty)
        (warning,) = [record.getMessage() for record in caplog.records if record.name == MODULE]
        cure = warning.partition("run: ")[2]
        caplog.clear()
        await execute(cure)
        with caplog.at_level(logging.WARNING, MODULE):
            await start(empty)
    finally:
        await execute(f"REVOKE ALL ON SCHEMA {name} FROM {quoted}", f"DROP ROLE {quoted}")

    assert f"in the schema {name} of the database at" in warning
    assert f": PUBLIC, {role}. " in warning
    assert [record for record in caplog.records if record.name == MODULE] == []


async def test_a_schema_of_its_own_gives_no_warning(empty: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, MODULE):
        await start(empty)

    assert [record for record in caplog.records if record.name == MODULE] == []
