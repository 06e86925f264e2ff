"""Meters calls without a stream, in the context of a run or of a request without a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rightseat.limits.meter import METER, RunMeter
from rightseat.limits.single_call import SingleCall, TokenCounts


@asynccontextmanager
async def reserve_call(
    model: str,
    provider_model: str,
    reserved: TokenCounts,
    estimated: TokenCounts,
    purpose: str,
    *,
    meter: RunMeter | None = None,
) -> AsyncIterator[SingleCall]:
    """Count the call that is made in this block, by default for the meter of the context.

    Raises a `LimitExceeded` if it does not fit.
    """
    call, meter = SingleCall(model, provider_model, reserved, estimated), meter or METER.get()
    if meter is None:
        yield call
        return
    async with meter.reserve(call, purpose):
        yield call
