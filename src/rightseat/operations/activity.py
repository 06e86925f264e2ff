"""Announces starts and ends of runs, changes of threads, and reloads of plugins, in this process, to live clients."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rightseat.core.ask import Ask
from rightseat.core.run.outcome import LastEvent

MAX_UNREAD = 1000
"""Announcements that a subscriber may leave unread; one that leaves more has to subscribe again."""


class RunActivity(NamedTuple):
    """`last` is None at the start of a run, and its last event at its end."""

    ask: Ask
    last: LastEvent | None = None


class ThreadActivity(NamedTuple):
    """The owner renamed, archived, unarchived or deleted a thread."""

    thread_id: str
    owner: str
    agent: str
    is_deleted: bool = False


class PluginActivity(NamedTuple):
    """A plugin was loaded anew. `problems` is their number in the new version."""

    id: str
    digest: str
    problems: int


class Closed(NamedTuple):
    """The last announcement of a subscription: the server stops, or the subscriber did not keep up."""

    is_shutdown: bool


Announcement = RunActivity | ThreadActivity | PluginActivity | Closed
Accepts = Callable[[Announcement], bool]


class Activity:
    """A `core.run.observers.RunListener`. It never waits for a subscriber."""

    def __init__(self) -> None:
        self._subscribers: dict[asyncio.Queue[Announcement], Accepts] = {}

    @contextmanager
    def subscribe(self, accepts: Accepts) -> Iterator["asyncio.Queue[Announcement]"]:
        """The announcements that the subscriber accepts, and the last one."""
        queue: asyncio.Queue[Announcement] = asyncio.Queue()
        self._subscribers[queue] = accepts
        try:
            yield queue
        finally:
            self._subscribers.pop(queue, None)

    def start(self, ask: Ask) -> None:
        self._publish(RunActivity(ask))

    def end(self, ask: Ask, last: LastEvent | None) -> None:
        """Without a last event, another process goes on with the run."""
        if last is not None:
            self._publish(RunActivity(ask, last))

    def change_thread(self, thread_id: str, owner: str, agent: str, *, is_deleted: bool = False) -> None:
        self._publish(ThreadActivity(thread_id, owner, agent, is_deleted))

    def change_plugin(self, change: PluginActivity) -> None:
        self._publish(change)

    def close(self) -> None:
        """Announce that the server stops."""
        for queue in self._subscribers:
            queue.put_nowait(Closed(is_shutdown=True))

    def _publish(self, activity: RunActivity | ThreadActivity | PluginActivity) -> None:
        for queue, accepts in list(self._subscribers.items()):
            if not accepts(activity):
                continue
            if queue.qsize() < MAX_UNREAD:
                queue.put_nowait(activity)
            else:
                queue.put_nowait(Closed(is_shutdown=False))
                del self._subscribers[queue]
