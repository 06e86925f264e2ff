"""The database, with a clock of its own, and a process's way to it.

The queries are those of `rightseat.stores`, on SQLite in memory: one transaction after the other. `stores.lease_rule`
decides who is dead, from rows like those of `stores.leases`: renewed four times in a lease by something that only stops
with its process. What the store asks is asked once, as there: when the connection breaks, it may have been done.
What the engine asks is asked until it is answered.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection, create_engine

from rightseat.core.ask import Ask
from rightseat.core.errors import StoreUnreachable
from rightseat.operations.database_metrics import ObserveOperation, PoolState, ignore_operation
from rightseat.operations.leases import HeldLease
from rightseat.stores import process_queries
from rightseat.stores.lease_rule import LeaseJudge, LeaseRow
from rightseat.stores.prepared import Parameters, PreparedStatement, Row
from rightseat.stores.scripts import Script, run_script
from rightseat.stores.store_database import Work
from rightseat.stores.tables import metadata
from tests.simulation.clock import Clock, Loop
from tests.simulation.network import Broken, Exchange, Link, Server

P = ParamSpec("P")
T = TypeVar("T")

LEASE = 4.0
UNAVAILABLE_TIMEOUT_S = 15.0  # seconds that a process waits for a database that is away


@cache
def in_memory() -> Connection:
    connection = create_engine("sqlite://").connect()
    with connection.begin():
        metadata.create_all(connection)
    return connection


@dataclass(frozen=True, slots=True)
class StoredLease:
    """The row of a process. `expires_at` is by the clock of the database, as servers of earlier versions read it."""

    number: int
    expires_at: float
    link: Link
    connection: tuple[int, int]
    server_starts: int

    @property
    def is_disconnected(self) -> bool:
        is_closed = not self.link.loop.is_alive or self.link.connection != self.connection
        return is_closed and self.link.server.starts == self.server_starts


OpenJudge = Callable[["Database"], LeaseJudge]
"""Makes what decides for one process which others are dead."""


def by_the_rule(_: "Database") -> LeaseJudge:
    return LeaseJudge(LEASE)


class Database(Server):
    """The server. `steps`, `executors` and the `queue` are what the engine keeps in it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.leases: dict[int, StoredLease] = {}
        self.clock_error = 0.0
        self.steps: dict[tuple[str, str], tuple[float, bytes]] = {}
        self.executors: dict[str, int] = {}
        self.known: set[str] = set()
        self.queue: dict[str, Ask] = {}
        self.taken: dict[str, Ask] = {}  # out of the queue
        self.listeners: list[Callable[[], None]] = []
        self.note_takeover: Callable[[int, int], None] = lambda heir, process: None
        self._connection = in_memory()
        driver: Any = self._connection.connection.dbapi_connection
        self.driver: sqlite3.Connection = driver
        self._others: dict[int, list[int]] = {}
        with self._connection.begin():
            for table in reversed(metadata.sorted_tables):
                self.driver.execute(f"DELETE FROM {table.name}")  # noqa: S608  # the names are ours

    def transact(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        changes = self.driver.total_changes
        with self._connection.begin():
            result = work(self._connection, *args, **kwargs)
        if self.driver.total_changes != changes:
            self._others.clear()
            self.check()
        return result

    def check(self) -> None:
        """Called after every transaction that has changed something."""

    def others(self, me: int) -> list[int]:
        """Asked by everyone all the time, and the same until something is written."""
        if me not in self._others:
            with self._connection.begin():
                found = process_queries.OTHER_PROCESSES.fetch(self._connection, {"own_process": me})
            self._others[me] = [process for (process,) in found]
        return self._others[me]

    @property
    def time(self) -> float:
        return self.clock.now + self.clock_error

    def renew(self, process: int, link: Link) -> None:
        lease = StoredLease(self.clock.count(), self.time + LEASE, link, link.connection, self.starts)
        self.leases[process] = lease

    def read_lease(self, process: int) -> LeaseRow | None:
        lease = self.leases.get(process)
        if lease is None:
            return None
        return LeaseRow((lease.number, lease.expires_at), LEASE, is_disconnected=lease.is_disconnected)

    def read_leases(self, processes: Sequence[int]) -> dict[int, LeaseRow | None]:
        return {process: self.read_lease(process) for process in processes}


class Connected:
    """A process's database, as `stores.databases` has it."""

    dialect = "sqlite"
    reap_every: float | None = min(LEASE / 4, 1.0)
    lease: HeldLease | None = None
    on_lost_scripts: Callable[[], None]

    def __init__(
        self,
        server: Database,
        link: Link,
        process: int,
        *,
        buries_first: bool = False,
        open_judge: OpenJudge = by_the_rule,
    ) -> None:
        self.process_id = process
        self.observe_operation: ObserveOperation = ignore_operation
        self.server = server
        self._link = link
        self._judge = open_judge(server)
        self._is_connected = False  # what renews the lease
        self._buries_first = buries_first
        self._buried: set[int] = set()

    def pool_states(self) -> Sequence[PoolState]:
        return ()

    async def open(self) -> None:
        began_at = self._monotonic()
        await self.call(self.server.renew, self.process_id, self._link)
        self._judge.record_renewal(began_at, self._monotonic())
        loop: Loop = self._link.loop
        self._keeping = loop.create_task(self._keep_lease())

    async def close(self) -> None: ...

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._once(self.server.transact, work, *args, **kwargs)  # type: ignore[arg-type]  # a ParamSpec through two functions

    async def write_run_end(self, run_id: str, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    async def run_script(self, script: Script[T]) -> T:
        return await self.write(run_script, script)

    async def run_statements(self, script: Script[T]) -> T:
        return await self.write(run_script, script)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    async def read_beside(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.write(work, *args, **kwargs)

    async def query(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    async def poll(self, statement: PreparedStatement, parameters: Parameters) -> Sequence[Row]:
        if statement is process_queries.OTHER_PROCESSES:
            found = await self._once(*((self._bury,) if self._buries_first else (self.server.others, self.process_id)))
            return [(process,) for process in found]
        return await self.query(statement.fetch, parameters)

    async def scan(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    def lacks_thread(self, thread_id: str) -> bool:
        return False  # a lookup waits for the server

    def _bury(self) -> list[int]:
        """A flaw: who is dead is struck from the list of the living, and only then are its runs looked for."""
        now, judge = self._monotonic(), self._judge
        rows = self.server.read_leases([one for one in self.server.leases if one != self.process_id])
        dead = [one for one in judge.find_suspects(rows, now, now) if judge.is_dead(one, rows[one], now, now)]
        for process in dead:
            del self.server.leases[process]
            self._buried.add(process)
            self.server.note_takeover(self.process_id, process)
        return dead

    async def find_suspects(self, process_ids: Sequence[int]) -> Sequence[int]:
        asked_at = self._monotonic()
        rows = await self._once(self.server.read_leases, process_ids)
        return self._judge.find_suspects(rows, asked_at, self._monotonic())

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        now = self._monotonic()
        is_dead = self._judge.is_dead(process_id, self.server.read_lease(process_id), now, now)
        if is_dead:
            self.server.leases.pop(process_id, None)  # as `process_queries.adopt`
            self.server.note_takeover(self.process_id, process_id)
        return is_dead or process_id in self._buried

    def _monotonic(self) -> float:
        loop: Loop = self._link.loop
        return loop.monotonic()

    def erase(self) -> None: ...

    async def _once(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `stores.postgresql`: who asked decides whether to ask again."""

        def work(exchange: "Exchange[T]") -> None:
            try:
                exchange.answer(do(*args, **kwargs))
            except Exception as error:
                exchange.refuse(error)

        try:
            async with asyncio.timeout(UNAVAILABLE_TIMEOUT_S):
                return await self._link.ask(work)
        except (Broken, TimeoutError) as error:
            raise StoreUnreachable from error

    async def call(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As DBOS, which never gives up: until it is answered."""
        pause = 0.05
        while True:
            try:
                return await self._once(do, *args, **kwargs)
            except StoreUnreachable:
                await asyncio.sleep(pause)  # of simulated time
                pause = min(2 * pause, 1.0)

    async def _keep_lease(self) -> None:
        """From a thread of its own: it is late only if the process stands still, or the way is cut."""
        delay = self._judge.times.interval
        while True:
            await asyncio.sleep(delay)  # of simulated time
            was_connected = self._is_connected
            is_renewed = await self._renew() or (was_connected and await self._renew())
            delay = self._judge.times.interval if is_renewed else self._judge.times.retry_delay

    async def _renew(self) -> bool:
        began_at = self._monotonic()
        try:
            async with asyncio.timeout(self._judge.times.attempt_timeout):
                await self._link.ask(self._send_renewal)
        except (Broken, TimeoutError):
            self._judge.record_failure()
            self._is_connected = False
            return False
        self._judge.record_renewal(began_at, self._monotonic())
        self._is_connected = True
        return True

    def _send_renewal(self, exchange: "Exchange[None]") -> None:
        self.server.renew(self.process_id, self._link)
        exchange.answer(None)
