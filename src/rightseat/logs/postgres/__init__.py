"""The log in PostgreSQL, read and written by every process of a fleet: for deployments without Redis.

All records that the runs of a process append within a few milliseconds are one statement. One NOTIFY wakes followers in
other processes, which read by run and position, never by the order of commits.
"""

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.log import Log
from rightseat.logs.postgres.backend import PostgresBackend
from rightseat.logs.shared.log import SharedLog


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    url: SecretStr
    """The database, such as `postgresql://user:password@host/name`. It may be the one that holds the threads."""
    retention_minutes: float = Field(default=1440.0, gt=0)
    """How many minutes a run can still be followed from its beginning after it has ended."""
    judged_retention_days: float = Field(default=14.0, ge=1)
    """How many days a run that its user has judged can be read after the last vote, if that is longer."""
    timeout: float = Field(default=30.0, gt=0)
    """How many seconds a run waits for an unavailable database before it fails."""


def build(options: Options) -> Log:
    backend = PostgresBackend(
        options.url.get_secret_value(),
        retention_seconds=options.retention_minutes * 60,
        judged_seconds=options.judged_retention_days * 86_400,
    )
    return SharedLog(backend, options.timeout)
