"""One process: admission, metering and the store are real; a run is some model calls in a row."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask, Parameters
from rightseat.core.engine import Steps
from rightseat.core.errors import ModelError, RightseatError
from rightseat.core.events import RunFinished
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.core.run.durable import reclaim_run, retry_store
from rightseat.limits.admission import LimitedAdmission, LimitSlot
from rightseat.limits.estimate import measure_prompt
from rightseat.limits.first_call import is_fitting
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter import RunMeter
from rightseat.limits.meter_context import Metering
from rightseat.limits.metered_model import CallCounter, meter_model
from rightseat.limits.model_charge import ModelCharge
from rightseat.limits.prices import Prices
from rightseat.limits.rules import Limits
from rightseat.stores.sql import SqlThreads
from tests.simulation.clock import Clock, Loop
from tests.simulation.database import LEASE
from tests.simulation.engine import PlayedEngine
from tests.simulation.limits.counted_database import CountedConnection, CountedDatabase
from tests.simulation.limits.flaws import OpenLimits, without_flaw
from tests.simulation.limits.provider import MAX_TOKENS, PROMPT, Provider, ProviderModel
from tests.simulation.network import Link

CALLS = 2  # of the model, in each run
ASK_WEIGHT = measure_prompt(Prompt((user("Hi"),))).weight


@dataclass(frozen=True, slots=True)
class Fleet:
    """What all processes share."""

    database: CountedDatabase
    provider: Provider
    limits: Limits
    open_limits: OpenLimits = without_flaw


class MeteredReplica:
    def __init__(self, clock: Clock, fleet: Fleet) -> None:
        self.loop = Loop(clock)
        self.process = clock.count()
        self.link = Link(self.loop, fleet.database)
        self.is_ready = False
        self.runs: set[str] = set()
        """Runs that are executed here."""
        self._fleet = fleet
        self._slots: dict[str, LimitSlot] = {}  # of runs that were admitted and not performed yet
        self._models: dict[str, ProviderModel] = {}  # of the first calls of these runs
        database = CountedConnection(fleet.database, self.link, self.process)
        self._engine = PlayedEngine(self.loop, database)
        self._threads = SqlThreads(database)
        store = fleet.open_limits(self._threads, database)
        metering = Metering(fleet.limits, Ledger(store), Prices())
        metering.first_calls.record("default", measure_prompt(PROMPT).weight - ASK_WEIGHT)
        self._admission = LimitedAdmission(None, metering)
        self._opening = self.loop.create_task(self._open())

    def failures(self) -> list[str]:
        return self.loop.failures + self._engine.failures

    async def _open(self) -> None:
        while not self.is_ready:
            try:
                await self._threads.__aenter__()
                await self._engine.open(self._perform)
                self.is_ready = True
            except (RightseatError, OSError):
                await asyncio.sleep(1.0)  # of simulated time; then it is started again
        while True:
            await asyncio.sleep(1.0)  # of simulated time, as `reap_every`
            try:
                if orphans := await self._threads.orphans():
                    await self._engine.resume(orphans)
            except (RightseatError, OSError):
                continue

    def accept(self, ask: Ask, seconds: float, pause: Callable[[], None] | None = None) -> None:
        """The client of a transient run disconnects after these seconds. `pause` is called once the ask is admitted."""
        task = self.loop.create_task(self._serve(ask, pause))
        if ask.transient:
            self.loop.call_later(seconds, task.cancel)

    async def _serve(self, ask: Ask, pause: Callable[[], None] | None) -> None:
        """As `Runtime.start` and `RunExecutor` do."""
        model = self._models[ask.run_id] = self._fleet.provider.call()
        try:
            self._slots[ask.run_id] = await self._admission.admit(ask, model)
        except RightseatError:
            return  # refused, or the store could not be reached
        is_ours = False
        try:
            is_ours = await self._start(ask, self._slots[ask.run_id].meter, pause)
        except (RightseatError, OSError):
            pass  # not started
        finally:
            if not is_ours and (slot := self._slots.pop(ask.run_id, None)):
                slot.give_back()
        if is_ours and ask.transient:
            await self._perform(ask, None)

    async def _start(self, ask: Ask, meter: RunMeter | None, pause: Callable[[], None] | None) -> bool:
        """Whether the run is executed here."""
        if pause is not None:
            pause()
            await asyncio.sleep(0)  # until the process continues
        asked, is_late = self.loop.time(), meter is not None and meter.may_have_lost_slot
        await self._threads.claim(ask, needs_slot=is_late or not ask.transient)
        if ask.transient and self.loop.time() < asked + LEASE / 2:  # the process did not stand still once more
            self._check_start(ask)
        return ask.transient or await self._engine.start(ask, self._perform)

    async def _perform(self, ask: Ask, steps: Steps | None) -> None:
        self.runs.add(ask.run_id)
        try:
            await self._execute(ask, steps)
        finally:
            self.runs.discard(ask.run_id)

    async def _execute(self, ask: Ask, steps: Steps | None) -> None:
        slot = self._slots.pop(ask.run_id, None)
        is_new = slot is not None
        if slot is None:
            self._fleet.database.taken_over.add(ask.run_id)
            slot = await self._admission.take(ask)
        slot.activate()
        held = slot
        if task := asyncio.current_task():
            task.add_done_callback(lambda _: held.release())
        if not is_new and await reclaim_run(self._threads, ask) is None:
            return  # it has ended
        try:
            for number in range(CALLS):
                first = self._models.pop(ask.run_id, None) if is_new else None
                call = partial(self._call, first or self._fleet.provider.call(), slot if first else None)
                await (steps.do(f"call:{number}", int, call) if steps else call())
        except (ModelError, RightseatError):
            pass
        self._check_slot(ask, slot)
        await slot.close()
        if not ask.transient:
            await retry_store(ask, lambda: self._threads.finish(ask, (), None, RunFinished("done")))

    async def _call(self, model: ProviderModel, slot: LimitSlot | None) -> int:
        """The first call of a run that was admitted here has the run's `slot`."""
        prompt = Prompt(PROMPT.messages, parameters=Parameters(max_tokens=MAX_TOKENS))
        if slot is not None and slot.meter is not None:
            self._note_repeated(model, prompt, slot.meter)
        chunks = 0
        async with aclosing(meter_model(model, CallCounter()).stream(prompt)) as stream:
            async for _ in stream:
                chunks += 1
        return chunks

    def _note_repeated(self, model: ProviderModel, prompt: Prompt, meter: RunMeter) -> None:
        """A process that was taken for dead between an admission and its first call may reserve the call once more."""
        if (call := meter._first.reserved) is None or call.hold is None:
            return
        charges = meter._charges(meter._source, ModelCharge(Prices(), {}, model, prompt), model)
        if meter._first.is_late or not is_fitting(call.hold, charges):
            self._fleet.database.note_repeated(call.hold.id, model.record)

    def _check_start(self, ask: Ask) -> None:
        """A run whose process stood still after its admission starts only with its slot."""
        database = self._fleet.database
        if not any(hold.id == f"{ask.run_id}:slot" for hold in database.holds):
            database.problems.append(f"run {ask.run_id} starts without its slot in process {self.process}")

    def _check_slot(self, ask: Ask, slot: LimitSlot) -> None:
        """A run that is executed here holds its slot until its end, unless this process was taken for dead."""
        database = self._fleet.database
        if slot.meter is None or slot.meter._slot is None:
            return  # it was taken over while the store could not be reached
        is_owner = self.process not in database.reaped
        if not ask.transient:  # the process that claimed it last; an earlier one may not know yet that it is fenced
            row = database.driver.execute("SELECT process_id, outcome FROM runs WHERE id = ?", (ask.run_id,)).fetchone()
            is_owner = row == (self.process, None)
        if is_owner and not any(hold.id == f"{ask.run_id}:slot" for hold in database.holds):
            database.problems.append(f"run {ask.run_id} has lost its slot while it runs in process {self.process}")
