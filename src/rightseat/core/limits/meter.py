"""Meters the model calls of a run: reserves before each call, sends the bound to the provider, and settles after it.

The meter is in the context of the run's task, which tasks that the run starts inherit. Without a meter a call costs one
lookup.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import cast

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.concurrency import aclosing
from rightseat.core.errors import ModelError, StoreUnreachable
from rightseat.core.ids import new_id
from rightseat.core.limits.book import (
    Admitted,
    HeldAmount,
    Hold,
    LimitRefusal,
    Outcome,
    Reserve,
    Settle,
    UsageCounts,
    UsageKey,
)
from rightseat.core.limits.budget_watch import BudgetWatch
from rightseat.core.limits.estimate import ESTIMATED_BYTES_PER_TOKEN, PromptSize, measure_prompt, output_bound
from rightseat.core.limits.ledger import Ledger
from rightseat.core.limits.observer import NO_LIMIT_OBSERVER, LimitObserver
from rightseat.core.limits.refusal import explain_refusal, explain_too_large, headers_of, headers_of_refusal
from rightseat.core.limits.rules import ASK_KINDS, CALL_KINDS, NANO, AskSource, Charge, Limits
from rightseat.core.model import (
    MODEL_KEY,
    CallChunk,
    CannotContinue,
    Chunk,
    Model,
    NoteChunk,
    PartialOutput,
    Prompt,
    ReasoningChunk,
    StopChunk,
    SupportsContinuation,
    TextChunk,
    UsageChunk,
    model_name,
)
from rightseat.core.prices import TOKENS_PER_PRICE, Price, Prices
from rightseat.core.response_headers import add_response_headers

OpenStream = Callable[[Prompt], AsyncIterator[Chunk]]


@dataclass(frozen=True, slots=True)
class Metering:
    """What all meters share."""

    limits: Limits
    ledger: Ledger
    prices: Prices
    observer: LimitObserver = NO_LIMIT_OBSERVER
    watch: BudgetWatch = field(default_factory=BudgetWatch)


class RunMeter:
    """Counts for one run. `is_new` is False for a run that another process began, whose request was counted there."""

    def __init__(self, metering: Metering, ask: Ask, *, is_new: bool = True) -> None:
        self._metering = metering
        self._source = AskSource(ask.principal.id, ask.caller.key, ask.caller.address, ask.agent)
        self._run_id = ask.run_id
        self._purpose = ask.purpose
        self._requests = 1 if is_new and ask.purpose == "answer" else 0  # not counted yet
        self._slot: Hold | None = None
        self._counted: Outcome | None = None
        self._last: asyncio.Future[Outcome] | None = None

    async def admit(self) -> None:
        """Count the ask for every limit, or raise a `LimitExceeded`. A budget that is used up refuses it as well."""
        rules = self._metering.limits.rules_for(self._source, (*ASK_KINDS, *CALL_KINDS))
        charges = [Charge(key, rule, 1 if rule.kind in ASK_KINDS else 0) for key, rule in rules]
        if self._purpose != "answer":
            charges = [one for one in charges if one.rule.kind != "requests"]
        if charges:
            await self._take(charges)

    async def take_over(self) -> None:
        """Take the slots of a run that was admitted by another process, whether or not they are free."""
        rules = self._metering.limits.rules_for(self._source, ("runs",))
        if charges := [Charge(key, rule, 1) for key, rule in rules]:
            with suppress(StoreUnreachable):  # the run goes on: it was admitted
                await self._take(charges, is_forced=True)

    async def _take(self, charges: list[Charge], *, is_forced: bool = False) -> None:
        usage = self._usage_key("", self._source.agent)
        wanted = Reserve(f"{self._run_id}:slot", self._run_id, charges, usage, is_forced=is_forced)
        admitted = await self._reserve(wanted)
        self._slot, self._counted = admitted.hold, admitted

    async def _reserve(self, wanted: Reserve) -> Admitted:
        shared, currency = self._metering, self._metering.prices.currency
        outcome = await shared.ledger.reserve(wanted)
        if isinstance(outcome, LimitRefusal):
            error = explain_refusal(outcome, currency)
            add_response_headers(headers_of_refusal(outcome, error))
            shared.observer.refuse(error.limit, error.code)
            shared.watch.record_refusal(outcome.standing, outcome.now, self._source.user, currency)
            raise error
        if outcome.hold is not None:
            shared.observer.hold(outcome.hold.amounts)
        for limit in shared.watch.warn(outcome.standings, outcome.now, currency):
            shared.observer.warn(limit)
        add_response_headers(headers_of(outcome.standings, outcome.now))
        return outcome

    def release(self) -> None:
        """Give the slots back. A second call has no effect."""
        slot, self._slot = self._slot, None
        if slot is not None or self._requests:
            self._settle(slot, self._usage_key("", self._source.agent), UsageCounts(requests=self._requests))
            self._requests = 0

    def give_back(self) -> None:
        """The run did not start: as if it had not been asked for."""
        counted = self._counted.counted if isinstance(self._counted, Admitted) else ()
        slot, self._slot, self._counted, self._requests = self._slot, None, None, 0
        if slot is not None or counted:
            self._settle(slot, self._usage_key("", self._source.agent), UsageCounts(), counted)

    async def flush(self) -> None:
        """Wait until everything that was settled is written, unless the store cannot be reached."""
        if self._last is not None and not self._metering.ledger.is_delayed:
            await self._last

    async def stream(
        self, model: Model, prompt: Prompt, agent: str | None, purpose: str, open_stream: OpenStream
    ) -> AsyncIterator[Chunk]:
        call = ModelCharge(self._metering.prices, model, prompt)
        source = self._source if agent is None else self._source._replace(agent=agent)
        usage = self._usage_key(call.model_key, source.agent, purpose)
        charges = self._charges(source, call)
        hold = await self._hold(charges, usage, call) if charges else None
        try:
            async with aclosing(open_stream(call.bounded_prompt if charges else prompt)) as chunks:
                async for chunk in chunks:
                    if (warning := call.read(chunk)) is not None and charges:
                        yield warning
                    yield chunk
            call.is_complete = True
        except (ModelError, CannotContinue):
            call.has_failed = True
            raise
        finally:
            counts = call.counts(is_reserved=hold is not None)
            self._settle(hold, usage, msgspec.structs.replace(counts, requests=self._count_request(purpose)))

    def _charges(self, source: AskSource, call: "ModelCharge") -> list[Charge]:
        rules = self._metering.limits.rules_for(source, CALL_KINDS)
        amounts = [(key, rule, call.tokens if rule.kind == "tokens" else call.cost) for key, rule in rules]
        return [Charge(key, rule, amount) for key, rule, amount in amounts]

    async def _hold(self, charges: list[Charge], usage: UsageKey, call: "ModelCharge") -> Hold | None:
        for charge in charges:
            if charge.amount > charge.rule.most:
                raise explain_too_large(charge, self._metering.prices.currency)
        wanted = Reserve(new_id("hold"), self._run_id, charges, usage, self._if_killed(usage, call))
        return (await self._reserve(wanted)).hold

    def _if_killed(self, usage: UsageKey, call: "ModelCharge") -> UsageCounts:
        """What another process counts for the call if this one dies."""
        requests = self._requests if usage.purpose == self._purpose else 0
        return msgspec.structs.replace(call.estimate(0), requests=requests)

    def _count_request(self, purpose: str) -> int:
        if purpose != "answer":
            return 0
        found, self._requests = self._requests, 0
        return found

    def _settle(
        self, hold: Hold | None, usage: UsageKey, counts: UsageCounts, refunds: Sequence[HeldAmount] = ()
    ) -> None:
        observer = self._metering.observer
        if hold is not None:
            observer.release(hold.amounts)
        if counts.cost:
            observer.spend(usage.agent, usage.model, self._metering.prices.currency, counts.cost / NANO)
        if hold is not None or refunds or counts != UsageCounts():
            self._last = self._metering.ledger.settle(Settle(hold, usage, counts, refunds))

    def _usage_key(self, model: str, agent: str, purpose: str = "answer") -> UsageKey:
        """A call for the answer of a run has the purpose of the run."""
        shown = self._purpose if purpose == "answer" else purpose
        return UsageKey(self._source.user, self._source.key, agent, model, shown)


class ModelCharge:
    """One model call: how much to reserve for it, and what it used."""

    def __init__(self, prices: Prices, model: Model, prompt: Prompt) -> None:
        self.model_key = str(getattr(model, MODEL_KEY, "") or model_name(model))
        self._price = prices.find(self.model_key, provider_name(model))
        self._size: PromptSize = measure_prompt(prompt)
        self._bound = output_bound(prompt, model)
        self._is_own_bound = prompt.parameters.max_tokens != self._bound
        self.tokens = self._size.reserved_tokens + self._bound
        self.cost = self._cost(self._size.reserved_tokens, 0, self._bound)
        self._prompt = prompt
        self._usage: UsageChunk | None = None
        self._output_bytes = 0
        self._has_content = False
        self.is_complete = False
        self.has_failed = False

    @property
    def bounded_prompt(self) -> Prompt:
        parameters = msgspec.structs.replace(self._prompt.parameters, max_tokens=self._bound)
        return msgspec.structs.replace(self._prompt, parameters=parameters)

    def read(self, chunk: Chunk) -> Chunk | None:
        """Returns a warning if the answer ended because of a bound that the ask did not have."""
        kind = type(chunk)
        if kind is TextChunk or kind is ReasoningChunk:
            self._has_content = True
            self._output_bytes += text_bytes(chunk.text)  # type: ignore[union-attr]  # isinstance takes longer
        elif kind is CallChunk:
            self._has_content = True
            self._output_bytes += text_bytes(chunk.arguments) + len(chunk.name)  # type: ignore[union-attr]
        elif isinstance(chunk, UsageChunk):
            self._usage = chunk
        elif isinstance(chunk, StopChunk) and chunk.reason == "length" and self._is_own_bound:
            text = (
                f"The answer was cut at {self._bound:,} tokens, because a budget applies. `max_tokens` sets the bound."
            )
            return NoteChunk("warning", text)
        return None

    def counts(self, *, is_reserved: bool) -> UsageCounts:
        if self._usage is not None:
            return self._reported(self._usage)
        if not self._has_content and self.has_failed:
            return UsageCounts()  # the provider refused, or failed before its first token
        found = self.estimate(self._output_bytes)
        if not is_reserved:
            return found
        return msgspec.structs.replace(
            found, estimated_tokens=min(found.estimated_tokens, self.tokens), cost=min(found.cost, self.cost)
        )

    def estimate(self, output_bytes: int) -> UsageCounts:
        output = -(-output_bytes // ESTIMATED_BYTES_PER_TOKEN)
        cost = self._cost(self._size.estimated_tokens, 0, output)
        return UsageCounts(estimated_tokens=self._size.estimated_tokens + output, cost=cost)

    def _reported(self, usage: UsageChunk) -> UsageCounts:
        cached = min(usage.cache_read_tokens, usage.input_tokens)
        return UsageCounts(
            input_tokens=usage.input_tokens,
            cached_tokens=cached,
            output_tokens=usage.output_tokens,
            cost=self._cost(usage.input_tokens - cached, cached, usage.output_tokens),
        )

    def _cost(self, fresh: int, cached: int, output: int) -> int:
        return cost_in_nanos(self._price, fresh, cached, output) if self._price else 0


def cost_in_nanos(price: Price, fresh: int, cached: int, output: int) -> int:
    cached_price = price.input if price.cached_input is None else price.cached_input
    return round((fresh * price.input + cached * cached_price + output * price.output) * (NANO // TOKENS_PER_PRICE))


def provider_name(model: Model) -> str:
    return str(getattr(getattr(model, "options", None), "model", ""))


def text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


METER: ContextVar[RunMeter | None] = ContextVar("rightseat_meter", default=None)


def stream_model(
    model: Model, prompt: Prompt, *, agent: str | None = None, purpose: str = "answer"
) -> AsyncIterator[Chunk]:
    """Call a model, metered if the run is. A model that is composed of others meters each of them instead."""
    meter = METER.get()
    if meter is None or getattr(model, "is_composed", False):
        return model.stream(prompt)
    return meter.stream(model, prompt, agent, purpose, model.stream)


def continue_model(
    model: SupportsContinuation, prompt: Prompt, partial: PartialOutput, *, agent: str | None = None
) -> AsyncIterator[Chunk]:
    """Like `stream_model`, for the rest of an interrupted response."""

    def open_stream(bounded: Prompt) -> AsyncIterator[Chunk]:
        return model.continue_stream(bounded, partial)

    meter = METER.get()
    if meter is None or not hasattr(model, "stream"):
        return open_stream(prompt)
    return meter.stream(cast(Model, model), prompt, agent, "answer", open_stream)
