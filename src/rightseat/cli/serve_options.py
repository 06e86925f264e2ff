"""The options of `rightseat serve`, which its processes share."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`path` is the configuration file. `is_worker`: other processes share the state."""

    path: Path | None
    model: Path | None
    endpoint: str | None
    host: str | None
    port: int | None
    access_log: bool
    tls_self_signed: bool
    edit: bool = False
    embeddings: str | None = None
    is_worker: bool = False

    @property
    def is_without_file(self) -> bool:
        """Whether options name the model, so that no configuration file is read."""
        return self.model is not None or self.endpoint is not None
