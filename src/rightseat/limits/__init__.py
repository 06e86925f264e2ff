"""Limits and budgets: the public names.

`Limit(name="free", subject="user", requests_per_minute=20)` in `Copilot(limits=[…])` has the keys of the section
`limits`.
"""

from typing import TYPE_CHECKING

from rightseat.lazy_names import import_lazily

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

__getattr__ = import_lazily(__name__, _HOMES)
