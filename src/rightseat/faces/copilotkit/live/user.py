"""The open sockets of one user: what has changed is read once, and sent to all of them.

A change is noted at once and read by a task, which exists only while there is something to read. Several changes of one
row become one.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextvars import Context
from datetime import UTC, datetime

from rightseat.concurrency import cancel_and_wait
from rightseat.core.ask import AgentNames, Principal
from rightseat.faces.copilotkit.live.payloads import LiveEvent
from rightseat.faces.copilotkit.live.socket import ListSocket
from rightseat.faces.copilotkit.live.source import ListSource, find_agents
from rightseat.faces.copilotkit.live.topics import OVERLAP, write_time
from rightseat.operations.changes import Change
from rightseat.outages import OutageLog

logger = logging.getLogger(__name__)

MAX_PENDING = 1000
"""Changes of a user that wait to be read. When there are more, all that has changed lately is read instead."""
FIRST_RETRY_S, MAX_RETRY_S = 0.2, 5.0
SHARED_S = 2.0


class UserLists:
    """`outage` is that of the store, for all users."""

    def __init__(self, source: ListSource, outage: OutageLog) -> None:
        self.sockets: set[ListSocket] = set()
        self._source = source
        self._outage = outage
        self._runs: deque[Change] = deque(maxlen=MAX_PENDING)
        self._rows: dict[tuple[str, str], Change] = {}
        self._missed: dict[ListSocket, str] = {}  # → since when
        self._last_read: MissedChanges | None = None
        self._task: asyncio.Task[None] | None = None

    def receive(self, change: Change) -> None:
        """Called by `LiveChanges`; does not wait."""
        self._last_read = None
        if change.topic == "run":
            self._runs.append(change)
        elif change.topic == "all" or len(self._rows) >= MAX_PENDING:
            self._rows.clear()
            since = datetime.fromtimestamp(change.since, UTC) if change.since else datetime.now(UTC)
            for socket in self.sockets:
                self._note_missed(socket, write_time(since - OVERLAP))
        else:
            self._rows.pop((change.topic, change.id), None)
            self._rows[change.topic, change.id] = change
        self._work()

    def catch_up(self, socket: ListSocket, since: str) -> None:
        """Send what has changed since a time."""
        self._note_missed(socket, since)
        self._work()

    def remove(self, socket: ListSocket) -> None:
        self.sockets.discard(socket)
        self._missed.pop(socket, None)

    async def close(self) -> None:
        if self._task is not None:
            await cancel_and_wait(self._task)

    def _note_missed(self, socket: ListSocket, since: str) -> None:
        self._missed[socket] = min(since, self._missed.get(socket, since))

    def _work(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_changes(), context=Context())

    async def _send_changes(self) -> None:
        delay = FIRST_RETRY_S
        while self.sockets and (self._runs or self._rows or self._missed):
            try:
                await self._send_next()
            except Exception as error:
                if not isinstance(error, OSError) and not hasattr(error, "code"):
                    logger.exception("cannot read what open lists show")
                self._outage.fail(str(error) or type(error).__name__)
                await asyncio.sleep(delay)
                delay = min(delay * 2, MAX_RETRY_S)
            else:
                self._outage.recover()
                delay = FIRST_RETRY_S

    async def _send_next(self) -> None:
        if self._runs:
            self._send_run(self._runs.popleft())
        elif self._rows:
            key = next(iter(self._rows))
            await self._send_row(change := self._rows[key])
            if self._rows.get(key) is change:
                del self._rows[key]
        else:
            await self._send_missed()

    def _send_run(self, change: Change) -> None:
        events = self._source.list_run_events(change)
        for socket in self.sockets:
            if socket.principal.may_use(change.agent):
                socket.send_events(events)

    async def _send_row(self, change: Change) -> None:
        time = write_time(datetime.now(UTC))
        for agents, principal in find_agents(socket.principal for socket in self.sockets).items():
            events = await self._source.read_change(change, principal, time)
            for socket in list(self.sockets):
                if socket.principal.agents == agents:
                    socket.send_events(events)

    async def _send_missed(self) -> None:
        """To all sockets that missed the same."""
        first, since = next(iter(self._missed.items()))
        read = await self._read_missed(first.principal, since)
        for socket, missed in list(self._missed.items()):
            if missed == since and socket.principal.agents == read.agents:
                del self._missed[socket]
                socket.send_events(read.events)

    async def _read_missed(self, principal: Principal, since: str) -> "MissedChanges":
        """A page joins several channels one after the other: they share what was read, until anything changes."""
        known = self._last_read
        if known is not None and (known.agents, known.since) == (principal.agents, since):
            return known
        self._last_read = reading = MissedChanges(principal.agents, since)
        asyncio.get_running_loop().call_later(SHARED_S, self._forget_read, reading, context=Context())
        try:
            reading.events = await self._source.read_missed(principal, since, write_time(datetime.now(UTC)))
        except BaseException:
            self._forget_read(reading)
            raise
        return reading

    def _forget_read(self, read: "MissedChanges") -> None:
        if self._last_read is read:
            self._last_read = None


class MissedChanges:
    """What users with these agents have missed since a time."""

    __slots__ = ("agents", "events", "since")

    def __init__(self, agents: AgentNames, since: str) -> None:
        self.agents = agents
        self.since = since
        self.events: Sequence[LiveEvent] = ()
