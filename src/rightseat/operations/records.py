"""Reads the stored threads and runs of all users, for operators. `core.threads` reads those of one user.

Lists are read page by page, the newest first. `Page.next` is the cursor of the next page; it stays valid when rows are
added or deleted.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from rightseat.core.ask import AgentNames, Ask, includes_agent
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.threads import Pending
from rightseat.core.usage import ModelUsage, RunTotals

Row = TypeVar("Row")

MAX_TOTAL = 100_000
"""Up to this number of rows the total of a list is exact; counting more takes too long."""


class Page(msgspec.Struct, Generic[Row], frozen=True):
    """`next` is None on the last page. `total` is the number of rows on all pages, and None if it was not counted.

    A page with words may have fewer rows than its limit, even none, and still a `next`: the search has reached its time
    limit there, and goes on with the next page.
    """

    rows: Sequence[Row]
    next: str | None = None
    total: int | None = None
    """At most `MAX_TOTAL`."""


class RecordReader(msgspec.Struct, frozen=True):
    """Restricts a list to what its reader may see: the rows of `user` with the agents `own`, and those of all users
    with the agents `others`. A thread is visible if all agents are permitted that took part in it."""

    user: str
    own: AgentNames = None
    others: AgentNames = ()


class ThreadQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is the cursor of a page; None reads the first. Other fields that are None restrict nothing.

    `state` is one of `ThreadRow.state`, `since` a time of the form of `ThreadRow.updated_at`. `words` is searched in
    titles and in the text of messages, in any case. `is_counted` asks for the total, except of a search.
    """

    reader: RecordReader | None = None
    user: str | None = None
    agent: str | None = None
    archived: bool | None = None
    state: str | None = None
    since: str | None = None
    words: str | None = None
    after: str | None = None
    limit: int = 50
    is_counted: bool = False


class ThreadRow(msgspec.Struct, frozen=True):
    """Times are ISO 8601, in UTC. `runs` counts the runs of the thread; `active_run` is one that has not ended.

    `state` is `running`, or the outcome of the last run; None without runs. Tokens and `milliseconds` are the sums of
    all runs, and None if they are unknown. `last_text` is the beginning of the text of the last message, in lists.
    `has_other_agents` means that another agent than `agent` took part.
    """

    id: str
    title: str | None
    user: str
    agent: str
    archived: bool
    created_at: str
    updated_at: str
    runs: int
    active_run: str | None
    state: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    milliseconds: int | None = None
    cache_read_tokens: int | None = None
    has_other_agents: bool = False
    last_text: str | None = None


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """As `ThreadQuery`. `outcome` is one of `RunRecord.outcome`, or `running`; `since` restricts `started_at`.

    `flow` is one of `RunRecord.flow`, which a run has once it has ended, `feedback` is `up` or `down`, `code`
    that of a failed run.
    """

    reader: RecordReader | None = None
    thread: str | None = None
    agent: str | None = None
    user: str | None = None
    outcome: str | None = None
    flow: str | None = None
    feedback: str | None = None
    code: str | None = None
    since: str | None = None
    after: str | None = None
    limit: int = 50


