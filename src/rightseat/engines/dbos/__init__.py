"""Runs that go on when their process dies: each durable run is a workflow of DBOS, in a SQLite file or in PostgreSQL.

system    DBOS itself: launched, asked, shut down
steps     the steps of one run
engine    starting, going on, cancelling, leaving

Runs that are not durable are tasks of this process, as with the engine `local`, and cost nothing more.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.engine import Engine
from rightseat.engines.dbos.engine import DbosEngine
from rightseat.engines.dbos.system import System
from rightseat.parts import StatePath

__all__ = ["DbosEngine", "Options", "build"]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: StatePath = Path("steps.db")
    """The SQLite file with the finished steps of runs; a relative path is one in the folder `server.state`."""
    url: SecretStr | None = None
    """A PostgreSQL database instead, such as `postgresql://user:password@host/name`: the one that `threads` has."""
    db_schema: str = "dbos"
    """With PostgreSQL: the schema for the tables of DBOS. It is made if it is not there."""
    attempts: int = Field(default=5, ge=1)
    """How often a run may die without finishing a step before it is given up, so that it takes no others with it."""
    retention_seconds: float = Field(default=3600.0, ge=60)
    """How long the steps of a run are kept after its end. They go before that when its thread is deleted."""


def build(options: Options) -> Engine:
    where = options.url.get_secret_value() if options.url else options.path
    return DbosEngine(System(where, options.db_schema), options.attempts, options.retention_seconds)
