"""Helpers for asyncio: cancellation, work that must finish, closing of iterators, and context variables."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def is_cancelled() -> bool:
    """Whether this task is being cancelled. If not, a `CancelledError` came from something that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def raise_if_cancelled() -> None:
    if is_cancelled():
        raise asyncio.CancelledError


async def cancel_and_wait(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    await asyncio.wait((task,))


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, even if this task is cancelled in the meantime."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
    return task.result()


async def run_or_undo(work: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, object]]) -> T:
    """Return the result of `work`. If this task is cancelled, wait for `work`, undo it, and raise the cancellation."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if is_cancelled():
            await run_to_completion(_undo(task, undo))
        raise


async def _undo(task: "asyncio.Task[T]", undo: Callable[[T], Coroutine[Any, Any, object]]) -> None:
    await asyncio.wait((task,))
    if not task.cancelled() and task.exception() is None:
        await undo(task.result())


class aclosing(Generic[T]):
    """Like `contextlib.aclosing`, but also accepts an iterator that is not a generator and has no `aclose`.

    A class and not a generator, because each stream keeps several open for its whole duration.
    """

    __slots__ = ("_iterator",)

    def __init__(self, iterator: AsyncIterator[T]) -> None:
        self._iterator = iterator

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._iterator

    async def __aexit__(self, *_: object) -> None:
        if aclose := getattr(self._iterator, "aclose", None):
            await aclose()


@contextmanager
def set_context(*values: tuple[ContextVar[Any], object]) -> Iterator[None]:
    """Set these context variables in this block. Not around a `yield`: the reader of the generator would have them."""
    tokens = [(variable, variable.set(value)) for variable, value in values]
    try:
        yield
    finally:
        for variable, token in tokens:
            variable.reset(token)


async def iterate_in_context(items: AsyncIterator[T], *values: tuple[ContextVar[Any], object]) -> AsyncIterator[T]:
    """Make the items with these context variables. Their reader keeps its own."""
    async with aclosing(items):
        while True:
            with set_context(*values):
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    return
            yield item
