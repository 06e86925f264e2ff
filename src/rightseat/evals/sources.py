"""Finds the runs of a case in the store and the log: those of one turn, or of a thread."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.core.events import RunStarted, TextStarted
from rightseat.core.log import Log
from rightseat.core.messages import Message
from rightseat.core.run.durable import read_all_entries
from rightseat.core.stream import codec
from rightseat.core.threads import Thread
from rightseat.operations.recordings import RecordedAsk, Recordings, RunRecording
from rightseat.operations.records import Records, RunQuery, RunRecord

PAGE_RUNS = 200
MAX_THREAD_BYTES = 64 << 20
"""Events of a thread that are read to pin it or one of its runs."""


class NotRecorded(RightseatError):
    """There is no recording to pin."""

    code = "not_recorded"
    status = 409


class RunUnknown(NotRecorded):
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(
            f"There is no stored run or thread {id[:100]!r}. Transient runs (those of OpenBB, of OpenAI's chat "
            "completions and of plain chats in older CopilotKit clients) are recorded with `evals.record: all` only."
        )


class TooLargeToPin(NotRecorded):
    status = 413


@dataclass(frozen=True, slots=True)
class Sources:
    """`load` reads a thread. `log` may have lost the events of a run."""

    records: Records
    recordings: Recordings
    load: Callable[[str, Principal], Awaitable[Thread | None]]
    log: Log


@dataclass(frozen=True, slots=True)
class TurnRuns:
    """The runs from a question to its answer: the first, and those that continue it."""

    question: tuple[Message, ...]
    runs: tuple[RunRecording, ...]


@dataclass(frozen=True, slots=True)
class PinnedTurns:
    """What a case is made of. `later` are the messages of runs after the turns, which may have results of calls."""

    turns: tuple[TurnRuns, ...]
    history: tuple[Message, ...] = ()
    later: tuple[Message, ...] = ()
    run: str | None = None


async def find_conversation(sources: Sources, id: str) -> PinnedTurns:
    """Of a run or a thread. Raises `NotRecorded`."""
    record = await sources.records.run(id)
    if record is not None:
        return find_turn(await _read_thread(sources, record.thread, record.user), id)
    if (transient := await sources.recordings.find(id)) is not None:
        others = await sources.recordings.list_thread(transient.thread, transient.owner)
        return _read_transient(transient, others)
    thread = await sources.records.thread(id)
    if thread is None:
        raise RunUnknown(id)
    return join_turns(await _read_thread(sources, id, thread.user), id)


def _read_transient(recording: RunRecording, others: Sequence[RunRecording]) -> PinnedTurns:
    """A transient ask has the whole conversation. A run of the same question continues the turn, if its client keeps
    the ids of messages; another client sends the calls and results that came before."""
    messages = recording.messages
    start = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    while start and messages[start - 1].role == "user":
        start -= 1
    end = start
    while end < len(messages) and messages[end].role == "user":
        end += 1
    asked = messages[start:end]
    runs = tuple(
        other for other in others if asked and any(message.id == asked[-1].id for message in question_in(other))
    )
    return PinnedTurns((TurnRuns(asked, runs or (recording,)),), messages[:start], run=recording.run)


def question_in(recording: RunRecording) -> tuple[Message, ...]:
    """The last message of the user."""
    return tuple(message for message in recording.messages if message.role == "user")[-1:]


@dataclass(frozen=True, slots=True)
class ThreadRuns:
    """The runs of a thread in their order. `turns` are all of them, also those that a later one replaced."""

    messages: tuple[Message, ...]
    runs: tuple[RunRecording, ...]
    turns: tuple[TurnRuns, ...]
    replaced: frozenset[int]
    """The places of turns that a later turn replaced."""


async def _read_thread(sources: Sources, thread: str, user: str) -> ThreadRuns:
    rows = list[RunRecord]()
    after: str | None = None
    while True:
        page = await sources.records.runs(RunQuery(thread=thread, limit=PAGE_RUNS, after=after))
        rows += page.rows
        after = page.next
        if after is None:
            break
    asks = await sources.recordings.read_asks(thread)
    payloads = await sources.recordings.read_payloads(thread)
    runs, size = list[RunRecording](), 0
    for row in reversed(rows):
        runs.append(await _read_run(sources, row, asks.get(row.id)))
        for event in runs[-1].events:
            size += len(codec.encode(event))
        if size > MAX_THREAD_BYTES:
            raise TooLargeToPin(
                f"The thread {thread!r} has more than {MAX_THREAD_BYTES >> 20} MB of events. Only runs of smaller "
                "threads can be pinned."
            )
    stored = await sources.load(thread, Principal(user))
    told = tuple(run if run.payloads else msgspec.structs.replace(run, payloads=payloads) for run in runs)
    turns, replaced = group_turns(told)
    return ThreadRuns(stored.messages if stored else (), told, tuple(turns), frozenset(replaced))


async def _read_run(sources: Sources, row: RunRecord, ask: RecordedAsk | None) -> RunRecording:
    events = tuple(entry.event for entry in await read_all_entries(sources.log, row.id))
    started = events[0] if events and isinstance(events[0], RunStarted) else None
    if started is None:
        kept = await sources.recordings.find(row.id)  # a transient run that asked a person was stored at its end
        if kept is not None:
            return kept
    return RunRecording(
        run=row.id,
        thread=row.thread,
        owner=row.user,
        agent=row.agent,
        face=row.face,
        ask=ask,
        messages=started.new_messages if started else (),
        events=events if started else (),
    )


def started_of(run: RunRecording) -> RunStarted | None:
    first = run.events[0] if run.events else None
    return first if isinstance(first, RunStarted) else None


def question_of(run: RunRecording) -> tuple[Message, ...]:
    """The user's messages after the last other message."""
    messages = run.messages
    start = len(messages)
    while start and messages[start - 1].role == "user":
        start -= 1
    return messages[start:]


