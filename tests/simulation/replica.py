"""One process of the fleet: its loop, its ways to the servers, and the real parts on top."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from rightseat.core.ask import ANYONE, Ask
from rightseat.core.errors import RightseatError
from rightseat.core.log import Entry
from rightseat.core.loop.agent_loop import Loop as Agent
from rightseat.core.messages import Message, Text
from rightseat.core.runtime import Runtime
from rightseat.logs.shared.log import SharedLog
from rightseat.stores.sql import SqlThreads
from tests.simulation.clock import Clock, Loop
from tests.simulation.database import Connected, Database, OpenJudge, by_the_rule
from tests.simulation.engine import PlayedEngine
from tests.simulation.network import FASTEST, SLOWEST, Link
from tests.simulation.outside import Outside, Shop, Speaker
from tests.simulation.streams import Redis, Rewrite, SimulatedBackend


@dataclass(frozen=True, slots=True)
class Flaws:
    """What can be wrong on purpose, to see that it is noticed."""

    takes_any_id: bool = False
    """The log does not refuse what is not above its top."""
    rewrite: Rewrite | None = None
    """What is sent to Redis in place of what should be."""
    buries_first: bool = False
    """The lease of a dead process is deleted in a transaction of its own, before its runs are taken."""
    open_judge: OpenJudge = by_the_rule
    """What decides which processes are dead."""
    repeats_steps: bool = False
    """What steps gave is not remembered."""
    begins_again: bool = False
    """A model that goes on with an answer says it from its beginning."""


@dataclass(frozen=True, slots=True)
class Servers:
    redis: Redis
    database: Database
    outside: Outside


@dataclass(frozen=True, slots=True)
class Told:
    """What a client gets through a connection: which run it is, entries of it, its end, or an error."""

    run_id: str | None = None
    entries: tuple[Entry, ...] = ()
    is_end: bool = False
    error: Exception | None = None


class Connection:
    """A client's, to one process. What is sent arrives in order, some time later, unless one of them is gone."""

    def __init__(self, clock: Clock, take: Callable[[Told], None]) -> None:
        self.is_open = True
        self._clock = clock
        self._take = take
        self._arrived = 0.0

    def send(self, told: Told) -> None:
        delay = self._clock.random.uniform(FASTEST, SLOWEST)
        self._arrived = max(self._arrived, self._clock.now + delay)
        self._clock.after(self._arrived - self._clock.now, lambda: self._take(told) if self.is_open else None)


class Replica:
    def __init__(self, clock: Clock, servers: Servers, flaws: Flaws) -> None:
        self.clock = clock
        self.loop = Loop(clock)
        self.process = clock.count()
        self.is_ready = False
        self.died_at: float | None = None
        self.disturbed_until = clock.now
        """It was started, stood still, or its own way to the database was cut."""
        self.to_redis, self.to_database = Link(self.loop, servers.redis), Link(self.loop, servers.database)
        executors = servers.database.executors
        speaker = Speaker(servers.outside, self.process, executors, begins_again=flaws.begins_again)
        shop = Shop(servers.outside, self.process, executors)
        database = Connected(
            servers.database,
            self.to_database,
            self.process,
            buries_first=flaws.buries_first,
            open_judge=flaws.open_judge,
        )
        self.engine = PlayedEngine(self.loop, database, repeats_steps=flaws.repeats_steps)
        self.log = SharedLog(SimulatedBackend(servers.redis, self.to_redis, flaws.rewrite), 60.0)
        self.threads = SqlThreads(database)
        self.runtime = Runtime(
            {"default": Agent(speaker, [shop], durable=True)}, log=self.log, threads=self.threads, engine=self.engine
        )
        self._opening = self.loop.create_task(self._open())

    def lives_connected(self, seconds: float) -> bool:
        """Whether it has run for so long, with a way to the database that was as good as that of others."""
        return self.loop.is_alive and self.loop.is_awake and self.clock.now - self.disturbed_until >= seconds

    @property
    def links(self) -> tuple[Link, Link]:
        return self.to_redis, self.to_database

    def failures(self) -> list[str]:
        return self.loop.failures + self.engine.failures

    async def _open(self) -> None:
        while not self.is_ready:
            try:
                await self.threads.__aenter__()
                await self.log.__aenter__()
                await self.runtime.open()
                self.is_ready = True
            except (RightseatError, OSError):
                await asyncio.sleep(1.0)  # of simulated time; then it is started again

    def accept(self, connection: Connection, thread_id: str, run_id: str | None, after: str | None) -> None:
        self.loop.call_soon(
            lambda: self.loop.create_task(self._serve(connection, thread_id, run_id, after)) if self.is_ready else None
        )

    async def _serve(self, connection: Connection, thread_id: str, run_id: str | None, after: str | None) -> None:
        try:
            if run_id is None:
                run_id = await self._find_or_start(connection, thread_id)
                connection.send(Told(run_id))
            async with aclosing(self.runtime.follow(run_id, after)) as batches:
                async for batch in batches:
                    if not connection.is_open:
                        return
                    connection.send(Told(entries=tuple(batch)))
            connection.send(Told(is_end=True))
        except (RightseatError, OSError) as error:
            connection.send(Told(error=error))

    async def _find_or_start(self, connection: Connection, thread_id: str) -> str:
        thread = await self.runtime.thread(thread_id, ANYONE)
        if thread and thread.runs:
            return thread.runs[-1].id
        if not connection.is_open:
            raise OSError("nobody is there any more")
        run_id = f"{thread_id}-r{self.clock.count()}"
        message = Message("user", (Text("Charge it."),), id=run_id)
        await self.runtime.start(Ask(messages=(message,), thread_id=thread_id, run_id=run_id))
        return run_id
