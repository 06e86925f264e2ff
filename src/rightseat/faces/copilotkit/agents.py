"""Lists the members of agent groups."""

import logging
from collections.abc import Iterable

from rightseat.core.agent import AgentGroup
from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError
from rightseat.core.runtime import Runtime

logger = logging.getLogger(__name__)


async def list_members(
    runtime: Runtime, parts: Iterable[str], ask: Ask
) -> tuple[dict[str, tuple[str, str]], list[AgentError]]:
    """Return names → (part, description), and the errors of unreachable parts. The first of equal names wins."""
    found: dict[str, tuple[str, str]] = {}
    problems: list[AgentError] = []
    for part in parts:
        roster = runtime.agents.get(part)
        if not isinstance(roster, AgentGroup):
            continue
        try:
            for name, description in (await roster.members(ask)).items():
                found.setdefault(name, (part, description))
        except AgentError as error:
            logger.warning("cannot list the agents of %r: %s", part, error)
            problems.append(error)
    return found, problems
