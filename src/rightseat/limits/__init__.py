"""Limits and budgets: the public names.

`Limit(name="free", subject="user", requests_per_minute=20)` in `Copilot(limits=[…])` has the keys of the section
`limits`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightseat.limits.options import CostWindow, CountWindow, QueueOptions
    from rightseat.limits.options import LimitOptions as Limit

__all__ = [
    "CostWindow",
    "CountWindow",
    "Limit",
    "QueueOptions",
]

_HOMES = {
    "CostWindow": "rightseat.limits.options:CostWindow",
    "CountWindow": "rightseat.limits.options:CountWindow",
    "Limit": "rightseat.limits.options:LimitOptions",
    "QueueOptions": "rightseat.limits.options:QueueOptions",
}


def __getattr__(name: str) -> object:
    """Imported when first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, found = _HOMES[name].partition(":")
    return getattr(import_module(module), found)
