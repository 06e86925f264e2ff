"""rightseat: one server that gives any application a copilot."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightseat.copilot import Copilot
    from rightseat.core.errors import RightseatError
    from rightseat.core.tools import Invocation
    from rightseat.toolboxes.functions import tool

__version__ = "0.1.0"

__all__ = ["Copilot", "Invocation", "RightseatError", "tool"]

_HOMES = {
    "Copilot": "rightseat.copilot",
    "Invocation": "rightseat.core.tools",
    "RightseatError": "rightseat.core.errors",
    "tool": "rightseat.toolboxes.functions",
}


def __getattr__(name: str) -> object:
    """Imported when first used: the command and the tests of your tools should not wait for a web framework."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
