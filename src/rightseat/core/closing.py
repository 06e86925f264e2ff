"""Iterators that are closed when whoever reads them is done."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class closing(Generic[T]):
    """Like `contextlib.aclosing`, also for an iterator that is no generator and so has nothing to close.

    A class, because each stream holds several of them open for as long as it lasts.
    """

    __slots__ = ("_iterator",)

    def __init__(self, iterator: AsyncIterator[T]) -> None:
        self._iterator = iterator

    async def __aenter__(self) -> AsyncIterator[T]:
        return self._iterator

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if aclose := getattr(self._iterator, "aclose", None):
            await aclose()
