"""What a model call is counted for: an agent, and a purpose of the usage report.

The labels are in the context of the task, so that code which calls a model need not know them. Who begins something
that has labels of its own (a guard, a nested agent) sets them around it.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from rightseat.core.concurrency import aclosing
from rightseat.core.limits.book import UsageCounts

T = TypeVar("T")


class CallLabels(NamedTuple):
    """Without an `agent` a call counts for that of the run. With `is_selected` no limit chooses another model again.

    `nested` collects what is counted for calls that a model makes by calling other models.
    """

    agent: str | None = None
    purpose: str = "answer"
    is_selected: bool = False
    nested: list[UsageCounts] | None = None


LABELS: ContextVar[CallLabels] = ContextVar("rightseat_call_labels", default=CallLabels())  # noqa: B039  # immutable


@contextmanager
def use_labels(labels: CallLabels) -> Iterator[None]:
    """Not for the body of a generator: a block with `yield` in it would label the calls of the generator's reader."""
    token = LABELS.set(labels)
    try:
        yield
    finally:
        LABELS.reset(token)


@contextmanager
def label_calls(purpose: str) -> Iterator[None]:
    """Count the model calls that this block makes for another purpose. See `use_labels`."""
    with use_labels(LABELS.get()._replace(purpose=purpose)):
        yield


async def iterate_labelled(items: AsyncIterator[T], labels: CallLabels) -> AsyncIterator[T]:
    """Make the items with these labels. Their reader keeps its own."""
    async with aclosing(items):
        while True:
            with use_labels(labels):
                try:
                    item = await anext(items)
                except StopAsyncIteration:
                    return
            yield item


def iterate_for_agent(items: AsyncIterator[T], agent: str) -> AsyncIterator[T]:
    """Count the model calls that make these items for a nested agent."""
    return iterate_labelled(items, LABELS.get()._replace(agent=agent))
