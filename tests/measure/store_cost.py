"""What a run costs with its thread in memory, in SQLite in memory, and in a SQLite file: CPU of this process.

`python -m tests.measure.store_cost [--runs 300] [--rounds 7]`

SQLite in memory has no thread of its own: its work is executed at once, in the event loop, which is the least that it
can cost. `transient` is a run that is not stored, `limited` one with a limit of concurrent runs, `stored` the first run
of a thread, `continued` one in a thread of twenty messages. The rounds alternate between the stores.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec
import uvloop
from sqlalchemy import StaticPool, create_engine, event

from rightseat.core.ask import Ask, Principal
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Threads
from rightseat.engines.local import LocalEngine
from rightseat.limits.admission import LimitedAdmission
from rightseat.limits.kinds import RUNS
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter_context import Metering
from rightseat.limits.prices import Prices
from rightseat.limits.rules import Limit, LimitRule, Limits
from rightseat.logs.memory import MemoryLog
from rightseat.operations.store import store_of
from rightseat.stores.databases import Sqlite, configure, connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.migrations import upgrade
from rightseat.stores.sql import SqlThreads
from rightseat.stores.store_database import Work

P = ParamSpec("P")
T = TypeVar("T")
ANNA = Principal("anna")
TURNS = 10
LIMITS = Limits([Limit("a", "user", [LimitRule(RUNS, 1000)])])


class Answering:
    """A model that answers at once, as cheaply as possible."""

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield TextChunk("Enough.")


class InMemory(Sqlite):
    """Executes all work at once, on one connection to a database in memory."""

    def __init__(self) -> None:
        super().__init__(Path("unused"))

    async def open(self) -> None:
        self._engine = create_engine("sqlite://", poolclass=StaticPool)
        event.listen(self._engine, "connect", configure)
        self._all = self._engine.connect()
        self._all.begin()
        self._driver: Any = self._all.connection.driver_connection
        await self.write(upgrade)

    async def close(self) -> None:
        self._all.close()

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._driver.execute("BEGIN")
        try:
            found = work(self._all, *args, **kwargs)
        except BaseException:
            self._driver.execute("ROLLBACK")
            raise
        self._driver.execute("COMMIT")
        return found

    async def write_run_end(self, run_id: str, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    scan = read

    def lacks_thread(self, thread_id: str) -> bool:
        found = self._driver.execute("SELECT EXISTS (SELECT 1 FROM threads WHERE id = ?)", (thread_id,)).fetchone()
        return not found[0]

    def erase(self) -> None: ...


STORES: Mapping[str, Callable[[Path], Threads]] = {
    "memory": lambda folder: MemoryThreads(max_threads=10**6),
    "SQLite in memory": lambda folder: SqlThreads(InMemory()),
    "SQLite file": lambda folder: SqlThreads(connect(folder / "threads.db")),
}
CASES = ("transient", "limited", "stored", "continued")


@asynccontextmanager
async def serving(threads: Threads, *, is_limited: bool) -> AsyncIterator[Runtime]:
    limits = store_of(threads).limits
    assert limits is not None
    metering = Metering(LIMITS, Ledger(limits), Prices({}, "EUR")) if is_limited else None
    async with AsyncExitStack() as stack:
        if isinstance(threads, SqlThreads):
            await stack.enter_async_context(threads)
        if metering is not None:
            await stack.enter_async_context(metering.ledger)
        runtime = Runtime(
            {"default": Loop(Answering())},
            log=MemoryLog(),
            threads=threads,
            engine=LocalEngine(),
            admission=LimitedAdmission(None, metering),
        )
        await runtime.open()
        yield runtime
        await runtime.close()


async def run(runtime: Runtime, ask: Ask) -> None:
    begun = await runtime.start(ask)
    async for _ in runtime.follow(begun.run_id):
        pass


async def measure(threads: Threads, case: str, runs: int) -> float:
    """Milliseconds of CPU of one run."""
    plain = Ask(messages=(user("Hi"),), principal=ANNA, agent="default", transient=case in ("transient", "limited"))
    async with serving(threads, is_limited=case == "limited") as runtime:
        history = [user(f"Question {number} " + "x" * 200) for number in range(2 * TURNS)]
        await run(runtime, msgspec.structs.replace(plain, messages=tuple(history), thread_id="long", run_id="first"))
        began = time.process_time()
        for number in range(runs):
            thread_id = "long" if case == "continued" else f"t{number}"
            ask = msgspec.structs.replace(
                plain, thread_id=thread_id, run_id=f"r{number}", messages=(user(f"Hi {number}"),)
            )
            await run(runtime, ask)
        return (time.process_time() - began) / runs * 1000


def report(name: str, cells: Sequence[str]) -> None:
    print(f"{name:18}", *(f"{cell:>22}" for cell in cells))  # noqa: T201


async def compare(runs: int, rounds: int) -> None:
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for case in CASES:
            for name, build in STORES.items():
                with tempfile.TemporaryDirectory() as folder:
                    found.setdefault((name, case), []).append(await measure(build(Path(folder)), case, runs))
    report("ms CPU per run", CASES)
    for name in STORES:
        cells = [found[name, case] for case in CASES]
        report(name, [f"{statistics.median(one):.2f} ({min(one):.2f}-{max(one):.2f})" for one in cells])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    uvloop.run(compare(given.runs, given.rounds))
