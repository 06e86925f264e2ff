"""The seam to a server that stores the logs of several processes: each method is one exchange with the server."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from rightseat.core.log import Position
from rightseat.logs.shared.records import Record, RecordPage
from rightseat.operations.changes import ChangeBus

LastPosition = Position | None
"""The position of a log's last record; None if the log does not exist."""


class BackendUnavailable(Exception):
    """The server does not respond, or fails for now. The request may have been executed or not."""


class Claim(NamedTuple):
    """`fence` is the record that fences off earlier writers, `last_entry` the last entry before it."""

    fence: Position
    last_entry: Position


@runtime_checkable
class SupportsChanges(Protocol):
    """A backend that also carries announcements between servers."""

    def changes(self) -> ChangeBus: ...


class Subscription(Protocol):
    """Receives new records of many logs at once."""

    async def receive(self, positions: Mapping[str, Position]) -> Mapping[str, Sequence[Record]]:
        """Return the records after these positions, and wait for them, though not for ever. Not reentrant."""
        ...

    def wake(self) -> None:
        """Make `receive` return soon, because the positions have changed."""
        ...

    async def close(self) -> None: ...


class LogBackend(Protocol):
    """Every method may raise `BackendUnavailable` and may then be retried with the same `idempotency_key`.

    Readers get only records that are stored as safely as those that were acknowledged to writers.
    """

    max_runs_per_subscription: int

    async def open(self) -> None:
        """Raises `ConfigError`."""
        ...

    async def close(self) -> None: ...

    async def create(self, run_id: str, idempotency_key: bytes) -> None:
        """Raises `RunExists`."""
        ...

    async def claim(self, run_id: str, epoch: int, base: int | None, idempotency_key: bytes) -> Claim:
        """Raises `StaleWriter`, and without a `base` `RunNotFound`."""
        ...

    async def append(self, records: Sequence[tuple[str, Record]]) -> Sequence[LastPosition]:
        """Append one record to each of several logs, in one exchange. Returns the last positions of these logs.

        The last position of a log that refused its record has a higher epoch.
        """
        ...

    async def last_positions(self, run_ids: Sequence[str]) -> Sequence[LastPosition]: ...

    async def read(self, run_id: str, after: Position, count: int) -> RecordPage:
        """Read at most `count` records. Raises `RunNotFound`, and `LogTruncated` if the log ends before `after`."""
        ...

    async def delete(self, run_ids: Sequence[str]) -> None: ...

    async def keep_judged(self, run_id: str) -> None:
        """Delete an ended run later than others, if it is still there."""
        ...

    async def clean_up(self, live: Sequence[str]) -> None:
        """Delete runs whose retention is over, and protect the runs in `live` from it."""
        ...

    def subscribe(self) -> Subscription: ...
