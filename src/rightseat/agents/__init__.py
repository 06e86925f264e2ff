"""The built-in agents. The name of a module is the `type:` of an agent in the configuration."""

from importlib import import_module
from typing import TYPE_CHECKING

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


def __getattr__(name: str) -> object:
    """Imported when first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, found = _HOMES[name].partition(":")
    return getattr(import_module(module), found)
