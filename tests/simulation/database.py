"""The database, with the only clock that counts, and a process's way to it.

The queries are those of `rightseat.stores`, on SQLite in memory: one transaction after the other. Leases are what
`stores.leases` and `stores.postgresql` do, with the statements written anew for this clock: renewed four times in a
lease by something that only stops with its process, judged where they are kept. What the store asks is asked once, as
there: when the connection breaks, it may have been done. What the engine asks is asked until it is answered.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection, create_engine

from rightseat.core.ask import Ask
from rightseat.core.errors import StoreUnreachable
from rightseat.core.leases import HeldLease
from rightseat.stores import process_queries
from rightseat.stores.databases import Work
from rightseat.stores.prepared import Parameters, PreparedStatement, Row
from rightseat.stores.scripts import Script, run_script
from rightseat.stores.tables import metadata
from tests.simulation.clock import Clock, Loop
from tests.simulation.network import Broken, Exchange, Link, Server

P = ParamSpec("P")
T = TypeVar("T")

LEASE = 4.0
BEAT = LEASE / 4
UNAVAILABLE_TIMEOUT_S = 15.0  # seconds that a process waits for a database that is away


@cache
def in_memory() -> Connection:
    connection = create_engine("sqlite://").connect()
    with connection.begin():
        metadata.create_all(connection)
    return connection


class Database(Server):
    """The server. `steps`, `executors` and the `queue` are what the engine keeps in it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.leases: dict[int, float] = {}
        self.steps: dict[tuple[str, str], tuple[float, bytes]] = {}
        self.executors: dict[str, int] = {}
        self.known: set[str] = set()
        self.queue: dict[str, Ask] = {}
        self.taken: dict[str, Ask] = {}  # out of the queue
        self.listeners: list[Callable[[], None]] = []
        self.reaped_by: Callable[[int], None] = lambda process: None  # told who has just found a dead one
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

    def renew(self, process: int) -> None:
        self.leases[process] = self.clock.now + LEASE


class Connected:
    """A process's database, as `stores.databases` has it."""

    dialect = "sqlite"
    reap_every: float | None = min(BEAT, 1.0)
    lease: HeldLease | None = None
    on_lost_scripts: Callable[[], None]

    def __init__(self, server: Database, link: Link, process: int, *, buries_first: bool) -> None:
        self.process_id = process
        self.server = server
        self._link = link
        self._buries_first = buries_first

    async def open(self) -> None:
        await self.call(self.server.renew, self.process_id)
        self._beat()

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

    async def query(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    async def poll(self, statement: PreparedStatement, parameters: Parameters) -> Sequence[Row]:
        if statement is process_queries.OTHER_PROCESSES:
            found = await self._once(self._bury if self._buries_first else self._others)
            return [(process,) for process in found]
        return await self.query(statement.fetch, parameters)

    async def scan(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    def lacks_thread(self, thread_id: str) -> bool:
        return False  # a lookup waits for the server

    def _others(self) -> list[int]:
        found, leases, now = self.server.others(self.process_id), self.server.leases, self.server.clock.now
        if any(leases.get(process, 0.0) <= now for process in found):
            self.server.reaped_by(self.process_id)
        return found

    def _bury(self) -> list[int]:
        """A flaw: who is dead is struck from the list of the living, and only then are its runs looked for."""
        leases, now = self.server.leases, self.server.clock.now
        dead = [process for process, until in leases.items() if until <= now and process != self.process_id]
        for process in dead:
            del leases[process]
        if dead:
            self.server.reaped_by(self.process_id)
        return dead

    async def find_suspects(self, process_ids: Sequence[int]) -> Sequence[int]:
        return process_ids

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        return self.server.leases.get(process_id, 0.0) <= self.server.clock.now

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
        """As DBOS: until it is answered."""
        since, pause = self._link.clock.now, 0.05
        while True:
            try:
                return await self._once(do, *args, **kwargs)
            except StoreUnreachable as error:
                if self._link.clock.now - since >= UNAVAILABLE_TIMEOUT_S:
                    raise OSError("the database is away") from error
                await asyncio.sleep(pause)  # of simulated time
                pause = min(2 * pause, 1.0)

    def _beat(self) -> None:
        """From a thread of its own: it is late only if the process stands still, or the way is cut."""
        loop: Loop = self._link.loop
        self._link.ask(self._renew).add_done_callback(lambda told: told.exception())
        loop.call_later(BEAT, self._beat)

    def _renew(self, exchange: "Exchange[None]") -> None:
        self.server.renew(self.process_id)
        exchange.answer(None)
