"""How DBOS uses PostgreSQL through a pooler: without prepared statements and settings of a session."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Engine, NullPool, create_engine, make_url

from rightseat.core.errors import ConfigError
from rightseat.postgres.addresses import read_url

logger = logging.getLogger(__name__)

LAUNCH_LOCK = 0x52534542  # the advisory lock that a process holds while it launches DBOS
# Without a parameter, so that the transaction keeps no snapshot, for which CREATE INDEX CONCURRENTLY would wait.
TAKE_LAUNCH_LOCK = f"SELECT pg_try_advisory_xact_lock({LAUNCH_LOCK})"
LAUNCH_TIMEOUT_S = 60.0
LAUNCH_RETRY_S = 0.1
CONNECT_TIMEOUT_S = 10
CONNECT_ARGS: dict[str, Any] = {"prepare_threshold": None, "connect_timeout": CONNECT_TIMEOUT_S}


def has_pooler(url: str) -> bool:
    """A pooler tells its clients another number than that of the server's process (`postgres.connector`)."""
    try:
        with psycopg.connect(read_url(url, "the engine"), connect_timeout=CONNECT_TIMEOUT_S) as connection:
            (backend_pid,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (None,)
            return bool(backend_pid != connection.info.backend_pid)
    except psycopg.Error as error:
        cause, *_ = str(error).splitlines() or [type(error).__name__]
        raise ConfigError(
            f"The engine `dbos` cannot reach its database: {cause.rstrip('.')}. Is it running, and is its `url` right?"
        ) from error


@contextmanager
def hold_launch_lock(url: str) -> Iterator[None]:
    """One process at a time: DBOS locks its migrations in a session, which a pooler in transaction mode does not keep.

    This lock is held in a transaction, which keeps one of the pooler's connections. Those that wait keep none.
    """
    with psycopg.connect(read_url(url, "the engine"), autocommit=True, **CONNECT_ARGS) as connection:
        until = time.monotonic() + LAUNCH_TIMEOUT_S
        while True:
            with connection.transaction():
                (is_held,) = connection.execute(TAKE_LAUNCH_LOCK).fetchone() or (False,)
                if not is_held and time.monotonic() > until:
                    logger.warning("another server has launched its engine for %.0f s; not waiting", LAUNCH_TIMEOUT_S)
                    is_held = True
                if is_held:
                    yield
                    return
            time.sleep(LAUNCH_RETRY_S)


def build_engine(url: str) -> Engine:
    """For a few statements."""
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool, connect_args=CONNECT_ARGS
    )
