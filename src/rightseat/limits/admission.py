"""Decides whether an ask may start now, for every face, before anything is claimed or stored for the run.

1. The number of concurrent runs per user, counted in this process.
2. The configured limits, counted in the store (`limits.meter`). An ask may wait here for one of them.

An ask is admitted once; a durable run that this process takes over was admitted by the process that started it, so it
is counted here and never refused. A run that waits for a person has ended, so it holds no slot.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import msgspec

from rightseat.concurrency import run_to_completion
from rightseat.core.ask import ANYONE, Ask, Principal
from rightseat.core.caller import CALLER
from rightseat.core.errors import ConcurrencyLimitExceeded
from rightseat.core.model import Model
from rightseat.limits.meter import METER, RunMeter
from rightseat.limits.meter_context import Metering
from rightseat.limits.sent_prompts import PROMPT_RECORDER, PromptRecorder, RecordPrompts

MAX_CONCURRENT_RUNS_PER_USER = 64


class LimitSlot:
    """A `RunSlot` that counts for the limits."""

    __slots__ = ("_release", "meter", "prompt_recorder")

    def __init__(self, release: Callable[[], None] | None = None, meter: RunMeter | None = None) -> None:
        self._release = release
        self.meter = meter
        """None if nothing of the run is counted in the store."""
        self.prompt_recorder: PromptRecorder | None = None

    def mark(self, ask: Ask) -> Ask:
        downgrade = self.meter.downgrade if self.meter is not None else None
        return ask if ask.downgrade == downgrade else msgspec.structs.replace(ask, downgrade=downgrade)

    def needs_check(self, ask: Ask) -> bool:
        """A transient run is stored nowhere, so it looks only if this process may have been taken for dead."""
        if self.meter is None:
            return False
        return self.meter.may_have_lost_slot if ask.transient else self.meter.has_slot

    def activate(self) -> None:
        METER.set(self.meter)
        PROMPT_RECORDER.set(self.prompt_recorder)

    def release(self) -> None:
        self._release_local()
        if self.meter is not None:
            self.meter.release()

    async def close(self) -> None:
        self.release()
        if self.meter is not None:
            await run_to_completion(self.meter.flush())

    def give_back(self) -> None:
        self._release_local()
        if self.meter is not None:
            self.meter.give_back()

    def _release_local(self) -> None:
        if self._release is not None:
            release, self._release = self._release, None
            release()


class LimitedAdmission:
    """Counts in this process and, with `metering`, in the store.

    `max_concurrent_runs_per_user` applies to authenticated users; None and 0 mean no limit. `record_prompts` finds what
    records the model calls of a run.
    """

    def __init__(
        self,
        max_concurrent_runs_per_user: int | None = MAX_CONCURRENT_RUNS_PER_USER,
        metering: Metering | None = None,
        record_prompts: RecordPrompts | None = None,
    ) -> None:
        self._record_prompts = record_prompts
        self._max_runs = max_concurrent_runs_per_user or None
        self._running: Counter[str] = Counter()
        self.metering = metering

    def identify(self, ask: Ask) -> Ask:
        caller = CALLER.get()
        if self.metering is None or ask.caller == caller:
            return ask
        return msgspec.structs.replace(ask, caller=caller)

    @property
    def has_queues(self) -> bool:
        return self.metering is not None and self.metering.limits.has_queues

    def open(self) -> None:
        if self.metering is not None:
            self.metering.queue.open()

    def close(self) -> None:
        if self.metering is not None:
            self.metering.queue.close()

    async def admit(self, ask: Ask, model: Model | None = None, continues: str = "") -> LimitSlot:
        self._check_local(ask)
        if self.metering is None:
            return self._take_slot(ask)
        meter = RunMeter(self.metering, self.identify(ask))
        await meter.admit(model, continues)
        try:
            self._check_local(ask)  # an ask that waits holds no slot, so others may have taken all meanwhile
        except ConcurrencyLimitExceeded:
            meter.give_back()
            raise
        slot = self._take_slot(ask)
        slot.meter = meter
        return slot

    @asynccontextmanager
    async def admit_request(self, principal: Principal, agent: str, purpose: str) -> AsyncIterator[None]:
        if self.metering is None:
            yield
            return
        ask = Ask(messages=(), agent=agent, principal=principal, purpose=purpose)
        meter = RunMeter(self.metering, self.identify(ask))
        await meter.admit()
        token = METER.set(meter)
        try:
            yield
        finally:
            METER.reset(token)
            await LimitSlot(meter=meter).close()

    @contextmanager
    def meter_calls(self, principal: Principal, purpose: str) -> Iterator[None]:
        if self.metering is None:
            yield
            return
        ask = Ask(messages=(), agent="", principal=principal, purpose=purpose)
        token = METER.set(RunMeter(self.metering, self.identify(ask)))
        try:
            yield
        finally:
            METER.reset(token)

    def _check_local(self, ask: Ask) -> None:
        if self._max_runs is not None and is_limited(ask) and self._running[ask.principal.id] >= self._max_runs:
            raise ConcurrencyLimitExceeded(
                f"The limit of {self._max_runs:,} concurrent runs per user is reached. Wait until one of your runs "
                "ends, or stop one. The operator sets it with `server.max_concurrent_runs_per_user`."
            )

    async def take(self, ask: Ask) -> LimitSlot:
        slot = self._take_slot(ask)
        if self.metering is not None:
            slot.meter = RunMeter(self.metering, ask, is_new=False)
            await slot.meter.take_over()
        return slot

    def _take_slot(self, ask: Ask) -> LimitSlot:
        slot = self._take_local(ask)
        if self._record_prompts is not None:
            slot.prompt_recorder = self._record_prompts(ask)
        return slot

    def _take_local(self, ask: Ask) -> LimitSlot:
        if self._max_runs is None or not is_limited(ask):
            return LimitSlot()
        user = ask.principal.id
        self._running[user] += 1
        return LimitSlot(lambda: self._release(user))

    def running(self, user: str) -> int:
        return self._running.get(user, 0)

    def _release(self, user: str) -> None:
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]  # otherwise every user would stay in the counter


def is_limited(ask: Ask) -> bool:
    """Whether the limit applies. Unauthenticated clients share one user, so a limit would apply to all of them."""
    return ask.principal.id != ANYONE.id
