"""Bounds what one user makes this process read of what is stored, at one time.

A request holds a place from its first read of a thread, a log or a file (`Runtime`) until its response is sent, so a
client that does not read its response keeps the place. A request that starts a run gives it back: runs have limits of
their own. Whatever serves a request opens `RequestReads` for it, and closes them.
"""

import asyncio

from rightseat.core.ask import ANYONE
from rightseat.core.errors import ConcurrencyLimitExceeded
from rightseat.limits.body_pace import BodyPace, TooManyBodies, TooManyLargeRequests
from rightseat.reads import READS
from rightseat.turns import take_turn

MAX_CONCURRENT_READS_PER_USER = 4
"""A read has its document in memory several times: as stored, decoded, and as it is sent."""
MAX_CONCURRENT_STREAMS_PER_USER = 64
MAX_WAITING_READS = 64
"""Of one user; further ones are refused at once."""
READ_WAIT_S = 5.0
"""How long a read waits for one of its user that ends."""
RETRY_AFTER_S = 5


class TooManyReads(ConcurrencyLimitExceeded):
    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most:,} of your requests read stored data already, and none ended within {READ_WAIT_S:g} s. Read their "
            "responses or close their connections, then retry. The operator sets the limit with "
            "`server.max_concurrent_reads_per_user`.",
            retry_after=RETRY_AFTER_S,
        )


class TooManyStreams(ConcurrencyLimitExceeded):
    def __init__(self, most: int) -> None:
        super().__init__(
            f"The limit of {most:,} open streams per user is reached. Close one, then retry. The operator sets it with "
            "`server.max_concurrent_streams_per_user`.",
            retry_after=RETRY_AFTER_S,
        )


class _UserPlaces:
    """The places of a user that is reading or has an open stream."""

    __slots__ = ("free", "holders", "streams", "waiting")

    def __init__(self, max_reads: int) -> None:
        self.free = asyncio.Semaphore(max_reads)
        self.holders = self.streams = self.waiting = 0

    @property
    def is_unused(self) -> bool:
        return not (self.holders or self.streams or self.waiting)


class ReadLimits:
    """The places of all users of this process, and the pace of their large requests. None and 0 mean no limit; `ANYONE`
    has none, because unauthenticated clients share that user."""

    def __init__(
        self,
        max_reads: int | None = MAX_CONCURRENT_READS_PER_USER,
        max_streams: int | None = MAX_CONCURRENT_STREAMS_PER_USER,
        wait_seconds: float = READ_WAIT_S,
    ) -> None:
        self._wait_seconds = wait_seconds
        self._max_reads = max_reads or None
        self._max_streams = max_streams or None
        self._users: dict[str, _UserPlaces] = {}
        self.pace = BodyPace()

    def open_request(self, user: str) -> "RequestReads":
        return RequestReads(self, user)

    async def take_read(self, user: str, *, is_patient: bool) -> bool:
        """Whether a place was taken, which `give_back_read` gives back. A patient read waits without end.

        Raises `TooManyReads`.
        """
        if self._max_reads is None or user == ANYONE.id:
            return False
        places = self._find(user)
        if not is_patient and places.waiting >= MAX_WAITING_READS:
            raise TooManyReads(self._max_reads)
        places.waiting += 1
        try:
            async with asyncio.timeout(None if is_patient else self._wait_seconds):
                await places.free.acquire()
        except TimeoutError:
            raise TooManyReads(self._max_reads) from None
        else:
            places.holders += 1
        finally:
            places.waiting -= 1
            self._drop_unused(user, places)
        return True

    def give_back_read(self, user: str) -> None:
        places = self._users[user]
        places.holders -= 1
        places.free.release()
        self._drop_unused(user, places)

    def take_stream(self, user: str) -> bool:
        """As `take_read`, without waiting. Raises `TooManyStreams`."""
        if self._max_streams is None or user == ANYONE.id:
            return False
        places = self._find(user)
        if places.streams >= self._max_streams:
            raise TooManyStreams(self._max_streams)
        places.streams += 1
        return True

    def give_back_stream(self, user: str) -> None:
        places = self._users[user]
        places.streams -= 1
        self._drop_unused(user, places)

    def _find(self, user: str) -> _UserPlaces:
        return self._users.setdefault(user, _UserPlaces(self._max_reads or 1))

    def _drop_unused(self, user: str, places: _UserPlaces) -> None:
        if places.is_unused:
            self._users.pop(user, None)


