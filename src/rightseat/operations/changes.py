"""Changes of threads and memories, which open lists follow: announced in this process, and to the other servers.

An announcement has ids and no words. What a list shows is read again, by the server that has the list, with the rights
of its user. A server that may have missed announcements reads all that has changed since a time.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import Context
from hashlib import sha256
from typing import Literal, Protocol, Self, runtime_checkable

import msgspec

from rightseat.concurrency import cancel_and_wait
from rightseat.core.ask import Ask
from rightseat.core.events import RunFailed
from rightseat.core.run.outcome import LastEvent

Topic = Literal["thread", "memory", "run", "all"]
RunEvent = Literal["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]

EVERYONE = ""
"""The owner of what all users share."""
MAX_UNSENT = 10_000
"""Changes that wait for other servers. When there are more, these are sent one announcement for all of them."""
MAX_MESSAGE_BYTES = 7000
"""PostgreSQL's notifications have less than 8,000 bytes."""
MAX_ID_CHARS = 512
FIRST_RETRY_S, MAX_RETRY_S = 0.1, 2.0
LOST_S = 60.0
"""A connection can be dead for so long before that is noticed."""


def hash_owner(owner: str) -> str:
    """Announcements and stored deletions have this in place of the user's id."""
    return sha256(owner.encode()).hexdigest()[:32] if owner else EVERYONE


class Change(msgspec.Struct, frozen=True, array_like=True):
    """`owner` is a hash of the user's id. The topic `run` is a start or an end in the thread `id`, with the client's id
    of the run; `all` is anything of the owner, or of everyone, `since` a unix time; 0 is now."""

    owner: str
    topic: Topic
    id: str = ""
    is_deleted: bool = False
    agent: str = ""
    run: str = ""
    event: RunEvent = "RUN_STARTED"
    since: float = 0.0


class Deletion(msgspec.Struct, frozen=True):
    topic: Topic
    id: str


class DeletionStore(Protocol):
    """The ids of rows that were deleted in the last hours."""

    async def find(self, owner: str, since: str) -> Sequence[Deletion]:
        """The newest deletions of a user, and of what all users share. `owner` is the user's id."""
        ...


class ChangeBus(Protocol):
    """Carries messages between servers. Both methods raise whatever its connection raises."""

    async def send(self, messages: Sequence[bytes]) -> None: ...

    def receive(self) -> AsyncIterator[Sequence[bytes]]:
        """The first item is empty: from then on nothing is missed until an exception is raised."""
        ...


class Outage(Protocol):
    """Reports the outage of a dependency, as `outages.OutageLog`."""

    def fail(self, cause: object) -> None: ...

    def recover(self) -> None: ...


@runtime_checkable
class CarriesChanges(Protocol):
    """A log through which servers can announce changes to each other."""

    def changes(self, *, is_command: bool = False) -> ChangeBus | None:
        """`is_command` is for a process beside the servers, which receives nothing. None: no other process exists."""
        ...


class Announcement(msgspec.Struct, frozen=True, array_like=True):
    server: str
    changes: Sequence[Change]


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Announcement).decode

Receive = Callable[[Change], None]


