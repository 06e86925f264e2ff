"""Protocols in front. The name of a module is the `type:` of a face in the configuration.

`OpenBB(path="/")` in `Copilot(faces=[…])` is the face with these options.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightseat.faces.ai_sdk import Options as AISDK
    from rightseat.faces.console import Options as Console
    from rightseat.faces.copilotkit import Options as CopilotKit
    from rightseat.faces.mcp import Options as MCP
    from rightseat.faces.metrics import Options as Metrics
    from rightseat.faces.openai import Options as OpenAI
    from rightseat.faces.openbb import Options as OpenBB
    from rightseat.faces.operator import Options as Operator
    from rightseat.faces.usage import Options as Usage

__all__ = [
    "AISDK",
    "MCP",
    "Console",
    "CopilotKit",
    "Metrics",
    "OpenAI",
    "OpenBB",
    "Operator",
    "Usage",
]

_HOMES = {
    "AISDK": "rightseat.faces.ai_sdk:Options",
    "Console": "rightseat.faces.console:Options",
    "CopilotKit": "rightseat.faces.copilotkit:Options",
    "MCP": "rightseat.faces.mcp:Options",
    "Metrics": "rightseat.faces.metrics:Options",
    "OpenAI": "rightseat.faces.openai:Options",
    "OpenBB": "rightseat.faces.openbb:Options",
    "Operator": "rightseat.faces.operator:Options",
    "Usage": "rightseat.faces.usage:Options",
}


def __getattr__(name: str) -> object:
    """Imported when first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, found = _HOMES[name].partition(":")
    return getattr(import_module(module), found)
