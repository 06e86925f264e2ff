"""Time that only passes when nobody has anything left to do, and event loops that live in it.

Each process has a loop of its own. One that is paused takes no step, though time goes on for it, as after SIGSTOP; one
that is killed takes none any more.
"""

import asyncio
import heapq
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


async def pass_time(random: Random, least_s: float, most_s: float) -> None:
    await asyncio.sleep(random.uniform(least_s, most_s))  # of simulated time


class Clock:
    def __init__(self, random: Random) -> None:
        self.now = 0.0
        self.random = random
        self.busy: dict[Loop, None] = {}  # those who have something to do, in the order in which it came
        self._later: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0

    def count(self) -> int:
        self._count += 1
        return self._count

    def after(self, seconds: float, do: Callable[[], object]) -> None:
        """Something that happens by itself, in no process."""
        self.at(self.now + seconds, do)

    def at(self, moment: float, do: Callable[[], object]) -> None:
        self._count += 1
        heapq.heappush(self._later, (moment, self._count, do))

    def run(self, is_over: Callable[[], bool], limit: float) -> bool:
        """Until it is over, or that moment has come. Whether it was over."""
        later, busy = self._later, self.busy
        while not is_over():
            if not later or later[0][0] > limit:
                return False
            self.now = max(self.now, later[0][0])
            while later and later[0][0] <= self.now:
                heapq.heappop(later)[2]()
            while busy:
                loop = next(iter(busy))
                del busy[loop]
                loop.step()
        return True


_Base: Any = asyncio.AbstractEventLoop


class Loop(_Base):  # type: ignore[misc]  # most of what a loop must have is about sockets and processes
    """As much of an event loop as code without sockets and threads can see."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_awake = True
        self.is_alive = True
        self._slept = 0.0
        self._stopped_at: float | None = None  # of a machine
        self.failures: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []  # held, so that none is collected while its process is dead
        self._ready: deque[asyncio.Handle] = deque()

    def step(self) -> None:
        """Everything that is ready now. What becomes ready meanwhile has its turn after the others."""
        if not self.is_awake:
            return
        events._set_running_loop(self)
        try:
            for _ in range(len(self._ready)):
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            events._set_running_loop(None)

    def monotonic(self) -> float:
        """The clock of its machine, which stops while the whole machine is paused, and does not notice."""
        return (self.clock.now if self._stopped_at is None else self._stopped_at) - self._slept

    def pause(self, *, with_machine: bool = False) -> None:
        self.is_awake = False
        if with_machine and self._stopped_at is None:
            self._stopped_at = self.clock.now

    def wake(self) -> None:
        if self._stopped_at is not None:
            self._slept += self.clock.now - self._stopped_at
            self._stopped_at = None
        if self.is_alive:
            self.is_awake = True
            self.clock.busy[self] = None

    def kill(self) -> None:
        self.is_awake = self.is_alive = False

    def _add(self, handle: asyncio.Handle) -> None:
        self._ready.append(handle)
        if self.is_awake:
            self.clock.busy[self] = None

    # What asyncio asks of a loop

    def time(self) -> float:
        return self.clock.now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_soon(self, do: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(do, args, self, context)
        self._add(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_at(
        self, when: float, do: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, do, args, self, context)
        self.clock.at(when, lambda: None if handle.cancelled() else self._add(handle))
        return handle

    def call_later(
        self, delay: float, do: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.clock.now + delay, do, *args, context=context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is left out when its time comes."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, T], *, name: object = None, context: Context | None = None
    ) -> "asyncio.Task[T]":
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=None if name is None else str(name), context=context)
        self.tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")
