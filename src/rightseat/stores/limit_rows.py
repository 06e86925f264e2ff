"""The rows of counting, as statements of each dialect read and write them, and the protocol of these statements.

A statement takes its rows as one JSON array, so its text is the same for one row and for two hundred, and a driver
prepares it once.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from rightseat.limits.rules import CounterKey
from rightseat.stores.scripts import Script


class SavedCounter(msgspec.Struct):
    """A counter to write back. Without `expires_at` the stored one stays."""

    limit_name: str
    rule: str
    subject: str
    buckets: str
    expires_at: float | None


class SavedHold(msgspec.Struct):
    id: str
    run_id: str
    process_id: int
    hold: str
    queue: str | None = None
    slot_user: str | None = None


class AddedUsage(msgspec.Struct):
    """What is added to a row of usage, whose key are the first six."""

    day: str
    user: str
    key: str
    agent: str
    model: str
    purpose: str
    requests: int
    refused: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    estimated_tokens: int
    cost: int


class LockedRows(NamedTuple):
    """`counters` has the buckets of the counters that exist, `holds` the deleted holds by id; both as JSON.

    `database_seconds` is the time of the database's server after the locks were taken; None without a server.
    """

    counters: dict[CounterKey, str]
    holds: dict[str, str]
    database_seconds: float | None


class SavedRows(NamedTuple):
    """What a transaction writes: locked counters, new holds, and additions to usage, each in the order of its keys."""

    counters: Sequence[SavedCounter] = ()
    holds: Sequence[SavedHold] = ()
    usage: Sequence[AddedUsage] = ()


class LimitDecision(NamedTuple):
    """A decision that was made before anything was locked, and the rows and the time that it depends on.

    `counters` has the buckets as JSON; `settled` are ids of holds that `owner` must have. With a database server, the
    decision is right from the first to the last of `seconds` by its clock. Without `is_flushed` the commit does not
    wait for the disk.
    """

    counters: Mapping[CounterKey, str]
    settled: Sequence[str]
    owner: int
    seconds: tuple[float, float]
    saved: SavedRows
    is_flushed: bool = True


class ComparedRows(NamedTuple):
    """`counters` has the buckets of the counters that exist, as JSON; none if they are as expected."""

    is_equal: bool
    counters: dict[CounterKey, str]
    database_seconds: float | None


class LimitStatements(Protocol):
    def read(self, keys: Iterable[CounterKey]) -> Script[ComparedRows]:
        """Read counters, without locks."""
        ...

    def replace(self, decided: LimitDecision) -> Script[ComparedRows]:
        """Lock and compare; if all is as expected, delete the settled holds and save the rows. Else nothing changes.

        It needs no transaction around it.
        """
        ...

    def lock(self, keys: Iterable[CounterKey], settled: Sequence[str], owner: int) -> Script[LockedRows]:
        """Lock counters until the end of the transaction, in the order of their keys; then delete the settled holds.

        Holds of another process than `owner` stay.
        """
        ...

    def save(self, saved: SavedRows) -> Script[None]:
        """Write locked counters back, insert holds, and add to rows of usage, in the given order."""
        ...

    def move(self, ids: Sequence[str], process_id: int) -> Script[dict[str, str]]:
        """Make a process the owner of holds. Returns those that exist, as JSON."""
        ...

    def find_hold(self, id: str, process_id: int) -> Script[bool]:
        """Whether the hold exists and this process, which is not taken for dead, owns it, until the transaction ends.

        A process that is found dead is locked first, and its holds after that.
        """
        ...

    def read_tickets(self, queues: Sequence[str]) -> Script[list[str]]:
        """The tickets of these queues, as JSON."""
        ...

    def count_slots(self, users: Sequence[str]) -> Script[dict[str, int]]:
        """How many slots these users hold. Those without one are left out."""
        ...

    def remove_tickets(self, ids: Sequence[str]) -> Script[None]: ...


def encode(rows: object) -> str:
    return msgspec.json.encode(rows).decode()


ADD_TO_KNOWN_USAGE = """
ON CONFLICT (day, "user", key, agent, model, purpose) DO UPDATE SET
    requests = usage.requests + excluded.requests,
    refused = usage.refused + excluded.refused,
    input_tokens = usage.input_tokens + excluded.input_tokens,
    cached_tokens = usage.cached_tokens + excluded.cached_tokens,
    output_tokens = usage.output_tokens + excluded.output_tokens,
    estimated_tokens = usage.estimated_tokens + excluded.estimated_tokens,
    cost = usage.cost + excluded.cost
"""
