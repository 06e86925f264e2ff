"""What every engine promises (`core.engine`). A new engine is added to the fixture, and held to all of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from rightseat.core.ask import Ask
from rightseat.core.engine import Engine, Perform, Steps
from rightseat.core.messages import user
from rightseat.engines.dbos import DbosEngine
from rightseat.engines.dbos.system import DbosSystem
from rightseat.engines.local import LocalEngine
from tests.conditions import settle, until

T = TypeVar("T")


class Durable(DbosEngine):
    """Each run has a `perform` of its own here; a server has one for all."""

    def __init__(self, system: DbosSystem) -> None:
        super().__init__(system)
        self._performs: dict[str, Perform] = {}

    async def start(self, ask: Ask, perform: Perform) -> bool:
        self._performs[ask.run_id] = perform
        return await super().start(ask, perform)

    async def dispatch(self, ask: Ask, steps: Steps) -> None:
        await self._performs[ask.run_id](ask, steps)


@pytest.fixture(params=["local", "dbos"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Engine]:
    match request.param:
        case "local":
            engine: Engine = LocalEngine()
        case "dbos":
            engine = durable = Durable(DbosSystem(tmp_path / "steps.db"))
            await durable.open(durable.dispatch)
    yield engine
    async with asyncio.timeout(30):
        await engine.close()


def ask(run_id: str = "r") -> Ask:
    return Ask(messages=(user("Hi"),), run_id=run_id, durable=True)


class Run:
    """A run that goes on until it is told to end. A slow one, once cancelled, closes only when it is told to."""

    def __init__(self, *, slow: bool = False) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.may_close = asyncio.Event()
        self.over = asyncio.Event()
        self.ended: str | None = None
        if not slow:
            self.may_close.set()

    async def __call__(self, ask: Ask, steps: Steps) -> None:
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            await self.may_close.wait()
            self.ended = "cancelled"
        else:
            self.ended = "done"
        self.over.set()


async def test_start_returns_while_the_run_continues(engine: Engine) -> None:
    run = Run()

    async with asyncio.timeout(30):
        await engine.start(ask(), run)
        await run.begun.wait()

    assert run.ended is None


async def test_a_run_gets_the_ask_that_it_was_started_with(engine: Engine) -> None:
    got: asyncio.Queue[Ask] = asyncio.Queue()

    async def perform(ask: Ask, steps: Steps) -> None:
        await got.put(ask)

    started = ask()
    async with asyncio.timeout(30):
        await engine.start(started, perform)
        assert await got.get() == started


async def test_a_cancel_returns_when_the_run_has_come_to_its_end(engine: Engine) -> None:
    run = Run(slow=True)

    async with asyncio.timeout(30):
        await engine.start(ask(), run)
        await run.begun.wait()
        cancelling = asyncio.create_task(engine.cancel("r"))
        await run.cancelled.wait()
        assert not cancelling.done()
        run.may_close.set()

        assert await cancelling is True
    assert run.ended == "cancelled"


async def test_a_run_that_is_cancelled_at_once_still_starts_and_logs_its_end(engine: Engine) -> None:
    run = Run()

    async with asyncio.timeout(30):
        await engine.start(ask(), run)
        await engine.cancel("r")

    assert run.ended == "cancelled"


@pytest.mark.parametrize("others", [1, 0], ids=["another caller cancels it too", "the caller is gone"])
async def test_a_run_that_is_ending_is_not_disturbed(engine: Engine, others: int) -> None:
    run = Run(slow=True)

    async with asyncio.timeout(30):
        await engine.start(ask(), run)
        await run.begun.wait()
        first = asyncio.create_task(engine.cancel("r"))
        await run.cancelled.wait()
        if not others:
            first.cancel()
            await asyncio.wait((first,))
        more = [asyncio.create_task(engine.cancel("r")) for _ in range(others)]
        closing = asyncio.create_task(engine.close())
        await settle()
        run.may_close.set()
        await closing
        if others:
            assert [await cancelling for cancelling in (first, *more)] == [True, True]

    assert run.ended == "cancelled"


async def test_a_run_that_does_not_run_is_not_cancelled(engine: Engine) -> None:
    run = Run()
    run.may_end.set()
    async with asyncio.timeout(30):
        await engine.start(ask(), run)
        await run.over.wait()
        await settle()

        assert await engine.cancel("r") is False
        assert await engine.cancel("nobody") is False
    assert run.ended == "done"


async def test_a_cancel_ends_no_other_run(engine: Engine) -> None:
    one, other = Run(), Run()

    async with asyncio.timeout(30):
        await engine.start(ask("one"), one)
        await engine.start(ask("other"), other)
        await other.begun.wait()
        await engine.cancel("one")
        await settle()

        assert (one.ended, other.ended) == ("cancelled", None)


async def test_closing_cancels_all_runs_side_by_side(engine: Engine) -> None:
    all_begun, all_cancelled = asyncio.Barrier(4), asyncio.Barrier(3)
    ended: set[str] = set()

    async def perform(ask: Ask, steps: Steps) -> None:
        try:
            await all_begun.wait()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await all_cancelled.wait()
            ended.add(ask.run_id)

    async with asyncio.timeout(30):
        for run_id in ("a", "b", "c"):
            await engine.start(ask(run_id), perform)
        await all_begun.wait()
        await engine.close()

    assert ended == {"a", "b", "c"}


async def test_what_a_run_raises_is_logged_and_hurts_no_other(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    run = Run()

    async def fail(ask: Ask, steps: Steps) -> None:
        raise ZeroDivisionError("out of reach")

    async with asyncio.timeout(30):
        await engine.start(ask("broken"), fail)
        await engine.start(ask("sound"), run)
        await run.begun.wait()
        await until(lambda: any(record.name.startswith("rightseat.") for record in caplog.records))
        run.may_end.set()
        await run.over.wait()

    [record] = [record for record in caplog.records if record.name.startswith("rightseat.")]
    assert record.levelname == "ERROR"
    assert "broken" in record.getMessage()
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)
    assert run.ended == "done"


async def test_a_step_gives_back_what_its_work_gave(engine: Engine) -> None:
    async def work() -> int:
        return 42

    assert await do(engine, lambda steps: steps.do("count", int, work)) == 42


async def test_a_step_raises_what_its_work_raised(engine: Engine) -> None:
    async def work() -> int:
        raise ZeroDivisionError("out of reach")

    with pytest.raises(ZeroDivisionError, match="out of reach"):
        await do(engine, lambda steps: steps.do("count", int, work))


async def do(engine: Engine, body: Callable[[Steps], Awaitable[T]]) -> T:
    """Have a run do something with its steps, and give back what came of it."""
    outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    async def perform(ask: Ask, steps: Steps) -> None:
        try:
            outcome.set_result(await body(steps))
        except Exception as error:
            outcome.set_exception(error)

    async with asyncio.timeout(30):
        await engine.start(ask(), perform)
        return await outcome
