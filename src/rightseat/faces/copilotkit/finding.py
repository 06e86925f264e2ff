"""The agents of parts that stand for several: what clients call them, and where they are."""

import logging
from collections.abc import Iterable

from rightseat.core.agent import Roster
from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError
from rightseat.core.runtime import Runtime

logger = logging.getLogger(__name__)


async def members(
    runtime: Runtime, parts: Iterable[str], ask: Ask
) -> tuple[dict[str, tuple[str, str]], list[AgentError]]:
    """Names → the part and what the agent is good for; and why there are none of parts that cannot be reached.

    Of two agents with one name the first is meant.
    """
    found: dict[str, tuple[str, str]] = {}
    problems: list[AgentError] = []
    for part in parts:
        roster = runtime.agents.get(part)
        if not isinstance(roster, Roster):
            continue
        try:
            for name, description in (await roster.members(ask)).items():
                found.setdefault(name, (part, description))
        except AgentError as error:
            logger.warning("the agents of %r cannot be had: %s", part, error)
            problems.append(error)
    return found, problems
