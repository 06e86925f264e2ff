"""Where tools come from."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightseat.core.tools import Approval, Tool, Toolbox
    from rightseat.toolboxes.functions import FunctionToolbox

__all__ = [
    "Approval",
    "FunctionToolbox",
    "Tool",
    "Toolbox",
]

_HOMES = {
    "Approval": "rightseat.core.tools:Approval",
    "FunctionToolbox": "rightseat.toolboxes.functions:FunctionToolbox",
    "Tool": "rightseat.core.tools:Tool",
    "Toolbox": "rightseat.core.tools:Toolbox",
}


def __getattr__(name: str) -> object:
    """Imported when first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, found = _HOMES[name].partition(":")
    return getattr(import_module(module), found)
