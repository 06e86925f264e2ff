"""How DBOS uses PostgreSQL through a pooler: without prepared statements and settings of a session."""

from typing import Any

import psycopg
from sqlalchemy import Engine, NullPool, create_engine, make_url

from rightseat.core.errors import ConfigError
from rightseat.postgres.addresses import read_url

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


def build_engine(url: str) -> Engine:
    """For a few statements."""
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool, connect_args=CONNECT_ARGS
    )
