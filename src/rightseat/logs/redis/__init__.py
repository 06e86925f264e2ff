"""The log in Redis or Valkey: a stream a run, read and written by every process of a fleet.

Redis is the last minutes of a run and not its only home: runs that have ended are dropped after a while, and a Redis
that comes back empty is noticed and told. It must be one server with its replicas, not a cluster: a batch speaks of
many runs at once.
"""

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.log import Log
from rightseat.logs.redis.keeping import RedisKeeper
from rightseat.logs.served import ServedLog


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    url: SecretStr
    """The server, such as `redis://user:password@host:6379/0`; `rediss://` for TLS, `unix://` for a socket."""
    prefix: str = "rightseat:"
    """What its keys begin with. Processes with one prefix share their runs."""
    wait: int = Field(default=0, ge=0)
    """How many replicas must have an event before it is shown. With 1, a failover loses nothing that anyone saw."""
    keep_minutes: float = Field(default=60.0, gt=0)
    """For how long a run that has ended can still be followed from its beginning."""
    patience: float = Field(default=30.0, gt=0)
    """How many seconds a run waits for a server that is away, before it is ended with an error."""


def build(options: Options) -> Log:
    keeper = RedisKeeper(
        options.url.get_secret_value(),
        prefix=options.prefix,
        wait=options.wait,
        keep=options.keep_minutes * 60,
    )
    return ServedLog(keeper, options.patience)
