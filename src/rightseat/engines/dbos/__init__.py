"""Durable runs that survive the death of their process: each is a DBOS workflow, in a SQLite file or in PostgreSQL.

system    launches, queries and shuts down DBOS
steps     the durable steps of one run
engine    starts, resumes, cancels and hands over runs

Runs that are not durable are tasks of this process, as with the engine `local`.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.engine import Engine
from rightseat.engines.dbos.engine import DbosEngine
from rightseat.engines.dbos.system import DbosSystem
from rightseat.parts import StatePath

__all__ = ["DbosEngine", "Options", "build"]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: StatePath = Path("steps.db")
    """The SQLite file with the finished steps of runs; a relative path is relative to `server.state_dir`."""
    url: SecretStr | None = None
    """A PostgreSQL database instead, such as `postgresql://user:password@host/name`: that of `threads`."""
    db_schema: str = "dbos"
    """With PostgreSQL: the schema for the tables of DBOS. It is created if it does not exist."""
    max_attempts: int = Field(default=5, ge=1)
    """How often a run may die without finishing a step before it fails, so that it does not take other runs with it."""
    retention_seconds: float = Field(default=3600.0, ge=60)
    """How many seconds the steps of a run are stored after its end. Deleting its thread deletes them at once."""


def build(options: Options) -> Engine:
    where = options.url.get_secret_value() if options.url else options.path
    return DbosEngine(DbosSystem(where, options.db_schema), options.max_attempts, options.retention_seconds)