class RunRecord(msgspec.Struct, frozen=True):
    """A run that is stored, or a transient one that the server remembers.

    `outcome` is that of the last event, `failed`, or None while it runs. `code` is the error of a failed run.
    `has_questions` means that the run ended with questions to a person, `is_waiting` that one of them is still open;
    both are None if that is unknown: the questions of a transient run are stored by its face.
    Tokens are None if no model has reported them, and calls until the run has finished. `flow` is the first flow that
    ran in it, as `plugin.flow`; `models` has the calls and tokens of each model. `asked_at` is the end of the run whose
    question this run answers; None if it answers none. `feedback` is the vote of its user, `up` or `down`.
    """

    id: str
    thread: str
    user: str
    agent: str
    face: str | None
    started_at: str
    ended_at: str | None = None
    outcome: str | None = None
    code: str | None = None
    has_questions: bool | None = None
    is_waiting: bool | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    flow: str | None = None
    asked_at: str | None = None
    models: Sequence[ModelUsage] = ()
    feedback: str | None = None

    @property
    def seconds(self) -> float | None:
        return seconds_between(self.started_at, self.ended_at)

    @property
    def waited_seconds(self) -> float | None:
        """How long the question waited for a person until this run answered it."""
        return seconds_between(self.asked_at, self.started_at)


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run once it has ended, in the fields of `RunRecord`."""

    ended_at: str
    outcome: str
    code: str | None
    has_questions: bool
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    model_calls: int | None
    tool_calls: int | None
    flow: str | None
    models: Sequence[ModelUsage]


def begin_record(ask: Ask, started_at: str, asked_at: str | None) -> RunRecord:
    """The record of a run that begins."""
    return RunRecord(
        id=ask.run_id,
        thread=ask.thread_id,
        user=ask.principal.id,
        agent=ask.agent,
        face=ask.face or None,
        started_at=started_at,
        has_questions=False,
        is_waiting=False,
        asked_at=asked_at,
    )


def describe_end(last: RunFinished | RunFailed, totals: RunTotals | None, ended_at: str) -> RunEnd:
    """Without `totals`, calls and tokens are unknown."""
    usage = totals.usage if totals else None
    return RunEnd(
        ended_at=ended_at,
        outcome=last.outcome if isinstance(last, RunFinished) else "failed",
        code=last.code if isinstance(last, RunFailed) else None,
        has_questions=isinstance(last, RunFinished) and bool(last.interrupts),
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        cache_read_tokens=usage.cache_read_tokens if usage else None,
        model_calls=totals.model_calls if totals else None,
        tool_calls=totals.tool_calls if totals else None,
        flow=totals.flow if totals else None,
        models=totals.models if totals else (),
    )


def end_record(record: RunRecord, end: RunEnd) -> RunRecord:
    return msgspec.structs.replace(record, **msgspec.structs.asdict(end))


class FileRow(msgspec.Struct, frozen=True):
    """A file or a chart that a run of a thread created."""

    id: str
    name: str
    media_type: str
    created_at: str


class Question(NamedTuple):
    """A pending interrupt, and the user whose run asks.

    `asked_at` is when the asking run ended. `answered_in` is the active run that continues with the answer; the
    interrupt stays pending until that run ends, so that a crash loses no question.
    """

    user: str
    pending: Pending
    asked_at: str | None = None
    answered_in: str | None = None


def build_question(user: str, pending: Pending, runs: Mapping[str, RunRecord]) -> Question:
    """`runs` are those of the thread, by their ids."""
    asking = runs.get(pending.run_id)
    if asking is None or asking.ended_at is None:
        return Question(user, pending)
    asked_at = asking.ended_at
    answering = (run.id for run in runs.values() if run.outcome is None and (run.asked_at or "") >= asked_at)
    return Question(user, pending, asked_at, next(answering, None))


class Records(Protocol):
    async def threads(self, query: ThreadQuery) -> Page[ThreadRow]:
        """The most recently used first. Raises `BadRequest` for a cursor that is none.

        A search takes at most about two seconds and delays no other work.
        """
        ...

    async def runs(self, query: RunQuery) -> Page[RunRecord]:
        """The most recently started first. Raises `BadRequest` for a cursor that is none."""
        ...

    async def visit_runs(self, query: RunQuery, visit: Callable[[RunRecord], object]) -> bool:
        """Call `visit` with each run, the most recently started first, up to `query.limit`.

        Returns whether these are all. `has_questions` and `is_waiting` may be None: a SQL store does not read them.
        """
        ...

    async def thread(self, id: str) -> ThreadRow | None: ...

    async def run(self, id: str) -> RunRecord | None: ...

    async def files(self, thread_id: str) -> Sequence[FileRow]:
        """Those that a client may download, the oldest first."""
        ...

    async def file_owner(self, id: str) -> str | None:
        """The user of a file, or of a chart."""
        ...

    async def questions(self, user: str | None = None) -> Sequence[Question]:
        """Pending interrupts of this user, or of all users, that have not expired, the oldest first."""
        ...


def seconds_between(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def is_wanted_run(run: RunRecord, query: RunQuery) -> bool:
    reader = query.reader
    return (
        query.thread in (None, run.thread)
        and query.agent in (None, run.agent)
        and query.user in (None, run.user)
        and query.outcome in (None, run.outcome or "running")
        and query.flow in (None, run.flow)
        and query.feedback in (None, run.feedback)
        and query.code in (None, run.code)
        and (query.since is None or run.started_at >= query.since)
        and (reader is None or is_visible_run(run, reader))
    )


def is_visible_run(run: RunRecord, reader: RecordReader) -> bool:
    is_own = run.user == reader.user and includes_agent(reader.own, run.agent)
    return is_own or includes_agent(reader.others, run.agent)
