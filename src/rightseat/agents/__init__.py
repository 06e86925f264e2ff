"""The built-in agents. The name of a module is the `type:` of an agent in the configuration."""

from typing import TYPE_CHECKING

from rightseat.lazy_names import import_lazily

if TYPE_CHECKING:
    from rightseat.core.agent import Agent
    from rightseat.core.ask import Ask
    from rightseat.core.loop.agent_loop import Loop

__all__ = [
    "Agent",
    "Ask",
    "Loop",
]

_HOMES = {
    "Agent": "rightseat.core.agent:Agent",
    "Ask": "rightseat.core.ask:Ask",
    "Loop": "rightseat.core.loop.agent_loop:Loop",
}

__getattr__ = import_lazily(__name__, _HOMES)
