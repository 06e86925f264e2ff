"""The log in Redis or Valkey: one stream per run, read and written by every process of a fleet.

Redis holds the last minutes of a run and is not its only storage: ended runs expire, and a Redis that comes back empty
is detected and reported. It must be one server with its replicas, not a cluster: a batch concerns many runs at once.
"""

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.log import Log
from rightseat.logs.redis.backend import RedisBackend
from rightseat.logs.shared.log import SharedLog


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    url: SecretStr
    """The server, such as `redis://user:password@host:6379/0`; `rediss://` for TLS, `unix://` for a socket."""
    prefix: str = "rightseat:"
    """The prefix of its keys. Processes with the same prefix share their runs."""
    min_replicas: int = Field(default=0, ge=0)
    """How many replicas must have an event before clients receive it. With 1, a failover loses nothing that any client
    received."""
    retention_minutes: float = Field(default=60.0, gt=0)
    """How many minutes a run can still be followed from its beginning after it has ended."""
    judged_retention_days: float = Field(default=14.0, ge=1)
    """How many days a run that its user has judged can be read after the last vote, if that is longer."""
    timeout: float = Field(default=30.0, gt=0)
    """How many seconds a run waits for an unavailable server before it fails."""


def build(options: Options) -> Log:
    backend = RedisBackend(
        options.url.get_secret_value(),
        prefix=options.prefix,
        min_replicas=options.min_replicas,
        retention_seconds=options.retention_minutes * 60,
        judged_seconds=options.judged_retention_days * 86_400,
    )
    return SharedLog(backend, options.timeout)
