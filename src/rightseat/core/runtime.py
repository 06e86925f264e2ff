"""Start, follow, cancel: the only thing that faces talk to."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence

from rightseat.core.agent import Agent
from rightseat.core.ask import Ask, Principal
from rightseat.core.cancelling import is_cancelled, to_the_end
from rightseat.core.closing import closing
from rightseat.core.engine import Engine, Steps
from rightseat.core.errors import AgentNotFound, InternalError, RightseatError, StaleWriter
from rightseat.core.events import RunFailed, RunFinished, RunStarted
from rightseat.core.folding import Fold
from rightseat.core.hooks import Hooks
from rightseat.core.log import Entry, Log, Tap, Writer
from rightseat.core.threads import Thread, Threads

logger = logging.getLogger(__name__)

Last = RunFinished | RunFailed


class Runtime:
    """Gives asks to agents, and what the agents say to the log."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        *,
        log: Log,
        threads: Threads,
        engine: Engine,
        hooks: Hooks | None = None,
    ) -> None:
        self.agents = dict(agents)
        self.hooks = hooks or Hooks()
        self._log = log
        self._threads = threads
        self._engine = engine

    async def start(self, ask: Ask) -> Ask:
        """Begin the run; it goes on whether or not anyone follows. Returns the ask as the hooks left it.

        Raises before anything is begun: `AgentNotFound`, or whatever a `before_request` hook raises.
        """
        ask = await self.hooks.before(ask)
        if ask.agent not in self.agents:
            raise AgentNotFound(ask.agent, self.agents)
        await self._log.create(ask.run_id, transient=ask.transient)
        await self._engine.start(ask, self._perform)
        return ask

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """What the run said after the entry `after`, and what it says from now on, in batches."""
        return self._log.follow(run_id, after, tap)

    async def cancel(self, run_id: str) -> bool:
        return await self._engine.cancel(run_id)

    async def thread(self, thread_id: str, principal: Principal) -> Thread | None:
        return await self._threads.load(thread_id, principal)

    async def close(self) -> None:
        await self._engine.close()

    async def _perform(self, ask: Ask, steps: Steps) -> None:
        """A cancel ends the answer and nothing else: whatever happens, what began is ended, and who follows is told."""
        fold = Fold(ask.state)
        try:
            epoch = await self._threads.begin(ask)
        except (Exception, asyncio.CancelledError) as error:
            last = read_failure(ask, error)
            await to_the_end(self._give_up(ask, last))
        else:
            async with self._log.open(ask.run_id, epoch) as writer:
                answered = await self._answer(ask, steps, writer, fold)
                last = await to_the_end(self._end(ask, writer, fold, answered))
        if self.hooks.after_request or self.hooks.on_error:
            await to_the_end(self._tell_hooks(ask, fold, last))

    async def _answer(self, ask: Ask, steps: Steps, writer: Writer, fold: Fold) -> Last:
        """Have the agent answer into the log, and say how it ended."""
        append, add = writer.append, fold.add
        try:
            await append(RunStarted(ask.run_id, ask.thread_id, ask.agent))
            async with closing(self.agents[ask.agent].run(ask, steps)) as events:
                async for event in events:
                    if type(event) is RunFinished or type(event) is RunFailed:  # `isinstance` takes six times as long
                        return event
                    add(event)
                    await append(event)
        except StaleWriter:
            raise  # another process goes on with this run: nothing of it is ours to write any more
        except (Exception, asyncio.CancelledError) as error:
            return read_failure(ask, error)
        return RunFinished("done")

    async def _end(self, ask: Ask, writer: Writer, fold: Fold, last: Last) -> Last:
        for ending in fold.endings():
            await writer.append(ending)
        try:
            await self._threads.finish(ask, fold.messages(), fold.state)
        except Exception as error:
            failure = read_failure(ask, error)
            last = failure if last in (RunFinished("done"), RunFinished("waiting")) else last
        await writer.append(last)
        return last

    async def _give_up(self, ask: Ask, last: Last) -> None:
        """A run that could not be claimed says so, under the lowest epoch of all: it shuts out nobody."""
        async with self._log.open(ask.run_id, epoch=1) as writer:
            await writer.append(RunStarted(ask.run_id, ask.thread_id, ask.agent))
            await writer.append(last)

    async def _tell_hooks(self, ask: Ask, fold: Fold, last: Last) -> None:
        if isinstance(last, RunFailed):
            await self.hooks.error(ask, last)
        elif last.outcome != "cancelled":
            await self.hooks.after(ask, fold.messages())


def read_failure(ask: Ask, error: BaseException) -> Last:
    """What the client is told. An error of ours it may see; any other goes to the server's log alone."""
    if is_cancelled():
        if not isinstance(error, asyncio.CancelledError):
            logger.warning("run %s failed while it was cancelled", ask.run_id, exc_info=error)
        return RunFinished("cancelled")
    if isinstance(error, RightseatError):
        logger.warning("run %s failed: %s: %s", ask.run_id, error.code, error)
        return RunFailed(error.code, error.message)
    logger.error("run %s failed", ask.run_id, exc_info=error)
    return RunFailed(InternalError.code, InternalError(ask.run_id).message)
