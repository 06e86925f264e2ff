"""Large requests leave the event loop to others between their pieces."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rightseat.core.turns import MAX_REST_S, TURNS, Turns, take_turn
from tests.conditions import settle

PIECE_S = 0.05


class Clock:
    """The clock of the loop, which only the pieces advance, and waits for a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._added = 0.0
        self._time = loop.time

    def time(self) -> float:
        return self._time() + self._added

    def advance(self, seconds: float) -> None:
        self._added += seconds


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    loop = asyncio.get_running_loop()
    clock = Clock(loop)
    monkeypatch.setattr(loop, "time", clock.time)
    return clock


@contextmanager
def is_large(turns: Turns) -> Iterator[None]:
    token = TURNS.set(turns)
    try:
        yield
    finally:
        TURNS.reset(token)


async def test_others_run_between_the_pieces_of_all_large_requests() -> None:
    turns, order = Turns(), list[str]()

    async def work(name: str) -> None:
        with is_large(turns):
            for _ in range(3):
                await take_turn()
                order.append(name)

    async def watch(working: "asyncio.Future[tuple[None, None]]") -> None:
        while not working.done():
            if order and order[-1] != "other":
                order.append("other")
            await settle(1)

    working = asyncio.gather(work("a"), work("b"))
    await watch(working)

    pieces = [name for name in order if name != "other"]
    assert sorted(pieces) == ["a"] * 3 + ["b"] * 3
    assert order[1::2] == ["other"] * len(order[1::2])  # never two pieces without the others between them


async def test_the_loop_belongs_to_others_for_as_long_as_the_piece_took(clock: Clock) -> None:
    turns, began = Turns(), list[float]()
    for _ in range(2):
        await turns.take()
        began.append(clock.time())
        clock.advance(PIECE_S)

    assert began[1] - began[0] >= 2 * PIECE_S


async def test_a_piece_that_was_interrupted_delays_the_next_one_no_longer_than_the_bound(clock: Clock) -> None:
    turns = Turns()
    await turns.take()
    clock.advance(3600)
    waiting = asyncio.create_task(turns.take())
    await settle()
    clock.advance(MAX_REST_S)
    async with asyncio.timeout(5 + MAX_REST_S):
        await waiting


async def test_ordinary_work_does_not_wait() -> None:
    turns = Turns()
    with is_large(turns):
        await take_turn()
    with pytest.raises(StopIteration):
        take_turn().send(None)  # it ends without having waited


async def test_turns_hold_in_a_second_event_loop(anyio_backend: str) -> None:
    turns = Turns()

    async def contend() -> None:
        await asyncio.gather(turns.take(), turns.take())

    await contend()
    await asyncio.to_thread(asyncio.run, contend())
