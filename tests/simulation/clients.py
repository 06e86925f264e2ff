"""Those who ask and follow. Like browsers: after an error or three seconds of silence they go elsewhere, with the last
id that they saw; some are restless and do so all the time."""

import asyncio
from collections.abc import Callable, Sequence

from rightseat.core.errors import LogTruncated, RunNotFound
from rightseat.core.log import Entry
from tests.simulation.clock import Loop, pass_time
from tests.simulation.replica import Connection, Replica, Told

SILENCE = 3.0


class Client:
    def __init__(
        self, loop: Loop, replicas: Callable[[], Sequence[Replica]], thread_id: str, *, restless: bool
    ) -> None:
        self.loop = loop
        self.thread_id = thread_id
        self.run_id: str | None = None
        self.entries: list[Entry] = []
        self.is_done = False
        self.is_restless = restless
        self.told: list[str] = []  # that something was lost
        self.breaks: set[int] = set()  # how many entries it had then
        self._replicas = replicas
        self._resume: str | None = None
        self._living = loop.create_task(self._live())

    async def _live(self) -> None:
        random = self.loop.clock.random
        while not self.is_done:
            if replicas := self._replicas():
                await self._connect(random.choice(replicas))
            await pass_time(random, 0.01, 0.3)

    async def _connect(self, replica: Replica) -> None:
        inbox: asyncio.Queue[Told] = asyncio.Queue()
        clock = self.loop.clock
        connection = Connection(clock, inbox.put_nowait)
        clock.after(0.005, lambda: replica.accept(connection, self.thread_id, self.run_id, self._resume))
        patience = clock.random.uniform(0.1, 1.5) if self.is_restless else SILENCE
        try:
            while not self.is_done:
                async with asyncio.timeout(patience):
                    told = await inbox.get()
                if not self._hear(told):
                    return
        except TimeoutError:
            pass
        finally:
            connection.is_open = False

    def _hear(self, told: Told) -> bool:
        """Whether to go on listening."""
        self.run_id = self.run_id or told.run_id
        if told.entries:
            self.entries += told.entries
            self._resume = told.entries[-1].id
        if told.is_end:
            self.is_done = True
        elif isinstance(told.error, LogTruncated):
            self.told.append(repr(told.error))
            self.breaks.add(len(self.entries))
            self._resume = told.error.resume
        elif isinstance(told.error, RunNotFound):
            self.told.append(repr(told.error))
            self.is_done = True
        return told.error is None and not told.is_end
