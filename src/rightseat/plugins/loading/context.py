"""The names that the steps of a flow can refer to."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from rightseat.plugins.definition import Operation, PluginDatabase


@dataclass(frozen=True, slots=True)
class LoadContext:
    """`lib_identifiers` are candidates for names of tools in `lib`."""

    operations: Mapping[str, Operation] = field(default_factory=dict)
    databases: Mapping[str, PluginDatabase] = field(default_factory=dict)
    lib_identifiers: Collection[str] = ()
    steps: Collection[str] = ()
    is_on_error: bool = False
