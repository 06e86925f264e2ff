"""A database that checks every counter after each transaction, and a process's connection to it.

A reservation counts as used from the moment it is written, so what may never happen is visible after each commit.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from rightseat.limits.book import Hold
from rightseat.limits.rules import CounterKey, Limits
from rightseat.stores import limit_queries
from rightseat.stores.limit_queries import decode_buckets, decode_hold
from rightseat.stores.prepared import Parameters, PreparedStatement, Row
from tests.simulation.clock import Clock
from tests.simulation.database import Connected, Database
from tests.simulation.limits.provider import ESTIMATED_INPUT, ProviderCall


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
        self._owners: dict[str, int] = {}  # of the holds, as processes
        self._dying: set[str] = set()  # holds of a process that was found dead in the current transaction
        self._settled: set[str] = set()  # holds that another process has settled
        self._repeated: dict[str, ProviderCall] = {}

    @property
    def time(self) -> float:
        """Unix time."""
        return self.epoch + self.clock.now

    def check(self) -> None:
        if not self.problems:  # counters stay wrong after the first
            self.problems += [f"{self.clock.now:8.3f} {one}" for one in self._find_problems()]

    def holding(self, own_process: int) -> list[int]:
        """The other processes that have reservations. All processes ask for them every second."""
        return sorted({one for one in self._owners.values() if one != own_process})

    def find_dead(self, process: int) -> None:
        """The current transaction settles what the process has reserved."""
        self.reaped.add(process)
        self._dying = {hold for hold, owner in self._owners.items() if owner == process}

    def note_repeated(self, hold: str, call: ProviderCall) -> None:
        """The call is reserved once more. If another process settles its first reservation, both are counted."""
        self._repeated[hold] = call
        self._count_settled()

    def _count_settled(self) -> None:
        for hold in self._settled & self._repeated.keys():
            self._repeated.pop(hold).before = ESTIMATED_INPUT

    def _find_problems(self) -> Iterator[str]:
        """By the driver: SQLAlchemy would take most of the time of a schedule."""
        stored = self.driver.execute("SELECT process_id, hold FROM limit_holds").fetchall()
        self.holds = [decode_hold(text) for _, text in stored]
        self._owners = {hold.id: process for hold, (process, _) in zip(self.holds, stored, strict=True)}
        self._settled |= self._dying - self._owners.keys()
        self._dying.clear()
        self._count_settled()
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

    async def poll(self, statement: PreparedStatement, parameters: Parameters) -> Sequence[Row]:
        if statement is limit_queries.HOLDING_PROCESSES:
            return [(process,) for process in await self._once(self.server.holding, self.process_id)]
        return await super().poll(statement, parameters)

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        is_dead = super().is_dead(connection, process_id)
        if is_dead:
            self.server.find_dead(process_id)
        return is_dead
