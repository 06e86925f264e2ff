"""The log in this process's memory."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, suppress

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import NotConfigured, RightseatError, RunExists, RunNotFound
from rightseat.core.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from rightseat.core.log import Entry, ImmediateSink, Log, Writer, seq
from rightseat.logs.run_buffer import END_EVENTS, LARGE_ENTRY_BYTES, MAX_READER_LAG, RunBuffer

DELTAS = (TextDelta, ReasoningDelta, ToolCallDelta)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    max_finished_runs: int = 256
    """How many ended runs can still be followed from their beginning."""


def build(options: Options) -> Log:
    return MemoryLog(options.max_finished_runs)


class MemoryLog:
    def __init__(self, max_finished_runs: int = 256) -> None:
        self._max_finished_runs = max_finished_runs
        self._runs: dict[str, RunBuffer] = {}
        self._finished: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._runs

    async def create(self, run_id: str, *, transient: bool = False) -> None:
        if run_id in self._runs:
            raise RunExists(run_id)
        self._runs[run_id] = RunBuffer(run_id, drops_read_entries=transient)

    def open(self, run_id: str, epoch: int, *, base: int | None = None) -> AbstractAsyncContextManager[Writer]:
        return _OpenRun(self, run_id, epoch, base)

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        run = self.find(run_id)
        return run.entries[max((seq(after) if after else 0) - run.dropped, 0) :]

    async def delete(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self._finished.pop(run_id, None)
            self._runs.pop(run_id, None)

    async def expect_writer(self, run_ids: Sequence[str]) -> None:
        """Does nothing: no other process can resume a run of this log."""

    def stop_followers(self) -> None:
        """Does nothing: there is no other process."""

    async def unfinished_runs(self) -> Sequence[tuple[str, int]]:
        return ()  # the runs of an earlier process are gone with it

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        # Looked up now, not with the first entry: by then the run may have ended and been dropped.
        return self.find(run_id).follow(seq(after) if after else 0, tap)

    def find(self, run_id: str) -> RunBuffer:
        try:
            return self._runs[run_id]
        except KeyError:
            raise RunNotFound(run_id) from None

    def retire(self, run: RunBuffer) -> None:
        """Drop the oldest ended runs. A follower that has started still reads its run to the end."""
        if run.drops_read_entries and run.dropped:
            self._runs.pop(run.id, None)
            return
        if run.id in self._runs:
            self._finished[run.id] = None
        while len(self._finished) > self._max_finished_runs:
            oldest, _ = self._finished.popitem(last=False)
            del self._runs[oldest]


class _OpenRun:
    """The context manager of a writer. A class, because each stream holds one open, and a generator is larger."""

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
            raise NotConfigured("A log in memory cannot be restarted: it is lost only with its process.")
        self._run = self._log.find(self._run_id)
        self._run.fence(self._epoch)
        return _MemoryWriter(self._run, self._epoch)

    async def __aexit__(self, *_: object) -> None:
        if self._run.epoch == self._epoch:
            self._run.end()
            self._log.retire(self._run)


class _MemoryWriter:
    __slots__ = ("_epoch", "_run")

    failure: RightseatError | None = None

    def __init__(self, run: RunBuffer, epoch: int) -> None:
        self._run = run
        self._epoch = epoch

    async def append(self, event: Event) -> Entry:
        run = self._run
        entry = run.next_entry(self._epoch, event)
        run.publish(entry)
        if type(event) in DELTAS and len(event.text) > LARGE_ENTRY_BYTES:  # type: ignore[union-attr]
            run.large_seq = entry.seq
        elif entry.seq - run.dropped <= MAX_READER_LAG:
            return entry
        if run.is_full() and not isinstance(event, END_EVENTS):
            await run.wait_for_capacity(self._epoch)
        return entry

    def append_nowait(self, event: Event) -> Entry:
        entry = self._run.next_entry(self._epoch, event)
        self._run.publish(entry)
        return entry

    async def flush(self) -> None:
        """Does nothing: entries are committed when they are appended."""
