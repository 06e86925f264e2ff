"""`none`: nothing. The flow goes on to `next` if there is one."""

from rightseat.plugins.call_types import CallType, Plain
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.results import Result


async def perform(turn: Turn) -> Result:
    return Result()


CALL = CallType(runner=Plain(perform), summary="Does nothing.", keeps_data=True, is_external=False)
