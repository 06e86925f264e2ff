"""SQLAlchemy's pool of connections to PostgreSQL, in which every wait has a timeout.

A connection can stop responding without being closed: a firewall drops its packets, or a proxy loses its peer. Then a
statement would wait without end, and so would a shutdown that waits for the statement.
"""

import asyncio
from functools import partial
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
from sqlalchemy import ExceptionContext, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from rightseat.postgres.connector import PostgresConnector

POOL_SIZE, POOL_OVERFLOW = 5, 10  # connections that stay open, and those that are closed after their use
STATEMENT_TIMEOUT_S = 30.0
PING_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 2.0
READ_ONLY_SQLSTATE = "25006"


def create_pool(
    connector: PostgresConnector, *, statement_timeout: float | None, has_pooler: bool = False
) -> AsyncEngine:
    # The driver parses the URL itself: it supports `sslmode` and all else that PostgreSQL's own tools do.
    connect = partial(
        connector.connect,
        command_timeout=statement_timeout,
        limits_idle_transactions=statement_timeout is not None,
    )
    options: dict[str, Any] = {"prepared_statement_cache_size": 0} if has_pooler else {}
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connect,
        connect_args=options,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
    )
    event.listen(engine.sync_engine, "connect", mark_new)
    event.listen(engine.sync_engine, "checkout", check)
    event.listen(engine.sync_engine, "handle_error", drop_read_only)
    return engine


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
