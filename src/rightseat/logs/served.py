"""A log that a server keeps for several processes. `logs.redis` and `logs.postgres` are this, each with its keeper.

A run that is written here is shown to those who follow it here as soon as the server has acknowledged it, without being
read back. Any other is read from the server: first what there is, then what comes. When a run changes hands, those who
follow do not notice. Transient runs never leave the process.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from typing import Self, TypeVar

from rightseat.core.cancelling import to_the_end
from rightseat.core.errors import (
    EntriesGone,
    LogUnreachable,
    LogUnwritable,
    Misuse,
    RightseatError,
    RunNotFound,
    StaleWriter,
)
from rightseat.core.log import Entry, Position, Tap, Writer, position
from rightseat.logs.debts import Debts
from rightseat.logs.keeper import Away, Claim, Keeper
from rightseat.logs.memory import MemoryLog
from rightseat.logs.outbox import Pen
from rightseat.logs.patience import Absence
from rightseat.logs.pieces import START, Cursor, Page
from rightseat.logs.sending import Sender
from rightseat.logs.shared import SharedRun
from rightseat.logs.watching import Watcher

logger = logging.getLogger(__name__)

T = TypeVar("T")

ROUND = 20.0  # seconds between two rounds of housekeeping
SOON = 1.0  # seconds within which a run that was created here is opened here, or somewhere else
AT_ONCE = 2.0  # seconds in which a new run begins, or is refused: another process may be better off
AGAIN = 0.01  # seconds before one looks again for what the server should have
NOT_OPEN = (
    "The log is not open. To serve opens it; in a program that serves nothing, `async with copilot.opened():` does."
)


class ServedLog:
    def __init__(self, keeper: Keeper, patience: float) -> None:
        self._keeper = keeper
        self._patience = patience
        self._transient = MemoryLog()
        self._runs: dict[str, SharedRun] = {}
        self._debts = Debts(keeper)
        self._opened: tuple[Sender, Watcher] | None = None

    async def __aenter__(self) -> Self:
        await self._keeper.open()
        self._opened = Sender(self._keeper, self._patience, self._gave_up), Watcher(self._keeper)
        self._housekeeping = asyncio.create_task(self._keep_house())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._housekeeping.cancel()
        await asyncio.wait((self._housekeeping,))
        await self._sender.close()
        await self._debts.close()
        await self._watcher.close()
        await self._keeper.close()
        self._opened = None

    @property
    def _sender(self) -> Sender:
        if self._opened is None:
            raise Misuse(NOT_OPEN)
        return self._opened[0]

    @property
    def _watcher(self) -> Watcher:
        if self._opened is None:
            raise Misuse(NOT_OPEN)
        return self._opened[1]

    # Writing

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if transient or run_id in self._transient:
            return await self._transient.create(run_id, transient=True)
        await self._insist(partial(self._keeper.create, run_id, new_mark()), AT_ONCE)
        run = self._runs[run_id] = SharedRun(Cursor(run_id), self._page)
        asyncio.get_running_loop().call_later(SOON, self._expect_elsewhere, run)

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        if run_id in self._transient:
            return self._transient.open(run_id, epoch, base=base)
        return self._open(run_id, epoch, base)

    @asynccontextmanager
    async def _open(self, run_id: str, epoch: int, base: int | None) -> AsyncIterator[Writer]:
        pen = await to_the_end(self._claim(run_id, epoch, base))
        try:
            yield pen
        except StaleWriter as stale:  # the store may know it before the log does
            pen.fail(stale)
            raise
        finally:
            await to_the_end(self._end(pen))

    async def _claim(self, run_id: str, epoch: int, base: int | None) -> Pen:
        if run := self._runs.get(run_id):
            run.fence(epoch)  # now, and not behind what the old writer says meanwhile
            if run.is_ours:
                await self._sender.flush()
        round = self._sender.round
        claim = await self._insist(partial(self._keeper.claim, run_id, epoch, base, new_mark()))
        run = await self._caught_up(run_id, epoch, claim)
        run.seq = run.shown  # what an earlier writer had still to send, the server does not take any more
        run.is_ours = True
        return Pen(run, epoch, claim.fence, self._sender.outbox, round, self._sender.flush)

    async def _caught_up(self, run_id: str, epoch: int, claim: Claim) -> SharedRun:
        """The run, with all that others said before the fence shown to those who follow it here."""
        run = self._runs.get(run_id)
        self._watcher.remove(run_id)
        if run is not None and run.cursor.said == claim.said:
            run.cursor.at = claim.fence  # nobody else said anything
        while run is not None and not run.ended and run.cursor.at < claim.fence:
            page = await self._page(run_id, run.cursor.at)
            run.feed([piece for piece in page.pieces if piece.at <= claim.fence])
        if run is None or run.ended:
            run = self._runs[run_id] = SharedRun(Cursor(run_id, claim.fence, claim.said), self._page)
        if run.epoch < epoch:
            run.fence(epoch)
        return run

    async def _end(self, pen: Pen) -> None:
        """Behind the last entry. Whatever happens, those who follow come to an end."""
        run = pen.run
        try:
            if pen.failure is None:
                await self._sender.outbox.put_end(pen)
        except RightseatError as error:
            if not isinstance(error, StaleWriter):
                logger.error("the end of run %s could not be kept: %s", run.id, error)
        if isinstance(pen.failure, StaleWriter):
            self._gave_up(pen)
        elif run.epoch == pen.epoch:
            run.end()
            self._drop(run)
        if isinstance(pen.failure, LogUnwritable):
            self._debts.add(pen)

    def _gave_up(self, pen: Pen) -> None:
        """Another process has this run now: who follows it here goes on with what that one writes."""
        run = pen.run
        if isinstance(pen.failure, StaleWriter) and run.epoch == pen.epoch and run.is_ours:
            run.is_ours = False
            self._expect_elsewhere(run)

    def _expect_elsewhere(self, run: SharedRun) -> None:
        if run.is_ours or run.ended or self._runs.get(run.id) is not run or self._opened is None:
            return
        if run.readers and run.id not in self._watcher:
            self._watcher.add(run)
        elif not run.readers:
            self._drop(run)

    def _drop(self, run: SharedRun) -> None:
        if self._runs.get(run.id) is run:
            del self._runs[run.id]
            self._watcher.remove(run.id)

    # Reading

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        if run_id in self._transient:
            return await self._transient.read(run_id, after)
        if run_id in self._runs:
            await self._sender.flush()  # what was written before is on the server then
        cursor, entries = Cursor(run_id, position(after) if after else START), list[Entry]()
        while True:
            page = await self._page(run_id, cursor.at)
            entries += cursor.read(page.pieces)
            if cursor.gone:
                raise cursor.gone
            if page.is_last:
                return entries

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        if run_id in self._transient:
            return self._transient.follow(run_id, after, tap)
        return self._follow(Cursor(run_id, position(after) if after else START), tap)

    async def _follow(self, cursor: Cursor, tap: Tap | None) -> AsyncGenerator[Sequence[Entry], None]:
        while True:
            run = self._going_on(cursor.run_id)
            if run and run.can_serve(cursor):
                async with aclosing(self._live(run, cursor.seq, tap)) as batches:
                    async for entries in batches:
                        yield entries
                return
            page = await self._page(cursor.run_id, cursor.at)
            if entries := cursor.read(page.pieces):
                yield entries
            if cursor.gone:
                raise cursor.gone
            if page.is_last and cursor.is_ended:
                return
            if not page.is_last:
                continue
            run = self._going_on(cursor.run_id)
            if run is None:
                self._copy(cursor)
            elif run.is_behind(cursor):
                await self._bring_on(run)
            elif not page.pieces:
                await asyncio.sleep(AGAIN)  # it should have more, and does not say that it has less

    async def _live(self, run: SharedRun, seen: int, tap: Tap | None) -> AsyncGenerator[Sequence[Entry], None]:
        try:
            async with aclosing(run.follow(seen, tap)) as batches:
                async for entries in batches:
                    yield entries
        finally:
            if run.ended or (not run.readers and run.id in self._watcher):
                self._drop(run)
        if run.failure:
            raise run.failure

    def _going_on(self, run_id: str) -> SharedRun | None:
        """What has ended, or failed, tells nobody anything new."""
        run = self._runs.get(run_id)
        return None if run is None or run.ended else run

    def _copy(self, cursor: Cursor) -> None:
        """Another process writes it: from here on, what it writes comes by itself."""
        run = self._runs[cursor.run_id] = SharedRun(cursor.copy(), self._page)
        self._watcher.add(run)

    async def _bring_on(self, run: SharedRun) -> None:
        """A copy, up to where the server is. If it was one of a log that is gone, it ends, and its readers are told."""
        at = run.cursor.at
        try:
            page = await self._page(run.id, at)
        except (EntriesGone, RunNotFound) as gone:
            return run.fail(gone)
        if run.cursor.at == at and not run.ended and not run.is_ours:  # else somebody else has done so meanwhile
            run.feed(page.pieces)

    async def _page(self, run_id: str, after: Position) -> Page:
        return await self._insist(partial(self._keeper.read, run_id, after))

    # Forgetting

    async def forget(self, run_ids: Sequence[str]) -> None:
        await self._transient.forget(run_ids)
        await self._insist(partial(self._keeper.forget, run_ids))
        for run in [self._runs[run_id] for run_id in run_ids if run_id in self._runs]:
            if not run.is_ours:
                run.end()
                self._drop(run)

    async def expect(self, run_ids: Sequence[str]) -> None:
        """A run without an end is always waited for: any process may go on with it."""

    def release(self) -> None:
        for run in [run for run in self._runs.values() if not run.is_ours]:
            run.end()
            self._drop(run)

    async def cut_off(self) -> Sequence[tuple[str, int]]:
        return ()  # a run that is not ours may be another's, who lives; the store knows whose process is gone

    async def _keep_house(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            try:
                await self._keeper.keep_house([run.id for run in self._runs.values() if run.is_ours])
            except Away as problem:
                logger.warning("the log could not be tidied: %s", problem)

    async def _insist(self, ask: Callable[[], Awaitable[T]], patience: float | None = None) -> T:
        """Ask until the server answers, within reason."""
        patience = min(patience or self._patience, self._patience)
        absence, time = Absence("asking the log", patience, logging.INFO), asyncio.get_running_loop().time
        while True:
            try:
                answer = await ask()
            except Away as problem:
                pause = absence.failed(time(), problem)
                if pause is None:
                    raise LogUnreachable(str(problem)) from problem
                await asyncio.sleep(pause)
            else:
                absence.succeeded(time())
                return answer


def new_mark() -> bytes:
    return secrets.token_hex(8).encode()
