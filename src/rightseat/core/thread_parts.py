"""Reads a part of a thread: all but its messages, or some of its messages.

A store that supports it reads only that part; of another one the thread is loaded.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.messages import Message
from rightseat.core.threads import RunRow, Summary, Thread, Threads


class ThreadOutline(msgspec.Struct, frozen=True):
    """A thread without its messages and its state. `runs` are in the order in which they started."""

    id: str
    message_count: int
    runs: tuple[RunRow, ...] = ()
    summary: Summary | None = None


@runtime_checkable
class SupportsThreadParts(Protocol):
    """A thread store that reads parts of threads. Threads of other users are reported as not found."""

    async def outline(self, thread_id: str, principal: Principal) -> ThreadOutline | None: ...

    async def read_messages(self, thread_id: str, principal: Principal, start: int, stop: int) -> Sequence[Message]:
        """The messages from number `start` to before `stop`, in their order; none if there is no such thread."""
        ...


async def read_outline(threads: Threads, thread_id: str, principal: Principal) -> ThreadOutline | None:
    if isinstance(threads, SupportsThreadParts):
        return await threads.outline(thread_id, principal)
    thread = await threads.load(thread_id, principal)
    return None if thread is None else outline_of(thread)


async def read_messages(
    threads: Threads, thread_id: str, principal: Principal, start: int, stop: int
) -> Sequence[Message]:
    if isinstance(threads, SupportsThreadParts):
        return await threads.read_messages(thread_id, principal, max(start, 0), stop)
    thread = await threads.load(thread_id, principal)
    return () if thread is None else thread.messages[max(start, 0) : max(stop, 0)]


def outline_of(thread: Thread) -> ThreadOutline:
    return ThreadOutline(thread.id, len(thread.messages), thread.runs, thread.summary)


def is_visible(thread: Thread | ThreadOutline, principal: Principal) -> bool:
    """Whether the principal may use all agents that took part in the thread."""
    first = [thread.summary.agent] if thread.summary else []
    return all(principal.may_use(agent) for agent in (*first, *(run.agent for run in thread.runs)))
