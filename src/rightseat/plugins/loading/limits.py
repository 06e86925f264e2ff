"""Size limits of a plugin, and the operator's settings for one plugin."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PluginLimits:
    """`max_values` limits the values of one file or schema after aliases and references are expanded."""

    max_files: int = 500
    max_bytes: int = 20_000_000
    max_file_bytes: int = 1_000_000
    max_flows: int = 200
    max_steps: int = 100
    max_operations: int = 500
    max_depth: int = 64
    max_values: int = 100_000


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """The operator's settings for one plugin.

    `server` selects one of the document's servers by index or description; `variables` are values for its
    placeholders. `secrets` are the names in the secret store, None if they were not checked. `lib` are the digests of
    code that may run.
    """

    server: int | str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Collection[str] | None = None
    lib: Collection[str] = ()
