"""How many runs a user may have at once, however they end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from rightseat.core.ask import ANYONE, Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import ConcurrencyLimitExceeded, ModelUnreachable, RightseatError, ThreadBusy
from rightseat.core.events import Event, RunFinished
from rightseat.core.hooks import Hooks
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.limits.admission import LimitedAdmission
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads

ANNA, BERT = Principal("anna"), Principal("bert")


class Agent:
    """Waits until it is let go, and then does what it is told."""

    description = ""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.running = 0
        self.most = 0
        self.end: Callable[[], Event | None] = lambda: None

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
            if event := self.end():
                yield event
        finally:
            self.running -= 1


def runtime_of(agent: Agent, limit: int | None, hooks: Hooks | None = None) -> Runtime:
    parts = {"log": MemoryLog(), "threads": MemoryThreads(), "engine": LocalEngine()}
    return Runtime({"default": agent}, admission=LimitedAdmission(limit), hooks=hooks, **parts)  # type: ignore[arg-type]


def count_running(runtime: Runtime, user: str) -> int:
    assert isinstance(runtime.admission, LimitedAdmission)
    return runtime.admission.running(user)


def ask(principal: Principal = ANNA, *, transient: bool = True, thread: str | None = None) -> Ask:
    asked = Ask(messages=(user("Hi"),), principal=principal, transient=transient)
    return asked if thread is None else Ask(messages=(user("Hi"),), principal=principal, thread_id=thread)


async def ended(runtime: Runtime, run_id: str) -> Event:
    async with asyncio.timeout(30), aclosing(runtime.follow(run_id)) as batches:
        return [entry.event async for entries in batches for entry in entries][-1]


async def test_a_user_has_at_most_as_many_runs_at_once_as_allowed() -> None:
    agent = Agent()
    runtime = runtime_of(agent, 3)

    begun = await asyncio.gather(*(runtime.start(ask()) for _ in range(20)), return_exceptions=True)

    started = [one for one in begun if isinstance(one, Ask)]
    assert len(started) == 3
    assert sum(isinstance(one, ConcurrencyLimitExceeded) for one in begun) == 17
    agent.go.set()
    for one in started:
        await ended(runtime, one.run_id)
    assert agent.most == 3


async def test_another_user_is_not_held_up() -> None:
    runtime = runtime_of(Agent(), 1)
    await runtime.start(ask(ANNA))

    await runtime.start(ask(BERT))
    with pytest.raises(ConcurrencyLimitExceeded, match="limit of 1 concurrent runs"):
        await runtime.start(ask(Principal("anna", ("default",))))  # by another key of hers
    await runtime.close()


@pytest.mark.parametrize("limit", [None, 0])
async def test_without_a_limit_all_are_admitted(limit: int | None) -> None:
    runtime = runtime_of(Agent(), limit)

    for _ in range(100):
        await runtime.start(ask())
    await runtime.close()


async def test_those_without_a_credential_have_no_limit() -> None:
    runtime = runtime_of(Agent(), 1)

    for _ in range(10):
        await runtime.start(ask(ANYONE))
    await runtime.close()


def fail() -> Event:
    raise ModelUnreachable("gone")


def break_down() -> Event:
    raise RuntimeError("unexpected")


@pytest.mark.parametrize("transient", [True, False])
@pytest.mark.parametrize("end", [lambda: None, lambda: RunFinished("waiting"), fail, break_down])
async def test_a_slot_is_free_once_its_run_has_ended_in_whatever_way(
    end: Callable[[], Event | None], transient: bool
) -> None:
    agent = Agent()
    agent.end = end
    agent.go.set()
    runtime = runtime_of(agent, 1)

    for _ in range(5):
        begun = await runtime.start(ask(transient=transient))
        await ended(runtime, begun.run_id)

    assert count_running(runtime, "anna") == 0


async def test_a_run_that_is_cancelled_frees_its_slot() -> None:
    runtime = runtime_of(Agent(), 1)
    for _ in range(5):
        begun = await runtime.start(ask())
        await runtime.cancel(begun.run_id)

    assert count_running(runtime, "anna") == 0


async def test_an_ask_that_does_not_begin_holds_no_slot() -> None:
    agent = Agent()
    runtime = runtime_of(agent, 2)
    await runtime.start(ask(thread="t"))

    for _ in range(5):
        with pytest.raises(ThreadBusy):
            await runtime.start(ask(thread="t"))

    assert count_running(runtime, "anna") == 1
    await runtime.close()


async def test_an_ask_that_is_refused_leaves_no_thread_and_no_run() -> None:
    runtime = runtime_of(Agent(), 1)
    await runtime.start(ask())

    with pytest.raises(ConcurrencyLimitExceeded):
        await runtime.start(ask(thread="t"))

    assert await runtime.thread("t", ANNA) is None
    await runtime.close()


async def test_what_a_hook_refuses_was_never_admitted() -> None:
    async def refuse(asked: Ask) -> Ask | None:
        raise RightseatError("no")

    runtime = runtime_of(Agent(), 1, Hooks(before_request=[refuse]))
    with pytest.raises(RightseatError, match="no"):
        await runtime.start(ask())

    assert count_running(runtime, "anna") == 0


async def test_a_run_that_was_admitted_elsewhere_is_counted_and_never_refused() -> None:
    admission = LimitedAdmission(1)

    slots = [await admission.take(ask()), await admission.take(ask())]

    assert admission.running("anna") == 2
    with pytest.raises(ConcurrencyLimitExceeded):
        await admission.admit(ask())
    for slot in (*slots, *slots):
        slot.release()
    assert admission.running("anna") == 0
