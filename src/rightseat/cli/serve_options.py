"""The options of `rightseat serve`, which its processes share."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`path` is the configuration file. `is_worker`: other processes share the state."""

    path: Path | None
    model: Path | None
    host: str | None
    port: int | None
    access_log: bool
    tls_self_signed: bool
    edit: bool = False
    is_worker: bool = False
