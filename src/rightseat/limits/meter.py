"""Meters the model calls of a run: reserves before each call, sends the bound to the provider, and settles after it.

The meter is in the context of the run's task, which tasks that the run starts inherit. `metered_model` finds it there.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

import msgspec

from rightseat.concurrency import aclosing, set_context
from rightseat.core.ask import Ask
from rightseat.core.call_labels import LABELS, CallLabels
from rightseat.core.caller import Downgrade
from rightseat.core.errors import LimitExceeded, ModelError, RequestTooLarge, StoreUnreachable
from rightseat.core.ids import new_id
from rightseat.core.model import (
    CannotContinue,
    Chunk,
    Model,
    NoteChunk,
    Prompt,
)
from rightseat.limits.book import (
    Admitted,
    HeldAmount,
    Hold,
    LimitRefusal,
    Outcome,
    Reserve,
    Settle,
    UsageKey,
)
from rightseat.limits.estimate import weigh_message, weigh_messages, weigh_tool
from rightseat.limits.first_call import FirstCall
from rightseat.limits.kinds import NANO, REQUESTS, UsageCounts
from rightseat.limits.ledger import FIRST_RETRY_DELAY_S, MAX_RETRY_DELAY_S
from rightseat.limits.meter_context import OUTER_CALL, Metering, OuterCall
from rightseat.limits.model_charge import CountedCall, ModelCharge, key_of
from rightseat.limits.prices import Prices
from rightseat.limits.refusal import explain_refusal, explain_too_large, headers_of, headers_of_refusal
from rightseat.limits.response_headers import add_response_headers
from rightseat.limits.rules import (
    AskSource,
    Charge,
    CounterKey,
    DowngradePolicy,
    ExceedPolicy,
    LimitRule,
    suggestions_of,
)
from rightseat.turns import TURNS, take_turn

logger = logging.getLogger(__name__)

WEIGHT_BETWEEN_PAUSES = 20_000_000
"""A megabyte of text, which takes 4 ms to weigh."""
TAKE_OVER_TIMEOUT_S = 60.0  # as long as the run itself waits for the store
CUT_HEADER = "x-rightseat-warning"
DOWNGRADED_HEADER = "x-rightseat-downgraded"
ANSWER_PURPOSES = ("answer", "schema")
"""Calls for the answer of a run, which another model can make."""
REQUEST_PURPOSES = ("embeddings", "transcriptions", "conversations")
"""Requests that start no run."""
SUGGESTIONS = "suggestions"
T = TypeVar("T")
OpenStream = Callable[[Prompt], AsyncIterator[Chunk]]


class RunMeter:
    """Counts for one run. `is_new` is False for a run that another process began, whose request was counted there."""

    def __init__(self, metering: Metering, ask: Ask, *, is_new: bool = True) -> None:
        self._metering = metering
        self._source = AskSource(ask.principal.id, ask.caller.key, ask.caller.address, ask.agent)
        self._run_id = ask.run_id
        self._purpose = ask.purpose
        self._ask = ask
        self._weights: dict[int, int] = {}
        self.downgrade = ask.downgrade
        self._requests = 1 if is_new and ask.purpose in ("answer", *REQUEST_PURPOSES) else 0  # not counted yet
        self._slot: Hold | None = None
        self._counted: Outcome | None = None
        self._first = FirstCall(ask.agent, metering.first_calls)
        self._last: asyncio.Future[Outcome] | None = None

    async def admit(self, model: Model | None = None, continues: str = "") -> None:
        """Count the ask for every limit, or raise a `LimitExceeded`. A budget that is used up refuses it as well.

        It waits where a limit has a queue. `model` is that of the agent; without one, nothing can be downgraded.
        `continues` is the run whose question the ask answers, which the caller has found to be open.
        """
        rules = list(self._metering.limits.rules_for(self._source))
        if rules and model is not None:
            await self._weigh_ask()
        charges = [self._ask_charge(key, rule, model) for key, rule in rules]
        if self._purpose in REQUEST_PURPOSES:
            charges = [charge for charge in charges if not charge.rule.kind.is_slot]
        elif self._purpose == SUGGESTIONS:
            charges = [include_suggestion(charge) if charge.rule.kind is REQUESTS else charge for charge in charges]
        if charges:
            call = self._expect_call(model) if model is not None else None
            await self._take(charges, call=call, continues=continues)

    async def _weigh_ask(self) -> None:
        """Other tasks have their turn after each part of a large ask."""
        await add_weights(self._weights, self._ask.messages, weigh_message)

    async def _weigh_large(self, prompt: Prompt) -> Mapping[int, int]:
        """The weights of the messages of the ask; of a large one also those of the other messages and the tools."""
        if TURNS.get() is None:
            return self._weights
        weights = dict(self._weights)  # a copy: the tools of this prompt may be gone before the run ends
        await take_turn()
        await add_weights(weights, prompt.messages, weigh_message)
        await add_weights(weights, prompt.tools, weigh_tool)
        return weights

    def _expect_call(self, model: Model) -> Reserve | None:
        """The first call, if its size can be predicted. An ask that answers a question calls tools before the model."""
        if self._purpose != "answer" or self._ask.answers or self.downgrade is not None:
            return None
        added = self._metering.first_calls.find(self._source.agent)
        call = self._charge_ask(model, added or 0)
        self._first.expect(call)
        charges = self._charges(self._source, call, None)
        if added is None or not charges:
            return None
        usage = self._usage_key(call.model_key, self._source.agent)
        return Reserve(new_id("hold"), self._run_id, charges, usage, self._if_killed(usage, call))

    def _charge_ask(self, model: Model, added_weight: int = 0) -> ModelCharge:
        """A call with the messages of the ask, and with what the agent adds to them."""
        prompt = Prompt(self._ask.messages, (), self._ask.parameters)
        self._weights = self._weights or weigh_messages(self._ask.messages)
        return ModelCharge(self._metering.prices, self._metering.reserve, model, prompt, added_weight, self._weights)

    def _ask_charge(self, key: CounterKey, rule: LimitRule, model: Model | None) -> Charge:
        """A budget that downgrades must have room for the first call: other asks may never use its last tokens."""
        policy = self._metering.limits.find_policy(key.limit)
        if not isinstance(policy, DowngradePolicy):
            return Charge(key, rule, rule.kind.of_ask, policy=policy)
        if model is None or not self._can_downgrade(policy, model):
            return Charge(key, rule, rule.kind.of_ask)
        needed = rule.kind.of_call(self._charge_ask(model).reserved) if rule.kind.counts_calls else 0
        return Charge(key, rule, rule.kind.of_ask, needed, policy)

    def _can_downgrade(self, policy: DowngradePolicy, model: Model) -> bool:
        """A run that has another model keeps it; further limits then have no effect on the model."""
        return policy.model in self._metering.models and (self.downgrade is not None or policy.model != key_of(model))

    async def take_over(self) -> None:
        """Take the slots of a run that was admitted by another process, whether or not they are free.

        Retries while the store is unreachable: otherwise the slots would stay with the process that found the run.
        """
        rules = self._metering.limits.rules_for(self._source)
        charges = [Charge(key, rule, rule.kind.of_ask) for key, rule in rules if rule.kind.is_slot]
        pause = FIRST_RETRY_DELAY_S
        until = asyncio.get_running_loop().time() + TAKE_OVER_TIMEOUT_S
        while charges:
            try:
                return await self._take(charges, is_forced=True)
            except StoreUnreachable as error:
                logger.warning("run %s: its slot cannot be taken over yet: %s", self._run_id, error)
            if asyncio.get_running_loop().time() > until:
                return  # the run goes on: it was admitted
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_DELAY_S)

    async def _take(
        self, charges: list[Charge], *, is_forced: bool = False, call: Reserve | None = None, continues: str = ""
    ) -> None:
        usage = self._usage_key("", self._source.agent)
        id = f"{self._run_id}:slot"
        wanted = Reserve(id, self._run_id, charges, usage, is_forced=is_forced, continues=continues, call=call)
        admitted = await self._reserve(wanted)
        self._slot, self._counted = admitted.hold, admitted
        if self._purpose == SUGGESTIONS and {one.key for one in admitted.counted} & {charge.key for charge in charges}:
            self._requests = 1  # one that comes with no counted request
        self._first.hold(admitted)
        if admitted.downgrade:
            self._switch_model(admitted.downgrade)

    def _switch_model(self, downgrade: Downgrade) -> None:
        """Another model answers from now on."""
        if self.downgrade is None:
            self._metering.observer.downgrade(downgrade.limit)
            add_response_headers({DOWNGRADED_HEADER: downgrade.limit})
        self.downgrade = downgrade.after(self.downgrade)

    def select(self, model: Model) -> Model:
        """The model that calls for the answer of this run use."""
        return model if self.downgrade is None else self._metering.models.get(self.downgrade.model, model)

    async def _reserve(self, wanted: Reserve) -> Admitted:
        shared, currency = self._metering, self._metering.prices.currency
        outcome = await shared.queue.admit(wanted)
        if isinstance(outcome, LimitRefusal):
            error = explain_refusal(outcome, currency)
            add_response_headers(headers_of_refusal(outcome, error))
            shared.observer.refuse(error.limit, error.code)
            shared.watch.record_refusal(outcome.standing, outcome.now, self._source.user, currency)
            raise error
        for one in (outcome, outcome.call):
            if one is not None:
                self._report(one)
        return outcome

    def _report(self, admitted: Admitted) -> None:
        shared = self._metering
        if admitted.hold is not None:
            shared.observer.hold(admitted.hold.amounts)
        shared.watch.warn(admitted.standings, admitted.now, shared.prices.currency)
        add_response_headers(headers_of(admitted.standings, admitted.now))

    def release(self) -> None:
        """Give the slots back. A second call has no effect."""
        slot, self._slot = self._slot, None
        if self._first.reserved is not None:
            self._metering.first_calls.forget(self._source.agent)
            self._drop_call()
        if slot is not None or self._requests:
            self._settle(slot, self._usage_key("", self._source.agent), UsageCounts(requests=self._requests))
            self._requests = 0
        self._free_ask()

    def give_back(self) -> None:
        """The run did not start: as if it had not been asked for."""
        counted = self._counted.counted if isinstance(self._counted, Admitted) else ()
        slot, self._slot, self._counted, self._requests = self._slot, None, None, 0
        self._drop_call()
        if slot is not None or counted:
            self._settle(slot, self._usage_key("", self._source.agent), UsageCounts(), counted)
        self._free_ask()

    def _free_ask(self) -> None:
        """The run has ended. Pooled connections that it opened keep its context, and with it this meter."""
        self._ask = msgspec.structs.replace(self._ask, messages=())
        self._weights = {}

    def _drop_call(self) -> None:
        """Give back the reservation of a call that was not made."""
        if (call := self._first.take()) is not None:
            self._settle(call.hold, self._usage_key("", self._source.agent), UsageCounts())

    @property
    def prices(self) -> Prices:
        return self._metering.prices

    @property
    def has_slot(self) -> bool:
        """Whether the store holds a slot for the run."""
        return self._slot is not None

    @property
    def may_have_lost_slot(self) -> bool:
        """Whether so much time has passed since the admission that another process may have given the slot back."""
        return self._slot is not None and self._first.is_late

    async def flush(self) -> None:
        """Wait until everything that was settled is written, unless the store cannot be reached."""
        if self._last is not None and not self._metering.ledger.is_delayed:
            await self._last

    async def stream(
        self,
        model: Model,
        prompt: Prompt,
        labels: CallLabels,
        outer: OuterCall,
        open_stream: OpenStream,
        nested: Sequence[UsageCounts] = (),
    ) -> AsyncIterator[Chunk]:
        """Count one call. The metered model that calls this has chosen the model and what is counted.

        `nested` fills while the stream is read: calls of other models, which are counted for themselves.
        """
        agent, purpose = labels.agent, labels.purpose
        weights = await self._weigh_large(prompt)
        call = ModelCharge(self._metering.prices, self._metering.reserve, model, prompt, weights=weights)
        source = self._source if agent is None else self._source._replace(agent=agent)
        usage = self._usage_key(call.model_key, source.agent, purpose)
        charges = self._charges(source, call, model if purpose in ANSWER_PURPOSES else None)
        self._first.learn(call, is_answer=purpose == "answer" and source == self._source)
        admitted = await self._hold(charges, usage, call) if charges else None
        hold = admitted.hold if admitted else None
        if admitted and admitted.downgrade:
            self._settle(hold, usage, UsageCounts())
            self._switch_model(admitted.downgrade)
            other, limit = self.select(model), admitted.downgrade.limit
            if other is not model:
                yield NoteChunk("warning", f"The limit {limit!r} is reached, so the model {key_of(other)!r} responds.")
            with set_context((LABELS, labels), (OUTER_CALL, outer._replace(is_selected=True))):
                others = other.stream(prompt)
            async with aclosing(others) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        try:
            async with aclosing(open_stream(call.bounded_prompt if charges else prompt)) as chunks:
                async for chunk in chunks:
                    if (warning := call.read(chunk)) is not None and charges:
                        add_response_headers({CUT_HEADER: warning})  # unless the response has begun
                        yield NoteChunk("warning", warning)
                    yield chunk
            call.is_complete = True
        except (ModelError, CannotContinue, LimitExceeded):  # a model of this model may be refused
            call.has_failed = True
            raise
        finally:
            counts = call.counts(is_reserved=hold is not None)
            if outer.nested is not None:
                outer.nested.append(counts)
            for run in nested:
                counts = counts.without(run)
            self._settle(hold, usage, msgspec.structs.replace(counts, requests=self._count_request(purpose)))

    @asynccontextmanager
    async def reserve(self, call: CountedCall, purpose: str) -> AsyncIterator[None]:
        """Count a call that is made in this block. One that fails costs nothing."""
        usage = self._usage_key(call.model_key, self._source.agent, purpose)
        charges = self._charges(self._source, call, None)
        admitted = await self._hold(charges, usage, call) if charges else None
        hold = admitted.hold if admitted else None
        try:
            yield
        except Exception:
            call.has_failed = True
            raise
        finally:
            counts = call.counts(is_reserved=hold is not None)
            self._settle(hold, usage, msgspec.structs.replace(counts, requests=self._count_request(purpose)))

    def _charges(self, source: AskSource, call: CountedCall, model: Model | None) -> list[Charge]:
        """Only a call for the answer can be downgraded, which has a `model`. No call waits in a queue."""
        ignored = self.downgrade.limits if self.downgrade else ()
        return [
            Charge(key, rule, rule.kind.of_call(call.reserved), policy=self._call_policy(key, model))
            for key, rule in self._metering.limits.rules_for(source)
            if rule.kind.counts_calls and key.limit not in ignored
        ]

    def _call_policy(self, key: CounterKey, model: Model | None) -> ExceedPolicy:
        policy = self._metering.limits.find_policy(key.limit)
        is_usable = model is not None and isinstance(policy, DowngradePolicy) and self._can_downgrade(policy, model)
        return policy if is_usable else None

    async def _hold(self, charges: list[Charge], usage: UsageKey, call: CountedCall) -> Admitted:
        for charge in charges:
            if charge.amount > charge.rule.most and charge.policy is None:
                raise self._refuse_too_large(charge, usage)
        if (first := self._first.use(charges)) is not None:
            return first
        self._drop_call()  # in the transaction of the reservation
        wanted = Reserve(new_id("hold"), self._run_id, charges, usage, self._if_killed(usage, call))
        return await self._reserve(wanted)

    def _refuse_too_large(self, charge: Charge, usage: UsageKey) -> RequestTooLarge:
        """No transaction is needed to refuse it, so it is counted like a settlement."""
        error = explain_too_large(charge, self._metering.prices.currency)
        add_response_headers({"x-rightseat-limit": error.limit})
        self._metering.observer.refuse(error.limit, error.code)
        self._settle(None, usage, UsageCounts(refused=1))
        return error

    def _if_killed(self, usage: UsageKey, call: CountedCall) -> UsageCounts:
        """What another process counts for the call if this one dies."""
        requests = self._requests if usage.purpose == self._purpose else 0
        return msgspec.structs.replace(call.estimate(0), requests=requests)

    def _count_request(self, purpose: str) -> int:
        if purpose not in ("answer", self._purpose):
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
            self._last.add_done_callback(self._metering.queue.notify)

    def _usage_key(self, model: str, agent: str, purpose: str = "answer") -> UsageKey:
        """A call for the answer of a run has the purpose of the run."""
        shown = self._purpose if purpose == "answer" else purpose
        return UsageKey(self._source.user, self._source.key, agent, model, shown)


def include_suggestion(charge: Charge) -> Charge:
    return msgspec.structs.replace(charge, suggestions=suggestions_of(charge.key))


async def add_weights(weights: dict[int, int], items: Sequence[T], weigh: Callable[[T], int]) -> None:
    """Weigh what is not known yet, in pieces."""
    unpaused = 0
    for item in items:
        if id(item) in weights:
            continue
        weights[id(item)] = weight = weigh(item)
        unpaused += weight
        if unpaused > WEIGHT_BETWEEN_PAUSES:
            unpaused = 0
            await asyncio.sleep(0)
            await take_turn()


class CallMeter(Protocol):
    """Counts the model calls of its context: `RunMeter`, or that of an evaluation."""

    downgrade: Downgrade | None
    """Set if a limit makes another model answer."""

    @property
    def prices(self) -> Prices: ...

    def select(self, model: Model) -> Model:
        """The model that calls for the answer use."""
        ...

    def stream(
        self,
        model: Model,
        prompt: Prompt,
        labels: CallLabels,
        outer: OuterCall,
        open_stream: OpenStream,
        nested: Sequence[UsageCounts] = (),
    ) -> AsyncIterator[Chunk]: ...

    def reserve(self, call: CountedCall, purpose: str) -> AbstractAsyncContextManager[None]: ...


METER: ContextVar[CallMeter | None] = ContextVar("rightseat_meter", default=None)
