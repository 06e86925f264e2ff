"""Counts and bounds the model calls of an evaluation: those of agents, flows, guards and judges.

The limits of users do not apply. Each call is reserved in the budget before it is sent and settled after it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.call_labels import CallLabels
from rightseat.core.caller import Downgrade
from rightseat.core.errors import BudgetExceeded, LimitExceeded, ModelError
from rightseat.core.model import CannotContinue, Chunk, Model, Prompt
from rightseat.evals.replay import CaseReplay
from rightseat.limits.book import Settle, UsageKey
from rightseat.limits.kinds import NANO, UsageCounts
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter import OpenStream
from rightseat.limits.meter_context import OuterCall
from rightseat.limits.model_charge import CountedCall, ModelCharge, provider_name
from rightseat.limits.prices import Prices

PURPOSE = "eval"
"""Of the calls in the usage report."""


class OutOfBudget(BudgetExceeded):
    """No call is open whose settlement could make room for this one."""

    def __init__(self) -> None:
        super().__init__("The budget of the evaluation is used up.", limit="--budget")


class Budget:
    """In billionths of the currency. None bounds nothing."""

    def __init__(self, most: float | None = None) -> None:
        self.most = None if most is None else round(most * NANO)
        self.spent = 0
        self.is_used_up = False
        self._reserved = 0
        self._open = 0
        self._changed = asyncio.Event()

    async def reserve(self, amount: int) -> None:
        """Wait for settlements until the call fits. Raises `OutOfBudget`."""
        while self.most is not None and self.spent + self._reserved + amount > self.most:
            if self.is_used_up or not self._open:
                self.is_used_up = True
                self._changed.set()
                raise OutOfBudget
            self._changed.clear()
            await self._changed.wait()
        self._reserved += amount
        self._open += 1

    def settle(self, reserved: int, spent: int) -> None:
        self._reserved -= reserved
        self._open -= 1
        self.spent += spent
        self._changed.set()


@dataclass(frozen=True, slots=True)
class EvalMetering:
    """What all attempts share. With a `ledger` the calls are in the usage report, for this `purpose` and, if it is not
    empty, this `user`. An attempt that needs more than `max_calls` ends as an error."""

    prices: Prices = field(default_factory=Prices)
    reserve: Mapping[str, int] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    ledger: Ledger | None = None
    purpose: str = PURPOSE
    user: str = ""
    max_calls: int | None = None


class EvalMeter:
    """A `CallMeter` for one attempt and its judges. It ends the `replay` if the budget is used up."""

    def __init__(self, metering: EvalMetering, agent: str) -> None:
        self._metering = metering
        self._agent = agent
        self.replay: CaseReplay | None = None
        self.downgrade: Downgrade | None = None  # no limit downgrades an evaluation
        self.calls = self.input_tokens = self.output_tokens = 0
        self._cost = 0
        self._has_unpriced = False

    @property
    def prices(self) -> Prices:
        return self._metering.prices

    @property
    def cost(self) -> float | None:
        """None if a model that was called has no price."""
        return None if self._has_unpriced else self._cost / NANO

    def select(self, model: Model) -> Model:
        return model

    async def stream(
        self,
        model: Model,
        prompt: Prompt,
        labels: CallLabels,
        outer: OuterCall,
        open_stream: OpenStream,
        nested: Sequence[UsageCounts] = (),
    ) -> AsyncIterator[Chunk]:
        call = ModelCharge(self.prices, self._metering.reserve, model, prompt)
        self._has_unpriced |= self.prices.find(call.model_key, provider_name(model)) is None
        is_bounded = self._metering.budget.most is not None
        async with self._reserved(call, labels.agent, outer, nested):
            async with aclosing(open_stream(call.bounded_prompt if is_bounded else prompt)) as chunks:
                async for chunk in chunks:
                    call.read(chunk)
                    yield chunk
            call.is_complete = True

    @asynccontextmanager
    async def reserve(self, call: CountedCall, purpose: str) -> AsyncIterator[None]:
        async with self._reserved(call, None, OuterCall(), ()):
            yield

    @asynccontextmanager
    async def _reserved(
        self, call: CountedCall, agent: str | None, outer: OuterCall, nested: Sequence[UsageCounts]
    ) -> AsyncIterator[None]:
        budget, reserved, most = self._metering.budget, call.reserved.cost, self._metering.max_calls
        if most is not None and self.calls >= most and self.replay is not None:
            await self.replay.fail(f"It was stopped after {most} model calls.")
        try:
            await budget.reserve(reserved)
        except OutOfBudget:
            if self.replay is None:
                raise
            await self.replay.run_out_of_budget()
        self.calls += 1
        try:
            yield
        except (ModelError, CannotContinue, LimitExceeded):
            call.has_failed = True
            raise
        finally:
            counts = call.counts(is_reserved=budget.most is not None)
            if outer.nested is not None:
                outer.nested.append(counts)
            for run in nested:
                counts = counts.without(run)
            budget.settle(reserved, counts.cost)
            self._count(call.model_key, agent or self._agent, counts)

    def _count(self, model: str, agent: str, counts: UsageCounts) -> None:
        self.input_tokens += counts.input_tokens + counts.estimated_tokens
        self.output_tokens += counts.output_tokens
        self._cost += counts.cost
        if self._metering.ledger is not None:
            counts = msgspec.structs.replace(counts, requests=0)
            key = UsageKey(self._metering.user, "", agent, model, self._metering.purpose)
            _ = self._metering.ledger.settle(Settle(None, key, counts))
