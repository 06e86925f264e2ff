"""Lists the threads and runs of all users in this process's memory (`operations.records`)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE
from rightseat.core.ask import AgentNames, Ask, includes_agent
from rightseat.core.errors import BadRequest, RunExists
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Message, truncate_messages
from rightseat.core.threads import Pending, RunRow, Summary, ThreadCursor, read_cursor
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals
from rightseat.operations.records import (
    MAX_TOTAL,
    FileRow,
    Page,
    Question,
    RecordReader,
    RunQuery,
    RunRecord,
    ThreadQuery,
    ThreadRow,
    begin_record,
    build_question,
    describe_end,
    end_record,
    is_wanted_run,
)
from rightseat.stores import rows
from rightseat.stores.files import MemoryArtifacts
from rightseat.text import fold_text


@dataclass(slots=True)
class StoredThread:
    owner: str
    summary: Summary
    messages: tuple[Message, ...] = ()
    state: JsonValue = None
    runs: dict[str, RunRow] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    written: dict[str, str] = field(default_factory=dict)
    """The runs of the messages that runs wrote, by the ids of the messages."""
    active_run_id: str | None = None
    size_bytes: int = 0
    appended_bytes: int = 0

    def new_messages(self, messages: Sequence[Message], truncate_at: str | None = None) -> tuple[Message, ...]:
        kept = truncate_messages(self.messages, truncate_at)
        return rows.new_messages((message.id for message in kept), messages)

    def truncate(self, at: str | None) -> None:
        """Remove a message and all after it, with the interrupts of their calls."""
        kept = truncate_messages(self.messages, at)
        removed = rows.call_ids(self.messages[len(kept) :])
        self.messages = kept
        self.written = {message.id: self.written[message.id] for message in kept if message.id in self.written}
        self.pending = tuple(
            waiting for waiting in self.pending if waiting.call is None or waiting.call.id not in removed
        )

    def refuse_repeated(self, ask: Ask) -> None:
        for run in self.runs.values():
            if (run.client_run_id, run.agent) == (ask.client_run_id, ask.agent) and run.outcome != "cancelled":
                raise RunExists(run.id)

    def begin_run(self, ask: Ask) -> None:
        self.records.setdefault(ask.run_id, begin_record(ask, rows.now(), self._find_question_time(ask)))

    def _find_question_time(self, ask: Ask) -> str | None:
        answered = {answer.interrupt_id for answer in ask.answers}
        asking = (self.records[waiting.run_id].ended_at for waiting in self.pending if waiting.interrupt.id in answered)
        return max((time for time in asking if time is not None), default=None)

    def end_run(self, run_id: str, last: RunFinished | RunFailed, totals: RunTotals | None) -> None:
        self.records[run_id] = end_record(self.records[run_id], describe_end(last, totals, rows.now()))


class MemoryRecords:
    """`threads` and `artifacts` are those of the store; `find_vote` returns the vote of a run's user."""

    def __init__(
        self,
        threads: Callable[[], Sequence[StoredThread]],
        artifacts: MemoryArtifacts,
        find_vote: Callable[[RunRecord], str | None],
    ) -> None:
        self._threads = threads
        self._artifacts = artifacts
        self._find_vote = find_vote

    async def threads(self, query: ThreadQuery) -> Page[ThreadRow]:
        listed = [describe_thread(thread) for thread in self._threads() if is_wanted(thread, query)]
        wanted = sorted(listed, key=cursor_of, reverse=True)
        total = min(len(wanted), MAX_TOTAL) if query.is_counted or query.words is not None else None
        if query.after is not None:
            after = read_cursor(query.after)
            wanted = [row for row in wanted if cursor_of(row) < after]
        page = wanted[: query.limit]
        return Page(page, str(cursor_of(page[-1])) if len(wanted) > query.limit else None, total)

    async def runs(self, query: RunQuery) -> Page[RunRecord]:
        found = [run for thread in self._threads() for run in self._list_runs(thread) if is_wanted_run(run, query)]
        newest = sorted(found, key=run_key, reverse=True)
        if query.after is not None:
            after = read_run_cursor(query.after)
            newest = [run for run in newest if run_key(run) < after]
        page = newest[: query.limit]
        return Page(page, "/".join(run_key(page[-1])) if len(newest) > query.limit else None)

    async def visit_runs(self, query: RunQuery, visit: Callable[[RunRecord], object]) -> bool:
        page = await self.runs(query)
        for run in page.rows:
            visit(run)
        return page.next is None

    async def thread(self, id: str) -> ThreadRow | None:
        return next((describe_thread(thread) for thread in self._threads() if thread.summary.id == id), None)

    async def run(self, id: str) -> RunRecord | None:
        return next(
            (
                run
                for thread in self._threads()
                if id in thread.records
                for run in self._list_runs(thread)
                if run.id == id
            ),
            None,
        )

    def _list_runs(self, one: StoredThread) -> Iterator[RunRecord]:
        waiting = {pending.run_id for pending in unexpired(one.pending)}
        for run in one.records.values():
            yield msgspec.structs.replace(run, is_waiting=run.id in waiting, feedback=self._find_vote(run))

    async def files(self, thread_id: str) -> Sequence[FileRow]:
        found = self._artifacts.of_thread(thread_id)
        return [
            FileRow(approval.stored.id, approval.stored.name, approval.stored.media_type, approval.created_at)
            for approval in found
            if approval.stored.media_type != PRIVATE_MEDIA_TYPE
        ]

    async def file_owner(self, id: str) -> str | None:
        return self._artifacts.owner_of(id)

    async def questions(self, user: str | None = None) -> Sequence[Question]:
        return [
            build_question(thread.owner, pending, thread.records)
            for thread in self._threads()
            if user in (None, thread.owner)
            for pending in unexpired(thread.pending)
        ]


