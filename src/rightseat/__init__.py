"""rightseat: one server that gives any application a copilot."""

from typing import TYPE_CHECKING

from rightseat.lazy_names import import_lazily

if TYPE_CHECKING:
    from rightseat.copilot import Copilot
    from rightseat.copilot.agent_options import AgentOptions as Agent
    from rightseat.copilot.result import AskResult as Result
    from rightseat.copilot.stream import AskStream as Stream
    from rightseat.core.ask import Principal
    from rightseat.core.errors import ConfigError, RightseatError
    from rightseat.core.tools import Invocation
    from rightseat.limits.options import LimitOptions as Limit
    from rightseat.toolboxes.functions import tool

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "ConfigError",
    "Copilot",
    "Invocation",
    "Limit",
    "Principal",
    "Result",
    "RightseatError",
    "Stream",
    "tool",
]

_HOMES = {
    "Agent": "rightseat.copilot.agent_options:AgentOptions",
    "ConfigError": "rightseat.core.errors:ConfigError",
    "Copilot": "rightseat.copilot:Copilot",
    "Invocation": "rightseat.core.tools:Invocation",
    "Limit": "rightseat.limits.options:LimitOptions",
    "Principal": "rightseat.core.ask:Principal",
    "Result": "rightseat.copilot.result:AskResult",
    "RightseatError": "rightseat.core.errors:RightseatError",
    "Stream": "rightseat.copilot.stream:AskStream",
    "tool": "rightseat.toolboxes.functions:tool",
}

__getattr__ = import_lazily(__name__, _HOMES)