def group_turns(runs: Sequence[RunRecording]) -> tuple[list[TurnRuns], set[int]]:
    """A run begins a turn if it brings a question, or replaces an answer; another continues the turn before it."""
    turns, replaced = list[TurnRuns](), set[int]()
    for run in runs:
        question, started = question_of(run), started_of(run)
        if started is not None and started.truncated_at is not None:
            place = find_turn_with(turns, started.truncated_at)
            if place is not None:
                replaced |= set(range(place, len(turns)))
                question = question or turns[place].question
        if question or not turns or started is None:
            turns.append(TurnRuns(question, (run,)))
        else:
            turns[-1] = replace(turns[-1], runs=(*turns[-1].runs, run))
    return turns, replaced


def find_turn_with(turns: Sequence[TurnRuns], message: str) -> int | None:
    """The last turn that has the message with this id."""
    for place in reversed(range(len(turns))):
        turn = turns[place]
        asked = {one.id for run in turn.runs for one in run.messages}
        said = {event.message_id for run in turn.runs for event in run.events if isinstance(event, TextStarted)}
        if message in asked | said:
            return place
    return None


def find_turn(thread: ThreadRuns, run: str) -> PinnedTurns:
    place = next(place for place, turn in enumerate(thread.turns) if run in {one.run for one in turn.runs})
    turn = thread.turns[place]
    check_recorded(turn)
    later = (
        message for following in thread.turns[place + 1 :] for one_run in following.runs for message in one_run.messages
    )
    return PinnedTurns((turn,), find_history(thread, place), tuple(later), run)


def join_turns(thread: ThreadRuns, id: str) -> PinnedTurns:
    turns = tuple(turn for place, turn in enumerate(thread.turns) if place not in thread.replaced)
    if not turns:
        raise NotRecorded(f"The thread {id!r} has no run.")
    for turn in turns:
        check_recorded(turn)
    return PinnedTurns(turns, find_history(thread, thread.turns.index(turns[0])))


def check_recorded(turn: TurnRuns) -> None:
    """Raises `NotRecorded` if the log has lost a run of the turn, or its beginning."""
    for run in turn.runs:
        if not run.events:
            raise NotRecorded(
                f"The log has lost the events of run {run.run!r}: `log.retention_minutes` has passed. A vote on an "
                "answer keeps them for `log.judged_retention_days`."
            )
    if not turn.question:
        raise NotRecorded(
            f"Run {turn.runs[0].run!r} continues a run whose events are not in the log any more, or has no question."
        )


def find_history(thread: ThreadRuns, place: int) -> tuple[Message, ...]:
    """The messages before the question. One that was edited has the place of the one that replaced it."""
    ids = {message.id: number for number, message in enumerate(thread.messages)}
    for turn in thread.turns[place:]:
        if turn.question and turn.question[0].id in ids:
            return thread.messages[: ids[turn.question[0].id]]
    return ()