class LiveChanges:
    """A `core.run.observers.RunListener` that announces changes to the open lists of all servers.

    `deletions` are those of the store, if it keeps any; `outage` is that of the bus.
    """

    def __init__(self, outage: Outage, bus: ChangeBus | None = None, deletions: DeletionStore | None = None) -> None:
        self.deletions = deletions
        self._bus = bus
        self._server = secrets.token_hex(8)
        self._receivers: dict[str, set[Receive]] = {}  # by the hash of the owner
        self._unsent: deque[Change] = deque()
        self._lost_since = 0.0  # unix time of the first change that other servers will not be sent; 0: none
        self._is_closed = False
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._outage = outage

    async def __aenter__(self) -> Self:
        self._is_closed = False
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        for task in (self._sending, self._listening):
            if task is not None:
                await cancel_and_wait(task)
        self._sending = self._listening = None

    def subscribe(self, owner: str, receive: Receive) -> None:
        """`receive` gets the changes of a user, and those of everyone, until `unsubscribe`. It must not wait."""
        self._receivers.setdefault(hash_owner(owner), set()).add(receive)
        if self._bus is not None and self._listening is None and not self._is_closed:
            self._listening = asyncio.create_task(self._listen(self._bus), context=Context())

    def unsubscribe(self, owner: str, receive: Receive) -> None:
        key = hash_owner(owner)
        receivers = self._receivers.get(key, set())
        receivers.discard(receive)
        if not receivers:
            self._receivers.pop(key, None)

    # What happens here

    def start(self, ask: Ask) -> None:
        self._announce_run(ask, "RUN_STARTED")

    def end(self, ask: Ask, last: LastEvent | None) -> None:
        """Without a last event, another process goes on with the run."""
        if last is not None:
            self._announce_run(ask, "RUN_ERROR" if isinstance(last, RunFailed) else "RUN_FINISHED")

    def change_thread(self, thread_id: str, owner: str, agent: str, *, is_deleted: bool = False) -> None:
        self.announce(Change(hash_owner(owner), "thread", thread_id, is_deleted))

    def change_memory(self, id: str, owner: str | None, *, is_deleted: bool = False) -> None:
        self.announce(Change(hash_owner(owner or EVERYONE), "memory", id, is_deleted))

    def close(self) -> None:
        """Open lists end with their connections."""

    def _announce_run(self, ask: Ask, event: RunEvent) -> None:
        owner, run = hash_owner(ask.principal.id), ask.client_run_id or ask.run_id
        if len(run) <= MAX_ID_CHARS:
            self.announce(Change(owner, "run", ask.thread_id, agent=ask.agent, run=run, event=event))
        self.announce(Change(owner, "thread", ask.thread_id))

    def announce(self, change: Change) -> None:
        self._deliver(change)
        if self._bus is None or self._is_closed:
            return
        if len(self._unsent) >= MAX_UNSENT:
            self._unsent.clear()
            self._lost_since = self._lost_since or time.time() - LOST_S
        self._unsent.append(change)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(self._bus), context=Context())

    # Between servers

    async def _send(self, bus: ChangeBus) -> None:
        """One exchange for all changes that came during the one before."""
        while self._unsent or self._lost_since:
            batch, self._unsent = self._unsent, deque()
            if self._lost_since:
                batch.appendleft(Change(EVERYONE, "all", since=self._lost_since))
                self._lost_since = 0.0
            await self._send_until_sent(bus, pack_changes(self._server, batch))

    async def _send_until_sent(self, bus: ChangeBus, messages: Sequence[bytes]) -> None:
        delay = FIRST_RETRY_S
        while True:
            try:
                await bus.send(messages)
            except Exception as error:
                self._outage.fail(str(error) or type(error).__name__)
                await asyncio.sleep(delay)
                delay = min(delay * 2, MAX_RETRY_S)
            else:
                return self._outage.recover()

    async def _listen(self, bus: ChangeBus) -> None:
        delay, lost_at = FIRST_RETRY_S, time.time()
        while True:
            try:
                async for messages in bus.receive():
                    delay = FIRST_RETRY_S
                    self._outage.recover()
                    if not messages:
                        self._deliver(Change(EVERYONE, "all", since=lost_at))
                    lost_at = 0.0
                    for message in messages:
                        self._receive(message)
            except Exception as error:
                self._outage.fail(str(error) or type(error).__name__)
            lost_at = lost_at or time.time() - LOST_S
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_RETRY_S)

    def _receive(self, message: bytes) -> None:
        with suppress(msgspec.DecodeError):  # another version of the server may send what this one does not know
            announcement = decode(message)
            if announcement.server == self._server:
                return
            for change in announcement.changes:
                self._deliver(change)

    def _deliver(self, change: Change) -> None:
        if change.owner == EVERYONE:
            found = [receive for receivers in self._receivers.values() for receive in receivers]
        else:
            found = list(self._receivers.get(change.owner, ()))
        for receive in found:
            receive(change)


def pack_changes(server: str, changes: Iterable[Change]) -> list[bytes]:
    """Messages of at most `MAX_MESSAGE_BYTES`, in order."""
    messages, packed, size = list[bytes](), list[Change](), 0
    for change in changes:
        length = len(encode(change)) + 1
        if packed and size + length > MAX_MESSAGE_BYTES - 100:
            messages.append(encode(Announcement(server, packed)))
            packed, size = [], 0
        packed.append(change)
        size += length
    return [*messages, encode(Announcement(server, packed))] if packed else messages


async def announce_from_command(bus: ChangeBus, owner: str) -> None:
    """For a command beside the servers that has changed anything of a user. Raises what the bus raises."""
    await bus.send([encode(Announcement(secrets.token_hex(8), [Change(hash_owner(owner), "all")]))])
