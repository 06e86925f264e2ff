"""Protocols in front. The name of a module is the `type:` of a face in the configuration.

`OpenBB(path="/")` in `Copilot(faces=[…])` is the face with these options.
"""

from typing import TYPE_CHECKING

from rightseat import parts

if TYPE_CHECKING:
    from rightseat.faces.ai_sdk import Options as AISDK
    from rightseat.faces.anthropic import Options as Anthropic
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
    "Anthropic",
    "Console",
    "CopilotKit",
    "Metrics",
    "OpenAI",
    "OpenBB",
    "Operator",
    "Usage",
]

_TYPES = {
    "AISDK": "ai_sdk",
    "Anthropic": "anthropic",
    "Console": "console",
    "CopilotKit": "copilotkit",
    "MCP": "mcp",
    "Metrics": "metrics",
    "OpenAI": "openai",
    "OpenBB": "openbb",
    "Operator": "operator",
    "Usage": "usage",
}


def __getattr__(name: str) -> object:
    """Imported when first used. Raises `ConfigError` with the command that installs what it needs."""
    if name not in _TYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return parts.find("faces", _TYPES[name]).Options
