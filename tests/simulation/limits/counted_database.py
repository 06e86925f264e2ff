"""A database that checks every counter after each transaction, and a process's connection to it.

A reservation counts as used from the moment it is written, so what may never happen is visible after each commit.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, ParamSpec, TypeVar, cast

from sqlalchemy import Connection

from rightseat.core.limits.book import Hold
from rightseat.core.limits.rules import CounterKey, Limits
from rightseat.stores import limit_queries
from rightseat.stores.databases import Work
from rightseat.stores.limit_queries import decode_buckets, decode_hold
from tests.simulation.clock import Clock
from tests.simulation.database import Connected, Database

P = ParamSpec("P")
T = TypeVar("T")


class CountedDatabase(Database):
    """`taken_over` are runs that were admitted by another process: their slots are taken also beyond the limit."""

    def __init__(self, clock: Clock, limits: Limits, epoch: float) -> None:
        super().__init__(clock)
        self.limits = limits
        self.epoch = epoch
        self.holds: list[Hold] = []
        self.problems: list[str] = []
        self.reaped: set[int] = set()
        self.taken_over: set[str] = set()
        self._holding: list[int] = []

    @property
    def time(self) -> float:
        """Unix time."""
        return self.epoch + self.clock.now

    def check(self) -> None:
        if not self.problems:  # counters stay wrong after the first
            self.problems += [f"{self.clock.now:8.3f} {one}" for one in self._find_problems()]

    def holding(self, own_process: int) -> list[int]:
        """The other processes that have reservations. All processes ask for them every second."""
        return [one for one in self._holding if one != own_process]

    def _find_problems(self) -> Iterator[str]:
        """By the driver: SQLAlchemy would take most of the time of a schedule."""
        stored = self.driver.execute("SELECT process_id, hold FROM limit_holds").fetchall()
        self._holding = sorted({process for process, _ in stored})
        self.holds = [decode_hold(text) for _, text in stored]
        held, beyond = self._sum_holds()
        for *key, text in self.driver.execute("SELECT limit_name, rule, subject, buckets FROM limit_counters"):
            counter = CounterKey(*key)
            rule = self.limits.find_rule(counter)
            assert rule is not None
            live = {
                number: one
                for number, one in decode_buckets(text).items()
                if rule.window is None or rule.window.is_live(number, self.time)
            }
            total = sum(used + reserved for used, reserved in live.values()) - beyond[counter]
            if total > rule.most:
                yield f"{counter} has {total} used and reserved, more than its limit of {rule.most}"
            for bucket, (_, reserved) in live.items():
                if reserved != held[counter, bucket]:
                    yield f"{counter} has {reserved} reserved, its reservations have {held[counter, bucket]}"

    def _sum_holds(self) -> "tuple[Counter[tuple[CounterKey, int]], Counter[CounterKey]]":
        """What is reserved by bucket, and how much of it may exceed the limit."""
        held: Counter[tuple[CounterKey, int]] = Counter()
        beyond: Counter[CounterKey] = Counter()
        for hold in self.holds:
            for one in hold.amounts:
                held[one.key, one.bucket] += one.amount
                if one.kind == "runs" and hold.run_id in self.taken_over:
                    beyond[one.key] += one.amount
        return held, beyond


class CountedConnection(Connected):
    """Records which processes were found dead."""

    server: CountedDatabase

    async def query(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if work is limit_queries.list_holding_processes:
            found: Any = await self._once(self.server.holding, self.process_id)
            return cast(T, found)
        return await super().query(work, *args, **kwargs)

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        is_dead = super().is_dead(connection, process_id)
        if is_dead:
            self.server.reaped.add(process_id)
        return is_dead
