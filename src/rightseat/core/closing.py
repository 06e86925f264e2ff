"""Iterators that are closed when whoever reads them is done."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def closing(iterator: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Like `contextlib.aclosing`, also for an iterator that is no generator and so has nothing to close."""
    try:
        yield iterator
    finally:
        if aclose := getattr(iterator, "aclose", None):
            await aclose()
