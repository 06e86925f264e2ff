"""What the model calls of a task are for: an agent, and a purpose, as the usage report has them.

The labels are in the context of the task, so that code which calls a model need not know them. Who begins something
that has labels of its own (a guard, a nested agent) sets them around it.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from rightseat.concurrency import iterate_in_context, set_context

T = TypeVar("T")


class CallLabels(NamedTuple):
    """Without an `agent` a call is for that of the run."""

    agent: str | None = None
    purpose: str = "answer"


LABELS: ContextVar[CallLabels] = ContextVar("rightseat_call_labels", default=CallLabels())  # noqa: B039  # immutable


@contextmanager
def label_calls(purpose: str) -> Iterator[None]:
    """The model calls that this block makes are for another purpose.

    Not for the body of a generator: a block with `yield` in it would label the calls of the generator's reader.
    """
    with set_context((LABELS, LABELS.get()._replace(purpose=purpose))):
        yield


def iterate_for_agent(items: AsyncIterator[T], agent: str) -> AsyncIterator[T]:
    """The model calls that make these items are for a nested agent."""
    return iterate_in_context(items, (LABELS, LABELS.get()._replace(agent=agent)))
