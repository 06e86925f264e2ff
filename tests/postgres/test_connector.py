"""Connections through a real PgBouncer, in session and in transaction mode, and without one."""

import asyncio
import secrets
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from pydantic import SecretStr

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadQuery, ConfigError
from rightseat.core.messages import user
from rightseat.engines.dbos import pooler
from rightseat.health.readiness import probe_of
from rightseat.logs.postgres import Options, build
from rightseat.plugins.sql.dialects.postgres import PostgresDialect
from rightseat.postgres.connector import PostgresConnector
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.databases import migrated_database
from tests.poolers import pgbouncer

CONNECTIONS = 2
"""Of PgBouncer to PostgreSQL: with more clients than that, each transaction of a client has another one."""


@pytest.fixture
async def database() -> AsyncIterator[str]:
    async with migrated_database() as found:
        yield found


@pytest.fixture
async def pooled(database: str) -> AsyncIterator[str]:
    async with pgbouncer("transaction", CONNECTIONS) as port:
        yield database.replace(":5432", f":{port}")


async def test_a_pooler_is_found_and_its_mode(database: str, pooled: str) -> None:
    async with pgbouncer("session", 10) as port:
        session = database.replace(":5432", f":{port}")
        found = {
            name: (
                await PostgresConnector(url).has_pooler(),
                await PostgresConnector(url).shares_sessions(),
                pooler.has_pooler(url),
            )
            for name, url in (("direct", database), ("session", session), ("transaction", pooled))
        }

    assert found == {
        "direct": (False, False, False),
        "session": (True, False, True),
        "transaction": (True, True, True),
    }


async def test_statements_with_parameters_keep_together_though_clients_share_connections(pooled: str) -> None:
    connector = PostgresConnector(pooled)
    connections = [await connector.connect(command_timeout=20) for _ in range(4 * CONNECTIONS)]

    async def add(connection: Any, first: int) -> list[int]:
        return [await connection.fetchval("SELECT $1::int + $2::int", first, number) for number in range(20)]

    async with asyncio.timeout(30):
        found = await asyncio.gather(*(add(one, 100 * at) for at, one in enumerate(connections)))
    for connection in connections:
        await connection.close()

    assert found == [[100 * at + number for number in range(20)] for at in range(len(connections))]


async def test_a_setting_holds_for_its_transaction_and_reaches_no_other_client(pooled: str) -> None:
    connection = await PostgresConnector(pooled).connect(command_timeout=20, limits_idle_transactions=True)
    async with connection.transaction():
        inside = await connection.fetchval("SHOW idle_in_transaction_session_timeout")
    others = [await PostgresConnector(pooled).connect(command_timeout=20) for _ in range(CONNECTIONS)]
    outside = [await one.fetchval("SHOW idle_in_transaction_session_timeout") for one in others]
    for one in (connection, *others):
        await one.close()

    assert inside == "5s"
    assert outside == ["0"] * CONNECTIONS


async def test_two_stores_share_a_pooler(pooled: str) -> None:
    async with asyncio.timeout(60), SqlThreads(connect(pooled)) as one, SqlThreads(connect(pooled)) as other:
        asks = [ask(f"t{number}") for number in range(12)]
        await asyncio.gather(*((one, other)[at % 2].append_messages(each) for at, each in enumerate(asks)))
        await asyncio.gather(one.expire_questions(), other.expire_questions())
        found = await asyncio.gather(*(other.load(each.thread_id or "", ANNA) for each in asks))

    assert [len(thread.messages) for thread in found if thread] == [1] * len(asks)


ANNA = Principal("anna")


def ask(thread_id: str) -> Ask:
    return Ask(messages=(user("Hello"),), thread_id=thread_id, principal=ANNA)


async def test_readiness_asks_through_a_pooler(pooled: str) -> None:
    probes = [probe_of(pooled) for _ in range(2 * CONNECTIONS)]
    for _ in range(5):
        await asyncio.gather(*(probe.check() for probe in probes if probe))
    for probe in probes:
        assert probe is not None
        await probe.close()


async def test_a_log_that_loses_its_notifications_is_refused_in_one_line(pooled: str) -> None:
    with pytest.raises(ConfigError, match=r"pooler in transaction mode.*session mode, connect directly"):
        async with build(Options(url=SecretStr(pooled))):  # type: ignore[attr-defined]  # this log is opened
            pass


async def test_queries_of_plugins_are_limited_through_a_pooler(database: str) -> None:
    settings = "current_setting('search_path'), current_setting('transaction_read_only')"
    role = f"reader_{secrets.token_hex(6)}"
    direct = await PostgresConnector(database).connect()
    await direct.execute(f"CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM public")
    try:
        async with pgbouncer("transaction", CONNECTIONS, user=role) as port:
            dialect = PostgresDialect(database.replace(":5432", f":{port}"))
            result = await dialect.run(f"SELECT {settings}", {}, 5)
            with pytest.raises(BadQuery, match="cannot insert multiple commands"):
                await dialect.run("SELECT 1; SELECT 2", {}, 5)
            await dialect.aclose()
    finally:
        await direct.execute(f"DROP ROLE {role}")
        await direct.close()

    assert result.rows == [['""', "on"]]


LAUNCH = """
import asyncio, sys
from rightseat.engines.dbos.system import DbosSystem

async def launch():
    system = DbosSystem(sys.argv[1], "launches")
    print("ready", flush=True)
    sys.stdin.read()
    await system.launch(asyncio.sleep)
    await system.shut_down()

asyncio.run(launch())
"""


async def test_servers_that_start_at_once_create_the_tables_of_the_engine_one_after_the_other(database: str) -> None:
    """DBOS locks its migrations in a session, and the pooler gives several servers the same one."""
    async with asyncio.timeout(120), pgbouncer("transaction", 8) as port:
        command = (sys.executable, "-c", LAUNCH, database.replace(":5432", f":{port}"))
        servers = [
            await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE) for _ in range(4)
        ]
        try:
            for server in servers:
                assert server.stdout
                await server.stdout.readline()
            ended = await asyncio.gather(*(server.communicate(b"") for server in servers))
        finally:
            for server in servers:
                with suppress(ProcessLookupError):
                    server.kill()

    assert [server.returncode for server in servers] == [0] * 4, [errors.decode()[-300:] for _, errors in ended]
