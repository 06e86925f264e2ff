"""`none`: nothing. The flow goes on to `next` if there is one."""

from rightseat.plugins.flows.means import Turn
from rightseat.plugins.results import Result


async def perform(turn: Turn) -> Result:
    return Result()
