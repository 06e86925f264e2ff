"""Collects the tools of one run from the client and from every toolbox, and resolves name conflicts."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError, ConfigError
from rightseat.core.tools import Approval, HasStaticTools, Tool, Toolbox

logger = logging.getLogger(__name__)

ApprovalPolicy = Literal["always", "never", "writes"]
"""Which tools need a person's approval. `writes`: tools that change something or declare an approval."""


async def gather(ask: Ask, toolboxes: Iterable[Toolbox], policy: ApprovalPolicy) -> tuple[dict[str, Tool], list[str]]:
    """Return the tools by name, and a message for each toolbox that cannot be reached and each name conflict.

    A server tool takes precedence over a client tool: a client must not replace it. The first of two toolboxes takes
    precedence: a remote toolbox, whose tools may change at any time, must not replace the tool of another.
    """
    tools = {offer.name: Tool.offered(offer) for offer in ask.tools}
    missing = [f"The client offers two tools named {name!r}. The last is used." for name in duplicate_tools(ask)]
    taken: dict[str, Toolbox] = {}
    for toolbox in toolboxes:
        try:
            found = await toolbox.tools(ask)
        except AgentError as error:
            missing.append(error.message)
            continue
        for tool in found:
            if tool.name in taken:
                missing.append(clash(tool.name, taken[tool.name], toolbox))
                continue
            taken[tool.name] = toolbox
            tools[tool.name] = with_approval(tool, policy)
    for problem in missing:
        logger.warning("run %s: some tools are not available: %s", ask.run_id, problem)
    return tools, missing


def with_approval(tool: Tool, policy: ApprovalPolicy) -> Tool:
    """Add an approval where the policy requires one. Tools that the client runs are not affected."""
    if not tool.runs_on_server or tool.approval == "exempt":
        return tool
    if policy == "never":
        return replace(tool, approval=None)
    if tool.approval is None and (policy == "always" or tool.writes):
        return replace(tool, approval=Approval(f"May {tool.name} be run?"))
    return tool


def clash(name: str, first: Toolbox, second: Toolbox) -> str:
    if first is second:
        return f"Two tools of {label(first)} are named {name!r}. The first is used."
    return f"A tool named {name!r} is offered by {label(first)} and by {label(second)}. The first is used."


def duplicate_tools(ask: Ask) -> list[str]:
    return [name for name, count in Counter(offer.name for offer in ask.tools).items() if count > 1]


def check(toolboxes: Sequence[Toolbox]) -> None:
    """Raises `ConfigError` if two toolboxes with static tools have a tool of the same name."""
    taken: dict[str, Toolbox] = {}
    for toolbox in dict.fromkeys(toolboxes):
        for name in toolbox.names if isinstance(toolbox, HasStaticTools) else ():
            if name in taken:
                raise ConfigError(
                    f"A tool named {name!r} is offered by {label(taken[name])} and by {label(toolbox)} of one agent. "
                    "Give one of them another name, or leave one out."
                )
            taken[name] = toolbox


def label(toolbox: Toolbox) -> str:
    """The toolbox's name in messages."""
    return str(getattr(toolbox, "label", "") or type(toolbox).__name__)
