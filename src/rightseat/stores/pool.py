"""SQLAlchemy's pool of connections to PostgreSQL, in which every wait has a timeout.

A connection can stop responding without being closed: a firewall drops its packets, or a proxy loses its peer. Then a
statement would wait without end, and so would a shutdown that waits for the statement.

A process can also stop in the middle of a transaction, for example with its virtual machine. Then PostgreSQL ends the
transaction, or other processes would wait for its locks.
"""

import asyncio
from functools import partial
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
from sqlalchemy import ExceptionContext, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

POOL_SIZE, POOL_OVERFLOW = 5, 10  # connections that stay open, and those that are closed after their use
CONNECT_TIMEOUT_S = 10.0
STATEMENT_TIMEOUT_S = 30.0
PING_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 2.0
IDLE_TRANSACTION_TIMEOUT_S = 5.0
READ_ONLY_SQLSTATE = "25006"


def create_pool(url: str, *, statement_timeout: float | None) -> AsyncEngine:
    # The driver parses the URL itself: it supports `sslmode` and all else that PostgreSQL's own tools do.
    connect = partial(asyncpg.connect, url, timeout=CONNECT_TIMEOUT_S)
    if statement_timeout is not None:
        connect = partial(connect_limited, url, statement_timeout)
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=connect, pool_size=POOL_SIZE, max_overflow=POOL_OVERFLOW
    )
    event.listen(engine.sync_engine, "connect", mark_new)
    event.listen(engine.sync_engine, "checkout", check)
    event.listen(engine.sync_engine, "handle_error", drop_read_only)
    return engine


async def connect_limited(url: str, statement_timeout: float) -> asyncpg.Connection:
    """Connect with a timeout for each statement, and for a transaction in which none is executed."""
    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S, command_timeout=statement_timeout)
    milliseconds = round(IDLE_TRANSACTION_TIMEOUT_S * 1000)
    try:  # not as a startup parameter: connection poolers reject those that they do not know
        await connection.execute(f"SET idle_in_transaction_session_timeout = {milliseconds}", timeout=CONNECT_TIMEOUT_S)
    except BaseException:
        connection.terminate()
        raise
    return connection


def drop_read_only(context: ExceptionContext) -> None:
    """A session that began while the database refused writes, or on a standby, would refuse them for ever."""
    if getattr(context.original_exception, "sqlstate", None) == READ_ONLY_SQLSTATE:
        context.is_disconnect = True


def mark_new(connection: Any, record: Any) -> None:
    record.info["is_new"] = True


def check(connection: Any, record: Any, _: Any) -> None:
    """Ping a connection that was used before; the pool replaces it if it is lost.

    Instead of `pool_pre_ping`, which takes three round trips and, if it is cancelled, waits without a timeout for a
    rollback.
    """
    if record.info.pop("is_new", False):
        return
    try:
        connection.run_async(ping)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DisconnectionError(str(error)) from error


async def ping(connection: asyncpg.Connection) -> None:
    try:
        async with asyncio.timeout(PING_TIMEOUT_S):
            await connection.execute("SELECT")
    except BaseException:  # a cancelled statement leaves a connection that waits for the end of the statement
        connection.terminate()
        raise
