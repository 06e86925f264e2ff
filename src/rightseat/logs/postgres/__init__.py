"""The log in PostgreSQL, read and written by every process of a fleet: the choice where there is no Redis.

All that the runs of a process say within a few milliseconds is one statement. It wakes those who follow elsewhere with
one NOTIFY, and they read by run and number, never by the order of commits.
"""

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.log import Log
from rightseat.logs.postgres.keeping import PostgresKeeper
from rightseat.logs.served import ServedLog


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    url: SecretStr
    """The database, such as `postgresql://user:password@host/name`. It may be the one that has the threads."""
    keep_minutes: float = Field(default=1440.0, gt=0)
    """For how long a run that has ended can still be followed from its beginning."""
    patience: float = Field(default=30.0, gt=0)
    """How many seconds a run waits for a database that is away, before it is ended with an error."""


def build(options: Options) -> Log:
    keeper = PostgresKeeper(options.url.get_secret_value(), keep=options.keep_minutes * 60)
    return ServedLog(keeper, options.patience)
