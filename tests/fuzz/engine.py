"""Runs the cases of a target and judges each: a crash, a stall, or neither.

A crash is any exception that leaves the check, and any error in the log: a check catches what the code under test
may raise. A stall is more than `stall_s` seconds of CPU time of the thread that runs the event loop,
or a case that has not ended after `HANG_S` seconds. CPU time is measured, not wall time, so that a busy machine causes
no stalls.
"""

import asyncio
import gc
import logging
import signal
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any, Literal

from tests.fuzz.reduction import reduce_case

STALL_S = 1.0
ABORT_S = 10  # seconds of CPU time after which a case is interrupted, so that an endless loop is found too
HANG_S = 60.0
FROZEN_CASES = 1_000
"""After so many cases, what they have stored is frozen too: the collector took 0.3 s of a case for 100,000 threads."""
SHOWN = 2_000  # characters of a case in a report

Check = Callable[[Any], Awaitable[None]]
"""Gives one case to the code under test. It raises where a property does not hold."""


@dataclass(frozen=True, slots=True)
class Target:
    """`make` makes a case of values that `repr` shows: texts, bytes, numbers, lists, tuples and dictionaries. `open`
    starts what the check needs; it is opened once for many cases. `night_cases` are run by the tests of
    a night, a share of them by others."""

    name: str
    make: Callable[[Random], Any]
    open: Callable[[], AbstractAsyncContextManager[Check]]
    samples: tuple[Any, ...] = ()
    """Cases that are checked first, unmeasured: they warm caches and imports up."""
    night_cases: int = 300
    stall_s: float = STALL_S


def plain(check: Callable[[Any], None]) -> Callable[[], AbstractAsyncContextManager[Check]]:
    """`open` for a check that neither waits nor needs anything."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Check]:
        async def checked(case: Any) -> None:
            check(case)

        yield checked

    return opened


@dataclass(frozen=True, slots=True)
class Failure:
    kind: Literal["crash", "stall"]
    target: str
    seed: int
    reason: str
    case: Any

    def __str__(self) -> str:
        shown = repr(self.case)
        cut = f"… ({len(shown):,} characters)" if len(shown) > SHOWN else ""
        return (
            f"{self.kind} in {self.target}, again with: python -m tests.fuzz {self.target} --seed {self.seed} --count 1"
            f"\n{self.reason}\nreduced case: {shown[:SHOWN]}{cut}"
        )


@dataclass(slots=True)
class Figures:
    """What came of the cases of one target."""

    target: str
    cases: int = 0
    crashes: int = 0
    stalls: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)
    """The first of each: failures that end in the same line are one."""
    slowest_s: float = 0.0
    slowest_seed: int = 0

    @property
    def failed(self) -> int:
        return self.crashes + self.stalls


async def run(target: Target, seeds: Iterable[int], until: float = float("inf"), most_failures: int = 8) -> Figures:
    """Until the seeds, the time (of `time.monotonic`) or the patience with failures are at their end.

    One case runs even where opening the target took all the time.
    """
    figures = Figures(target.name)
    async with target.open() as check:
        for sample in target.samples:
            await check(sample)
        with frozen_garbage():
            for seed in seeds:
                if figures.cases % FROZEN_CASES == FROZEN_CASES - 1:
                    gc.collect()
                    gc.freeze()
                if (figures.cases and time.monotonic() >= until) or len(figures.failures) >= most_failures:
                    break
                await run_case(target, check, seed, figures)
    return figures


async def run_case(target: Target, check: Check, seed: int, figures: Figures) -> None:
    case = target.make(Random(f"{target.name}:{seed}"))
    verdict = await judge(check, case, target.stall_s)
    figures.cases += 1
    if verdict.cpu_s > figures.slowest_s:
        figures.slowest_s, figures.slowest_seed = verdict.cpu_s, seed
    figures.crashes += verdict.kind == "crash"
    figures.stalls += verdict.kind == "stall"
    if verdict.kind is not None and verdict.place not in figures.failures:
        figures.failures[verdict.place] = await explain(target, check, seed, case, verdict)


@contextmanager
def frozen_garbage() -> Iterator[None]:
    """What was imported is not walked by the collector, which would take 0.3 s of some case each time."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Literal["crash", "stall"] | None
    reason: str
    cpu_s: float

    @property
    def place(self) -> str:
        """The innermost line of the traceback; stalls are all alike, for their stacks are taken by chance."""
        if self.kind == "stall":
            return self.kind
        lines = [line for line in self.reason.splitlines() if line.lstrip().startswith("File ")]
        return f"{self.kind} {lines[-1] if lines else self.reason}"


async def judge(check: Check, case: Any, stall_s: float = STALL_S) -> Verdict:
    crash = ""
    with watch_log() as logged, watch_cpu(stall_s) as stacks:
        began = time.thread_time()
        try:
            async with asyncio.timeout(HANG_S):
                await check(case)
        except TimeoutError:
            return Verdict("stall", f"not over after {HANG_S:g} s", time.thread_time() - began)
        except Exception:
            crash = traceback.format_exc()
        cpu_s = time.thread_time() - began
    if cpu_s > stall_s:
        return Verdict("stall", f"{cpu_s:.2f} s of CPU time. After {stall_s:g} s:\n{''.join(stacks[:1])}", cpu_s)
    if crash or logged:
        return Verdict("crash", "\n".join(logged) or crash, cpu_s)  # what was logged came first
    return Verdict(None, "", cpu_s)


async def explain(target: Target, check: Check, seed: int, case: Any, verdict: Verdict) -> Failure:
    """The failure with a case that is as small as can be made in a short time."""

    async def fails(smaller: Any) -> bool:
        return (await judge(check, smaller, target.stall_s)).place == verdict.place

    reduced = await reduce_case(case, fails)
    again = await judge(check, reduced, target.stall_s)
    return Failure(verdict.kind or "crash", target.name, seed, again.reason or verdict.reason, reduced)


@contextmanager
def watch_log() -> Iterator[list[str]]:
    """Collects errors: what our code did not expect is logged as one, and so are unhandled ones of asyncio's."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            stack = traceback.format_exception(error) if error else []
            found.append(f"logged: {record.getMessage()}\n{''.join(stack)}")

    collector = Collector(logging.ERROR)
    root = logging.getLogger()
    root.addHandler(collector)
    try:
        yield found
    finally:
        root.removeHandler(collector)


@contextmanager
def watch_cpu(stall_s: float) -> Iterator[list[str]]:
    """Collects the stack after each `stall_s` of CPU time, and interrupts after `ABORT_S`."""
    stacks: list[str] = []

    def tick(number: int, frame: FrameType | None) -> None:
        stacks.append("".join(traceback.format_stack(frame)[-12:]))
        if len(stacks) * stall_s >= ABORT_S:
            raise Interrupted(f"interrupted after {ABORT_S} s of CPU time")

    before = signal.signal(signal.SIGPROF, tick)
    signal.setitimer(signal.ITIMER_PROF, stall_s, stall_s)
    try:
        yield stacks
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Interrupted(Exception):
    """A case took `ABORT_S` of CPU time."""
