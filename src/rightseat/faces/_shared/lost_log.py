"""Reads the log of a run, and restores a run whose log has expired or was lost from the messages of its thread."""

from collections.abc import Awaitable, Callable, Sequence

from rightseat.core.errors import LogTruncated, RunNotFound
from rightseat.core.events import Event, Interrupt, MessagesReplaced, RunFailed, RunFinished, RunStarted
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.core.stream.reducer import Reducer
from rightseat.core.threads import RunRow, Thread

ReadEntries = Callable[[RunRow], Awaitable[Sequence[Entry]]]


async def read_entries(runtime: Runtime, run_id: str, after: str | None = None) -> Sequence[Entry]:
    """The entries so far; of a log that was lost and recreated, those that are left. Raises `RunNotFound`."""
    try:
        return await runtime.read(run_id, after)
    except LogTruncated as gone:
        return await read_entries(runtime, run_id, gone.resume)


async def read_or_nothing(runtime: Runtime, run_id: str, after: str | None = None) -> Sequence[Entry]:
    """As `read_entries`, but empty if the log expired before its thread, or was lost."""
    try:
        return await read_entries(runtime, run_id, after)
    except RunNotFound:
        return ()


def add_missing_end(entries: Sequence[Entry], run: RunRow) -> Sequence[Entry]:
    """The entries of an ended run, with its outcome in the store if its log has no end (yet)."""
    if run.outcome is None or not entries or isinstance(entries[-1].event, RunFinished | RunFailed):
        return entries
    return [*entries, Entry(entries[-1].epoch, entries[-1].seq + 1, final_event(run))]


async def restore_run(
    thread: Thread, run: RunRow, later: Sequence[RunRow], read: ReadEntries, interrupts: tuple[Interrupt, ...] = ()
) -> list[Event]:
    """Its start, the messages of the thread up to its end, and its last event with the interrupts that still wait."""
    later_ids: set[str] = set()
    for one in later:
        later_ids |= message_ids([entry.event for entry in await read(one)])
    kept = tuple(message for message in thread.messages if message.id not in later_ids)
    return [RunStarted(run.id, thread.id, run.agent), MessagesReplaced(kept, ()), final_event(run, interrupts)]


def message_ids(events: Sequence[Event]) -> set[str]:
    """The ids of the messages that a run added to its thread."""
    reducer, found = Reducer(), set[str]()
    for event in events:
        reducer.add(event)
        if isinstance(event, RunStarted):
            found.update(message.id for message in event.new_messages)
    return found.union(message.id for message in reducer.messages())


def final_event(run: RunRow, interrupts: tuple[Interrupt, ...] = ()) -> RunFinished | RunFailed:
    match run.outcome:
        case "failed":
            return RunFailed("failed", "The run failed.")
        case "cancelled" | "waiting" as outcome:
            return RunFinished(outcome, interrupts)
        case _:
            return RunFinished("done")
