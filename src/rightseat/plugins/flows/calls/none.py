"""`none`: does nothing; the flow continues with `next` if there is one."""

from rightseat.plugins.call_types import CallType, StepCall
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.results import StepResult


async def perform(context: StepContext) -> StepResult:
    return StepResult()


CALL = CallType(
    runner=StepCall(perform), summary="Does nothing.", keeps_data=True, is_external=False, calls_models_only=True
)
