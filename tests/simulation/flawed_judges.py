"""Rules that look right, and by which processes that live are taken for dead."""

import math
from collections.abc import Mapping

from rightseat.stores.lease_rule import LeaseJudge, LeaseRow, LeaseTimes
from tests.simulation.database import LEASE, Database


class JudgeByExpiry(LeaseJudge):
    """The end of a lease is a time by the clock of the database."""

    def __init__(self, database: Database) -> None:
        super().__init__(LEASE)
        self._database = database

    def find_suspects(self, rows: Mapping[int, LeaseRow | None], asked_at: float, now: float) -> list[int]:
        return [id for id in rows if self.is_dead(id, rows[id], asked_at, now)]

    def is_dead(self, process_id: int, row: LeaseRow | None, asked_at: float, now: float) -> bool:
        lease = self._database.leases.get(process_id)
        return lease is None or lease.expires_at <= self._database.time


class PatientTimes(LeaseTimes):
    max_gap = math.inf


class JudgeWithoutOwnLease(LeaseJudge):
    """A row that does not change is enough: whether others could have renewed does not count."""

    def __init__(self, _: Database) -> None:
        super().__init__(LEASE)
        self.times = PatientTimes(LEASE)

    def record_failure(self) -> None: ...
