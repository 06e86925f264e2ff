"""Timers that many streams share."""

import asyncio
from contextvars import ContextVar

from rightseat.shared_timers import SharedTimers

STREAM: ContextVar[str] = ContextVar("stream", default="none")


class Clock:
    def __init__(self) -> None:
        self.called_at: list[float] = []
        self.streams: list[str] = []
        self.called = asyncio.Event()

    def on_time(self) -> None:
        self.called_at.append(asyncio.get_running_loop().time())
        self.streams.append(STREAM.get())
        self.called.set()


async def test_an_object_is_called_once_and_not_early() -> None:
    timers, clock = SharedTimers(), Clock()
    STREAM.set("the first")
    began = asyncio.get_running_loop().time()

    timers.add(clock, 0.05)
    async with asyncio.timeout(60):
        await clock.called.wait()

    assert clock.called_at[0] >= began + 0.05
    assert clock.streams == ["none"]


async def test_an_object_that_is_discarded_is_not_called() -> None:
    timers, discarded, kept = SharedTimers(), Clock(), Clock()
    timers.add(discarded, 0.05).discard(discarded)

    timers.add(kept, 0.1)
    async with asyncio.timeout(60):
        await kept.called.wait()

    assert discarded.called_at == []
    assert len(kept.called_at) == 1


class FailingClock(Clock):
    def on_time(self) -> None:
        super().on_time()
        raise ValueError("too late")


async def test_an_object_that_fails_is_reported_and_keeps_no_other_from_being_called() -> None:
    timers, clocks = SharedTimers(), [FailingClock() for _ in range(3)]
    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    groups = {id(timers.add(clock, 0.05)) for clock in clocks}
    async with asyncio.timeout(60):
        for clock in clocks:
            await clock.called.wait()

    assert len(groups) <= 2
    assert [one["message"] for one in reported] == ["FailingClock.on_time() failed"] * 3


async def test_objects_of_nearly_the_same_time_share_a_timer() -> None:
    timers = SharedTimers()

    groups = {id(timers.add(Clock(), 300.0)) for _ in range(1000)}

    assert len(groups) <= 2


def test_timers_can_be_used_in_one_loop_after_another() -> None:
    timers = SharedTimers()

    async def wait() -> list[float]:
        clock = Clock()
        timers.add(clock, 0.01)
        async with asyncio.timeout(60):
            await clock.called.wait()
        return clock.called_at

    assert len(asyncio.run(wait())) == 1
    assert len(asyncio.run(wait())) == 1