def is_wanted(one: StoredThread, query: ThreadQuery) -> bool:
    summary = one.summary
    return (
        query.user in (None, one.owner)
        and query.agent in (None, summary.agent)
        and query.archived in (None, summary.archived)
        and query.state in (None, state_of(one))
        and (query.since is None or summary.updated_at >= query.since)
        and (query.reader is None or is_visible(one, query.reader))
        and (query.words is None or has_words(one, query.words))
    )


def is_visible(one: StoredThread, reader: RecordReader) -> bool:
    names = (one.summary.agent, *(run.agent for run in one.runs.values()))

    def permits(agents: AgentNames) -> bool:
        return all(includes_agent(agents, name) for name in names)

    return (one.owner == reader.user and permits(reader.own)) or permits(reader.others)


def has_words(one: StoredThread, words: str) -> bool:
    folded = fold_text(words)
    texts = (fold_text(one.summary.name or ""), *map(rows.searchable_text, one.messages))
    return any(folded in text for text in texts)


def describe_thread(one: StoredThread) -> ThreadRow:
    summary, runs = one.summary, one.records.values()
    seconds = [run.seconds for run in runs if run.seconds is not None]
    inputs = [run.input_tokens for run in runs if run.input_tokens is not None]
    cached = [run.cache_read_tokens for run in runs if run.cache_read_tokens is not None]
    outputs = [run.output_tokens for run in runs if run.output_tokens is not None]
    return ThreadRow(
        id=summary.id,
        title=summary.name,
        user=one.owner,
        agent=summary.agent,
        archived=summary.archived,
        created_at=summary.created_at,
        updated_at=summary.updated_at,
        runs=len(one.runs),
        active_run=one.active_run_id,
        state=state_of(one),
        input_tokens=sum(inputs) if inputs else None,
        output_tokens=sum(outputs) if outputs else None,
        milliseconds=round(sum(seconds) * 1000) if seconds else None,
        cache_read_tokens=sum(cached) if cached else None,
        has_other_agents=any(run.agent != summary.agent for run in runs),
        last_text=rows.begin_text(one.messages[-1]) if one.messages else None,
    )


def state_of(one: StoredThread) -> str | None:
    if one.active_run_id is not None:
        return "running"
    return next((run.outcome for run in reversed(one.runs.values())), None)


def cursor_of(row: ThreadRow) -> ThreadCursor:
    return ThreadCursor(row.updated_at, row.id)


def run_key(run: RunRecord) -> tuple[str, str]:
    return run.started_at, run.id


def read_run_cursor(text: str) -> tuple[str, str]:
    """Raises `BadRequest`."""
    time, _, id = text.partition("/")
    if not id:
        raise BadRequest(f"{text!r} is not the cursor of a page of runs.")
    return time, id


def unexpired(pending: Sequence[Pending]) -> tuple[Pending, ...]:
    now = rows.now()
    return tuple(waiting for waiting in pending if (rows.expiry(waiting) or now) >= now)
