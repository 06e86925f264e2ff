"""How much a plugin may be, and what the operator has said of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes are in bytes. `values` is how many values aliases and references may make of one file or one schema."""

    files: int = 500
    size: int = 20_000_000
    file_size: int = 1_000_000
    flows: int = 200
    steps: int = 100
    operations: int = 500
    depth: int = 64
    values: int = 100_000


@dataclass(frozen=True, slots=True)
class Operator:
    """What the operator decides about one plugin.

    `server` is one of the document's servers, by its index or its description; `variables` are values for its
    placeholders. `secrets` are the names that the store has, None where nobody looked. `lib` are the digests of code
    that is allowed to run.
    """

    server: int | str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    secrets: Collection[str] | None = None
    lib: Collection[str] = ()
