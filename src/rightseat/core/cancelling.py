"""Who was cancelled, and what must not be."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def is_cancelled() -> bool:
    """Was this task told to end? If not, a `CancelledError` is about something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def raise_if_cancelled() -> None:
    if is_cancelled():
        raise asyncio.CancelledError


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, however often this task is cancelled meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
    return task.result()


async def whole(work: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, object]]) -> T:
    """What `work` gives. A cancel does not cut it in two: it is done to its end and undone, then the cancel goes on."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if is_cancelled():
            await to_the_end(_undo(task, undo))
        raise


async def _undo(task: "asyncio.Task[T]", undo: Callable[[T], Coroutine[Any, Any, object]]) -> None:
    await asyncio.wait((task,))
    if not task.cancelled() and task.exception() is None:
        await undo(task.result())
