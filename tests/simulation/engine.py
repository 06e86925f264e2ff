"""An engine that keeps the results of steps in the database, as `core.engine` asks for: `engines.dbos` without DBOS.

Who executes a run is written there too, and only that one's results are kept. Runs that others left wait in a queue to
which all listen.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask
from rightseat.core.engine import Perform, Resumed
from rightseat.core.errors import StaleWriter
from rightseat.core.events import Event
from rightseat.core.stream import codec
from tests.simulation.clock import Loop
from tests.simulation.database import Connected

T = TypeVar("T")

POLL = 0.2  # seconds


class PlayedEngine:
    supports_durable = True

    def __init__(self, loop: Loop, database: Connected, *, repeats_steps: bool = False) -> None:
        self.running: dict[str, asyncio.Task[None]] = {}
        self._steps: dict[str, KeptSteps] = {}
        self.failures: list[str] = []
        self._loop = loop
        self._database = database
        self._repeats_steps = repeats_steps

    async def open(self, perform: Perform) -> None:
        self._perform = perform
        self._database.server.listeners.append(self._look_soon)
        await self._look()

    async def start(self, ask: Ask, perform: Perform) -> bool:
        is_ours = await self._database.call(self._add, ask.run_id)
        if is_ours:
            await self._run(ask, perform)
        return is_ours

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        await self._database.call(self._enqueue, asks)
        return Resumed({ask.run_id for ask in asks})

    async def cancel(self, run_id: str) -> bool:
        return False

    async def delete_runs(self, run_ids: Sequence[str]) -> None: ...

    async def unsettled(self) -> Sequence[str]:
        return ()

    async def close(self) -> None: ...

    def _add(self, run_id: str) -> bool:
        """Whether it is new, or was added by us: a question that was long on its way may come too late."""
        server = self._database.server
        is_new = run_id not in server.known
        server.known.add(run_id)
        if is_new:
            self._take(run_id)
        return server.executors.get(run_id) == self._database.process_id

    def _take(self, run_id: str) -> None:
        self._database.server.executors[run_id] = self._database.process_id

    def _enqueue(self, asks: Sequence[Ask]) -> None:
        """Whoever had them keeps no step of them any more; whoever looks first goes on with them."""
        server = self._database.server
        for ask in asks:
            server.executors.pop(ask.run_id, None)
            server.queue[ask.run_id] = ask
            server.known.add(ask.run_id)
        for listener in server.listeners:
            listener()

    def _look_soon(self) -> None:
        """Everyone looks at the queue all the time; here only when there is something to see."""
        random = self._loop.clock.random
        self._loop.call_later(random.uniform(0, POLL), lambda: self._loop.create_task(self._look()))

    async def _look(self) -> None:
        for ask in await self._database.call(self._dequeue):
            await self._run(ask, self._perform)

    def _dequeue(self) -> list[Ask]:
        """What waits, and what is ours though we do not know of it: we have taken it, and the answer was lost."""
        server, me = self._database.server, self._database.process_id
        lost = [ask for run_id, ask in server.taken.items() if server.executors.get(run_id) == me]
        waiting = list(server.queue.values())
        server.taken |= server.queue
        server.queue.clear()
        for ask in waiting:
            self._take(ask.run_id)
        return [*(ask for ask in lost if ask.run_id not in self.running), *waiting]

    async def _run(self, ask: Ask, perform: Perform) -> None:
        """One that we began before we were taken for dead may still be there: it leaves first."""
        if old := self.running.get(ask.run_id):
            self._steps[ask.run_id].is_shutting_down = True
            old.cancel()
            await asyncio.wait((old,))
        steps = self._steps[ask.run_id] = KeptSteps(ask.run_id, self._database, repeats=self._repeats_steps)
        self.running[ask.run_id] = asyncio.create_task(self._to_its_end(ask, perform, steps))

    async def _to_its_end(self, ask: Ask, perform: Perform, steps: "KeptSteps") -> None:
        try:
            await perform(ask, steps)
        except StaleWriter:
            pass  # another goes on with it
        except Exception as error:
            self.failures.append(f"{ask.run_id} broke off: {error!r}")
        finally:
            if self.running.get(ask.run_id) is asyncio.current_task():
                del self.running[ask.run_id]


class KeptSteps:
    def __init__(self, run_id: str, database: Connected, *, repeats: bool) -> None:
        self.is_shutting_down = False
        self.resumed = None
        self._run_id = run_id
        self._database = database
        self._repeats = repeats

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        kept = await self._database.call(self._find, name)
        if kept is not None:
            return msgspec.json.decode(kept, type=kind)
        result = await work()
        await self._database.call(self._keep, name, msgspec.json.encode(result))
        return result

    async def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        kept = await self._database.call(self._find, name)
        if kept is not None:
            for event in codec.decode_all(kept):
                yield event
            return
        said: list[bytes] = []
        async with aclosing(source()) as events:
            async for event in events:
                said.append(codec.encode(event))
                yield event
        await self._database.call(self._keep, name, b"[%b]" % b",".join(said))

    def _find(self, name: str) -> bytes | None:
        found = self._database.server.steps.get((self._run_id, name))
        return None if found is None or self._repeats else found[1]

    def _keep(self, name: str, result: bytes) -> None:
        server = self._database.server
        if server.executors.get(self._run_id) != self._database.process_id:
            raise StaleWriter(self._run_id, 0, 0)
        kept = server.steps.setdefault((self._run_id, name), (server.clock.now, result))
        if kept[1] != result and not self._repeats:
            raise StaleWriter(self._run_id, 0, 0)
