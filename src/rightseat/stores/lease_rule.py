"""Decides which other processes are dead, from what this process observes of their leases. It neither waits nor reads.

A process renews the row of its lease four times in a lease, and each renewal writes a new value. A process is dead if
this one has seen its row unchanged for a whole lease of its own monotonic time. No clock of the database or of another
machine decides, so it harms nothing if one is set, or if a standby takes over whose clock is wrong.

While the database is away, none can renew. So a process judges others only while its own renewals succeed in time. It
forgets what it has seen when one of them failed or was late: from then on, all who live have had the same chance.

A killed process is found in half a lease. The operating system closes the connection that renewed its row, and the
database ends the backend of that connection; a live process has renewed over another connection by then.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """When a lease of so many seconds is renewed."""

    seconds: float

    @property
    def interval(self) -> float:
        """Between two renewals."""
        return self.seconds / 4

    @property
    def retry_delay(self) -> float:
        """After a renewal that failed. A database that is back has to be noticed by all within a part of a lease."""
        return self.seconds / 16

    @property
    def attempt_timeout(self) -> float:
        """Of one attempt. On a busy machine, a connection takes up to a second."""
        return max(self.seconds / 4, min(1.0, self.seconds / 2))

    @property
    def max_gap(self) -> float:
        """Between the start of a renewal and the end of the next one. After a longer one, the database was away."""
        return self.seconds * 3 / 8


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """What the row of a process said when it was read."""

    value: Hashable
    """Another one after each renewal."""
    seconds: float
    """The lease of that process: its configuration may differ from that of this one."""
    is_released: bool = False
    """The process has ended by itself."""
    is_disconnected: bool = False
    """The connection of its last renewal is closed, and the database has not been restarted since."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    value: Hashable
    since: float


class LeaseJudge:
    """Times are those of the monotonic clock of this process, whose renewals may be recorded in another thread."""

    def __init__(self, seconds: float) -> None:
        self.times = LeaseTimes(seconds)
        self._lock = Lock()
        self._renewal_began_at: float | None = None  # of the last one, if it succeeded
        self._seen: dict[int, _Sighting] = {}

    def record_renewal(self, began_at: float, now: float) -> None:
        with self._lock:
            if self._renewal_began_at is None or now - self._renewal_began_at > self.times.max_gap:
                self._seen.clear()
            self._renewal_began_at = began_at

    def record_failure(self) -> None:
        with self._lock:
            self._renewal_began_at = None
            self._seen.clear()

    def find_suspects(self, rows: Mapping[int, LeaseRow | None], asked_at: float, now: float) -> list[int]:
        """Those that may be dead, of all processes whose rows were read between `asked_at` and `now`.

        None is a row that does not exist: a standby may lack it, or a process that was taken for dead has not written
        it again. It counts as one that does not change.
        """
        with self._lock:
            self._seen = {id: seen for id, seen in self._seen.items() if id in rows}
            return [id for id, row in rows.items() if self._is_suspect(id, row, asked_at, now, 1 / 2)]

    def is_dead(self, process_id: int, row: LeaseRow | None, asked_at: float, now: float) -> bool:
        """By a row that was read between `asked_at` and `now`, and that its process cannot change meanwhile."""
        share = 1 / 2 if row is not None and row.is_disconnected else 1
        with self._lock:
            return self._is_suspect(process_id, row, asked_at, now, share)

    def _is_suspect(self, process_id: int, row: LeaseRow | None, asked_at: float, now: float, share: float) -> bool:
        """Whether its row has not changed for this share of a lease."""
        if row is not None and row.is_released:
            return True
        if self._renewal_began_at is None or now - self._renewal_began_at > self.times.max_gap:
            return False
        value, seconds = (None, 0.0) if row is None else (row.value, row.seconds)
        seen = self._seen.get(process_id)
        if seen is None or seen.value != value:
            self._seen[process_id] = _Sighting(value, now)
            return False
        return asked_at - seen.since >= share * max(seconds, self.times.seconds)
