"""Who was cancelled, and what must not be."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def is_cancelled() -> bool:
    """Was this task told to end? If not, a `CancelledError` is about something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, however often this task is cancelled meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait((task,))
    return task.result()