class RequestReads:
    """The place that one request holds while it reads what is stored, and that of its stream."""

    __slots__ = ("_body_bytes", "_has_stream", "_limits", "_user", "has_left", "is_holding", "retry_after")

    def __init__(self, limits: ReadLimits, user: str) -> None:
        self._limits = limits
        self._user = user
        self.has_left = False
        self._has_stream = False
        self._body_bytes = 0
        self.is_holding = False
        self.retry_after: int | None = None  # of a refusal; the exception would keep the frames that have the body

    def receive(self, count: int) -> None:
        """Count bytes of the body, until the request starts a run or its response is sent. Raises `TooManyBodies`."""
        try:
            self._limits.pace.add_bytes(self._user, count)
        except TooManyBodies as error:
            self.retry_after = error.retry_after
            raise
        self._body_bytes += count

    async def pace(self, containers: int) -> None:
        """Wait for the turn of a body with so many objects and arrays. Raises `TooManyLargeRequests`."""
        try:
            await self._limits.pace.wait(self._user, containers)
        except TooManyLargeRequests as error:
            self.retry_after = error.retry_after
            raise

    async def hold(self, *, is_patient: bool = False) -> None:
        """Take a place, unless this request has one or needs none any more. Raises `TooManyReads`."""
        if not self._needs_place():
            return
        try:
            is_taken = await self._limits.take_read(self._user, is_patient=is_patient)
        except TooManyReads as error:
            self.retry_after = error.retry_after
            raise
        if not is_taken:
            return
        if not self._needs_place():  # another task of the request was faster
            return self._limits.give_back_read(self._user)
        self.is_holding = True

    def _needs_place(self) -> bool:
        return not (self.is_holding or self.has_left)

    def release(self) -> None:
        """Give the place back: what was read is sent. The next read takes one again."""
        if self.is_holding:
            self.is_holding = False
            self._limits.give_back_read(self._user)

    def leave(self) -> None:
        """The request starts a run: from now on it is bounded by the limits of runs."""
        self.release()
        self.has_left = True
        if self._body_bytes:
            self._limits.pace.remove_bytes(self._user, self._body_bytes)
            self._body_bytes = 0

    def open_stream(self) -> None:
        """Count the response as an open stream, unless it is that of a run it has started. Raises `TooManyStreams`."""
        if not self.has_left:
            self._has_stream = self._limits.take_stream(self._user)

    def close(self) -> None:
        """The response is sent. Tasks that the request has left behind read without a place."""
        self.leave()
        if self._has_stream:
            self._has_stream = False
            self._limits.give_back_stream(self._user)

    def open_part(self) -> "RequestReads":
        """For a task of a stream, which holds a place while it sends what is stored, and must close this."""
        return RequestReads(self._limits, self._user)


def current_reads() -> RequestReads | None:
    """Those of the current request; None outside of requests."""
    reads = READS.get()
    return reads if isinstance(reads, RequestReads) else None


def receive_bytes(count: int) -> None:
    """Called by whatever receives a body, for each piece. Raises `TooManyBodies`."""
    if (reads := current_reads()) is not None:
        reads.receive(count)


async def pace_body(containers: int) -> None:
    """Called by whatever decodes a body, before it does. Raises `TooManyLargeRequests`."""
    if (reads := current_reads()) is not None:
        await reads.pace(containers)
        await take_turn()


def open_part() -> RequestReads:
    """As `RequestReads.open_part`, and makes it that of this task."""
    reads = current_reads()
    part = reads.open_part() if reads is not None else ReadLimits(None, None).open_request(ANYONE.id)
    READS.set(part)
    return part
