"""A model call without a stream, as limits count it: embeddings, and the transcription of a recording."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from rightseat.limits.kinds import UsageCounts
from rightseat.limits.meter import METER, CallMeter
from rightseat.limits.model_charge import cost_in_nanos
from rightseat.limits.prices import Prices


class TokenCounts(NamedTuple):
    input: int
    output: int = 0


class SingleCall:
    """`model` is a name under `models`, `provider_model` that of the provider.

    `reserved` is the most that the call may use. `estimated` is counted if its usage is not reported; the caller sets
    it, and `reported`.
    """

    def __init__(
        self, model: str, provider_model: str, reserved: TokenCounts, estimated: TokenCounts, prices: Prices
    ) -> None:
        self.model_key = model
        self._price = prices.find(model, provider_model)
        self.reserved = self._count(reserved)
        self.estimated = estimated
        self.reported: TokenCounts | None = None
        self.has_failed = False

    def counts(self, *, is_reserved: bool) -> UsageCounts:
        if self.has_failed:
            return UsageCounts()
        if self.reported is not None:
            return self._count(self.reported)
        found = self.estimate(0)
        return found.at_most(self.reserved) if is_reserved else found

    def estimate(self, output_weight: int) -> UsageCounts:
        return UsageCounts(estimated_tokens=max(1, sum(self.estimated)), cost=self._cost(self.estimated))

    def _count(self, tokens: TokenCounts) -> UsageCounts:
        return UsageCounts(input_tokens=tokens.input, output_tokens=tokens.output, cost=self._cost(tokens))

    def _cost(self, tokens: TokenCounts) -> int:
        return cost_in_nanos(self._price, tokens.input, 0, tokens.output) if self._price else 0


@asynccontextmanager
async def reserve_call(
    model: str,
    provider_model: str,
    reserved: TokenCounts,
    estimated: TokenCounts,
    purpose: str,
    *,
    meter: CallMeter | None = None,
) -> AsyncIterator[SingleCall]:
    """Count the call that is made in this block, by default for the meter of the context.

    Raises a `LimitExceeded` if it does not fit.
    """
    meter = meter or METER.get()
    call = SingleCall(model, provider_model, reserved, estimated, meter.prices if meter else Prices())
    if meter is None:
        yield call
        return
    async with meter.reserve(call, purpose):
        yield call
