"""The tools of one run, from the client and from every toolbox; of two with one name, one."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from rightseat.core.approving import Policy, asking
from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError, ConfigError
from rightseat.core.tools import Fixed, Tool, Toolbox

logger = logging.getLogger(__name__)


async def gather(ask: Ask, toolboxes: Iterable[Toolbox], policy: Policy) -> tuple[dict[str, Tool], list[str]]:
    """By name. The server's own tools win over the client's: a client must not take the place of one.

    Of two toolboxes the first wins: one that is elsewhere, and may offer something else tomorrow, must not take the
    place of another. Beside the tools, what is missing and why: toolboxes that cannot be reached, names that are taken.
    """
    tools = {offer.name: Tool.offered(offer) for offer in ask.tools}
    missing = [f"The client offers two tools named {name!r}: the last of them is used." for name in twice(ask)]
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
            tools[tool.name] = asking(tool, policy)
    for problem in missing:
        logger.warning("run %s goes without some of its tools: %s", ask.run_id, problem)
    return tools, missing


def clash(name: str, first: Toolbox, second: Toolbox) -> str:
    if first is second:
        return f"Two tools of {label(first)} are named {name!r}: the first of them is used."
    return f"A tool named {name!r} is offered by {label(first)} and by {label(second)}: the first of them is used."


def twice(ask: Ask) -> list[str]:
    return [name for name, count in Counter(offer.name for offer in ask.tools).items() if count > 1]


def check(toolboxes: Sequence[Toolbox]) -> None:
    """Raises `ConfigError` where two that always have the same tools have one of the same name."""
    taken: dict[str, Toolbox] = {}
    for toolbox in dict.fromkeys(toolboxes):
        for name in toolbox.names if isinstance(toolbox, Fixed) else ():
            if name in taken:
                raise ConfigError(
                    f"A tool named {name!r} is offered by {label(taken[name])} and by {label(toolbox)} of one agent. "
                    "Give one of them another name, or leave one out."
                )
            taken[name] = toolbox


def label(toolbox: Toolbox) -> str:
    """What people call it."""
    return str(getattr(toolbox, "label", "") or type(toolbox).__name__)
