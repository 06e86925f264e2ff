"""The log in this process's memory."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import Misuse, RightseatError, RunExists, RunNotFound
from rightseat.core.events import CallDelta, Event, TextDelta, ThoughtDelta
from rightseat.core.log import Entry, Log, Tap, Writer, seq
from rightseat.logs.live import ENDINGS, LARGE_ENTRY_BYTES, LEAD, Run

DELTAS = (TextDelta, ThoughtDelta, CallDelta)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    keep: int = 256
    """How many runs that have ended can still be followed from their beginning."""


def build(options: Options) -> Log:
    return MemoryLog(options.keep)


class MemoryLog:
    def __init__(self, keep: int = 256) -> None:
        self._keep = keep
        self._runs: dict[str, Run] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if run_id in self._runs:
            raise RunExists(run_id)
        self._runs[run_id] = Run(run_id, forgets=transient)

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        return _Open(self, run_id, epoch, base)

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        run = self.find(run_id)
        return run.entries[max((seq(after) if after else 0) - run.forgotten, 0) :]

    async def forget(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self._ended.pop(run_id, None)
            self._runs.pop(run_id, None)

    async def expect(self, run_ids: Sequence[str]) -> None:
        """Nobody could."""

    def release(self) -> None:
        """There is no other."""

    async def cut_off(self) -> Sequence[tuple[str, int]]:
        return ()  # what dies with the process leaves nothing behind

    def follow(
        self, run_id: str, after: str | None = None, tap: Tap | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        # Found now and not with the first entry: the run may have ended, and be forgotten, before that is asked for.
        return self.find(run_id).follow(seq(after) if after else 0, tap)

    def find(self, run_id: str) -> Run:
        try:
            return self._runs[run_id]
        except KeyError:
            raise RunNotFound(run_id) from None

    def retire(self, run: Run) -> None:
        """Forget the oldest of the ended runs; who still follows one keeps it to its end."""
        if run.forgets and run.forgotten:
            self._runs.pop(run.id, None)
            return
        if run.id in self._runs:
            self._ended[run.id] = None
        while len(self._ended) > self._keep:
            oldest, _ = self._ended.popitem(last=False)
            del self._runs[oldest]


class _Open:
    """The block in which a run is written. A class, because each stream holds one open for as long as it lasts."""

    __slots__ = ("_base", "_epoch", "_log", "_run", "_run_id")

    def __init__(self, log: MemoryLog, run_id: str, epoch: int, base: int | None) -> None:
        self._log = log
        self._run_id = run_id
        self._epoch = epoch
        self._base = base

    async def __aenter__(self) -> Writer:
        if self._base == 0:
            with suppress(RunExists):
                await self._log.create(self._run_id)
        elif self._base is not None:
            raise Misuse("A log in memory is not lost while its process lives, so it never begins anew.")
        self._run = self._log.find(self._run_id)
        self._run.fence(self._epoch)
        return _Writer(self._run, self._epoch)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run.epoch == self._epoch:
            self._run.end()
            self._log.retire(self._run)


class _Writer:
    __slots__ = ("_epoch", "_run")

    failure: RightseatError | None = None

    def __init__(self, run: Run, epoch: int) -> None:
        self._run = run
        self._epoch = epoch

    async def append(self, event: Event) -> Entry:
        run = self._run
        entry = run.next(self._epoch, event)
        run.show(entry)
        if isinstance(event, DELTAS) and len(event.text) > LARGE_ENTRY_BYTES:
            run.large_seq = entry.seq
        elif entry.seq - run.forgotten <= LEAD:
            return entry
        if run.is_crowded() and not isinstance(event, ENDINGS):
            await run.wait_for_room(self._epoch)
        return entry

    async def flush(self) -> None:
        """It is where it stays."""
