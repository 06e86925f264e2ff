"""Where tools come from."""

from typing import TYPE_CHECKING

from rightseat.lazy_names import import_lazily

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

__getattr__ = import_lazily(__name__, _HOMES)
