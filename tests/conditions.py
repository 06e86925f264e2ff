"""What tests wait for: a condition, the event loop's pending callbacks, an open port. The sleeps of tests are here."""

import asyncio
import inspect
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

WITHIN_S = 60.0
"""How long a condition may take to become true on a busy machine."""
LONGEST_INTERVAL_S = 0.02


@overload
async def until(condition: Callable[[], Awaitable[T | None]], within_s: float = WITHIN_S) -> T: ...


@overload
async def until(condition: Callable[[], T | None], within_s: float = WITHIN_S) -> T: ...


async def until(condition: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
    """Wait until `condition()`, or what it awaits, is true. Returns that value."""
    interval_s, value = 0.0, None
    try:
        async with asyncio.timeout(within_s) as limit:
            while True:
                value = condition()
                if inspect.isawaitable(value):
                    value = await value
                if value:
                    return value
                await asyncio.sleep(interval_s)  # files, logs and processes set no event
                interval_s = min(interval_s + 0.001, LONGEST_INTERVAL_S)
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeoutError(explain(condition, value, within_s)) from None


def wait_until(condition: Callable[[], T | None], within_s: float = WITHIN_S) -> T:
    """As `until`, for tests and threads without an event loop."""
    end = time.monotonic() + within_s
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(explain(condition, value, within_s))
        time.sleep(LONGEST_INTERVAL_S)  # what another thread or process does sets no event
    return value


def explain(condition: Callable[[], object], value: object, within_s: float) -> str:
    return f"not so within {within_s:g} s, but {value!r}: {describe(condition)}"


def describe(condition: Callable[[], object]) -> str:
    """The source of a lambda, and of other functions what Python shows."""
    if getattr(condition, "__name__", "") == "<lambda>":
        with suppress(OSError):  # it was not read from a file
            return " ".join(inspect.getsource(condition).split())
    return repr(condition)


async def settle(turns: int = 100) -> None:
    """Let everything go on that can go on by itself: so many turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)  # one turn


async def until_stable(value: Callable[[], T], for_s: float = 0.1) -> T:
    """Wait until `value()` stays the same for so long. Returns it."""
    while True:
        before = value()
        await asyncio.sleep(for_s)  # what no longer happens sets no event
        if value() == before:
            return before


class Paced(Generic[T]):
    """`async for item in Paced(items, pause_s)`: a pause between two items, of one turn of the event loop if no longer.

    Fake servers, models and writers of tests use it to send at a pace.
    """

    def __init__(self, items: Iterable[T], pause_s: float = 0.0) -> None:
        self._items = iter(items)
        self._pause_s = pause_s
        self._is_first = True

    def __aiter__(self) -> "Paced[T]":
        return self

    async def __anext__(self) -> T:
        if not self._is_first:
            await asyncio.sleep(self._pause_s)  # the pace
        self._is_first = False
        try:
            return next(self._items)
        except StopIteration:
            raise StopAsyncIteration from None


class TurnCounter:
    turns = 0


@asynccontextmanager
async def counting_turns() -> AsyncIterator[TurnCounter]:
    """Counts the turns that the event loop gives to another task meanwhile."""
    counter = TurnCounter()

    async def count() -> None:
        while True:
            counter.turns += 1
            await settle(1)

    counting = asyncio.create_task(count())
    try:
        yield counter
    finally:
        counting.cancel()


def is_listening(port: int) -> bool:
    """Whether a server accepts connections at that port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
