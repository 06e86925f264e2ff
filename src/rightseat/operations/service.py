"""What operators see and do across users. Every method checks the rights of the operator that calls it.

Only faces whose `routes` have a parameter `operations` receive it: no other face can list the data of several users.
"""

from asyncio import Event as AsyncEvent
from asyncio import Queue
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

import msgspec

from rightseat.core.ask import Principal, includes_agent
from rightseat.core.errors import RightseatError, ThreadNotFound
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending
from rightseat.limits.prices import Prices
from rightseat.operations.activity import Activity, Announcement, PluginActivity, RunActivity, ThreadActivity
from rightseat.operations.annotations import AnnotationQuery, AnnotationRow, AnnotationsNotSupported, AnnotationStore
from rightseat.operations.audit import MAX_LINES, AuditLine, AuditQuery, AuditTrail
from rightseat.operations.audit_lines import Openings, write_line
from rightseat.operations.changes import LiveChanges
from rightseat.operations.feedback import (
    Bucket,
    FeedbackCount,
    FeedbackNotSupported,
    FeedbackQuery,
    FeedbackRow,
    FeedbackStore,
)
from rightseat.operations.memories import MemoriesNotSupported, MemoryNotFound, MemoryQuery, MemoryRow, MemoryStore
from rightseat.operations.model_calls import ModelCallStore, StoredCallPage
from rightseat.operations.new_runs import NewRuns
from rightseat.operations.plugin_operations import PluginOperations
from rightseat.operations.records import (
    FileRow,
    Page,
    Question,
    RecordReader,
    Records,
    RunQuery,
    RunRecord,
    ThreadQuery,
    ThreadRow,
    build_question,
    is_visible_run,
)
from rightseat.operations.rights import Operator, OperatorNotFound, Right, forbid, intersect
from rightseat.operations.run_pages import ListedRun, list_runs
from rightseat.operations.tally import RecentTallies, Tally
from rightseat.operations.transient_runs import TransientRun, TransientRuns
from rightseat.operations.visible_threads import VisibleThread, VisibleThreads
from rightseat.operations.workbench import PluginWorkbench
from rightseat.reads import hold_read

PAGE_RUNS = 200


class ListsNotSupported(RightseatError):
    code = "lists_not_supported"
    status = 501

    def __init__(self) -> None:
        super().__init__("The configured store of threads cannot list threads and runs. Use `threads: {type: sql}`.")


class OpenedThread(NamedTuple):
    """A thread with its runs, the oldest first, its open questions and, if its text may be read, its files."""

    found: VisibleThread
    row: ThreadRow
    runs: Sequence[RunRecord]
    questions: Sequence[Question]
    files: Sequence[FileRow]


class RecentCounts(NamedTuple):
    """The counts of this process from `since` on, in seconds since 1970. `running` are its active runs by agent."""

    since: float
    tallies: Iterable[tuple[float, str, Tally]]
    running: Mapping[str, int]


class Operations:
    """`prices` are those of the configuration, for every user of the face. `records_prompts`: what models are sent is
    recorded. `is_alone`: no other process starts runs."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        records: Records | None = None,
        audit: AuditTrail | None = None,
        activity: Activity | None = None,
        recent: RecentTallies | None = None,
        transient_runs: TransientRuns | None = None,
        workbenches: Sequence[PluginWorkbench] = (),
        prices: Prices | None = None,
        feedback: FeedbackStore | None = None,
        memories: MemoryStore | None = None,
        annotations: AnnotationStore | None = None,
        model_calls: ModelCallStore | None = None,
        records_prompts: bool = False,
        is_alone: bool = True,
    ) -> None:
        self.prices = prices or Prices()
        self.records_prompts = records_prompts
        self._activity = activity or Activity()
        self.plugins = PluginOperations(workbenches, self._activity)
        self._runtime = runtime
        self._known_records = records
        self._audit = audit or AuditTrail()
        self._recent = recent
        self._known_feedback = feedback
        self._memories = memories
        self._annotations = annotations
        self._model_calls = model_calls
        self._transient_runs = transient_runs
        self._threads = VisibleThreads(runtime, records)
        self._new_runs = NewRuns(records, is_alone=is_alone)
        self._openings = Openings()
        self.changes: LiveChanges | None = None
        """Announces deleted memories to open lists; None without such lists."""

    @property
    def _records(self) -> Records:
        """Raises `ListsNotSupported`."""
        if self._known_records is None:
            raise ListsNotSupported
        return self._known_records

    # Threads

    async def list_threads(self, operator: Operator, query: ThreadQuery) -> Page[ThreadRow]:
        """Of `query.user`, or of all users. A search finds only what the operator may read.

        Raises `InsufficientScope` for the threads of others without the right to watch any, or to read what is found.
        """
        reader = make_reader(operator, query.user, query.agent, is_search=query.words is not None)
        await hold_read()
        return await self._records.threads(msgspec.structs.replace(query, reader=reader))

    async def find_thread(
        self,
        operator: Operator,
        thread_id: str,
        right: Right = "watch",
        *,
        has_messages: bool = True,
        is_opened: bool = False,
    ) -> VisibleThread:
        """With `is_opened` its text will be read, which the audit log says. Raises `OperatorNotFound`."""
        found = await self._threads.get(operator, thread_id, right, has_messages=has_messages)
        if is_opened:
            self._record_opening(operator, found)
        return found

    async def open_thread(self, operator: Operator, thread_id: str) -> OpenedThread:
        """Raises `OperatorNotFound`."""
        found = await self.find_thread(operator, thread_id, is_opened=True)
        row = await self._records.thread(found.thread.id)
        if row is None:
            raise OperatorNotFound("There is no such thread.")
        pending = await self._runtime.pending(found.principal, found.thread.id)
        runs = await self._list_runs_of(found.thread.id)
        known = {run.id: run for run in runs}
        return OpenedThread(
            found,
            row,
            runs,
            [build_question(found.principal.id, waiting, known) for waiting in pending],
            await self._records.files(found.thread.id) if found.has_words else (),
        )

    async def _list_runs_of(self, thread_id: str) -> Sequence[RunRecord]:
        page = await self._records.runs(RunQuery(thread=thread_id, limit=PAGE_RUNS))
        found = [*page.rows]
        while page.next is not None:
            page = await self._records.runs(RunQuery(thread=thread_id, limit=PAGE_RUNS, after=page.next))
            found += page.rows
        return found[::-1]

    async def change_thread(
        self, operator: Operator, thread_id: str, *, name: str | None = None, archived: bool | None = None
    ) -> ThreadRow:
        """One of its own: no right includes changes of the threads of others. Raises `ThreadNotFound`."""
        records = self._records
        await self._runtime.change(thread_id, operator.principal, name=name, archived=archived)
        row = await records.thread(thread_id)
        if row is None:
            raise ThreadNotFound(thread_id)
        return row

    def _record_opening(self, operator: Operator, found: VisibleThread) -> None:
        if found.has_words and not found.is_own:
            self._openings.record(operator.id, "thread", found.thread.id, found.principal.id)

    # Runs

    async def list_runs(self, operator: Operator, query: RunQuery) -> Page[ListedRun]:
        """Stored runs and the last transient ones of this process, of `query.user` or of all users. Raises as
        `list_threads`."""
        reader = make_reader(operator, query.user, query.agent)
        return await list_runs(self._records, self._transient_runs, msgspec.structs.replace(query, reader=reader))

    async def find_run(
        self, operator: Operator, run_id: str, right: Right = "watch", *, is_opened: bool = False
    ) -> tuple[VisibleThread, RunRecord]:
        """With `is_opened` its text will be read, which needs the right to read, and which the audit log says.

        Raises `OperatorNotFound`; `InsufficientScope` if the operator sees the run and does not have the right.
        """
        run = await self._records.run(run_id)
        found = await self._threads.find(operator, run.thread, right) if run else None
        run = await self._records.run(run_id) if found else run  # it may have ended meanwhile
        if found and run:
            if is_opened and not found.has_words:
                forbid("read", found.agent)
            if is_opened:
                self._record_opening(operator, found)
            return found, run
        if run and right != "watch" and await self._threads.find(operator, run.thread):
            forbid(right, run.agent)
        raise OperatorNotFound("There is no such run.")

    def find_transient_run(self, operator: Operator, run_id: str) -> TransientRun:
        """A run of this process that is not stored. Raises `OperatorNotFound`."""
        run = self._transient_runs.find(run_id) if self._transient_runs is not None else None
        reader = RecordReader(operator.id, operator.principal.agents, operator.rights.watch)
        if run is None or not is_visible_run(run.record, reader):
            raise OperatorNotFound("There is no such run.")
        return run

    async def list_model_calls(
        self, operator: Operator, run_id: str, limit: int, after: str | None = None
    ) -> StoredCallPage:
        """What the models of a run were sent, if it was recorded. Instructions are those of the operators, so this
        needs the right to read, also for the user of the run. Raises as `find_run`."""
        recorded = await self._model_calls.find(run_id) if self._model_calls is not None else None
        try:
            agent = (await self.find_run(operator, run_id, is_opened=True))[1].agent
        except OperatorNotFound:
            if recorded is None or not operator.may_watch(recorded.owner, recorded.agent):
                raise
            agent = recorded.agent  # a transient run
        if not includes_agent(operator.rights.read, agent):
            forbid("read", agent)
        if self._model_calls is None or recorded is None:
            return StoredCallPage((), {})
        self._openings.record(operator.id, "thread", recorded.thread, recorded.owner)
        return await self._model_calls.list(run_id, limit, after)

    async def stop_run(self, operator: Operator, run_id: str) -> bool:
        """False if it is not running. Raises as `find_run`."""
        found, run = await self.find_run(operator, run_id, "act")
        is_stopped = await self._runtime.stop(found.thread.id, found.principal, run.id)
        if is_stopped and not found.is_own:
            write_line("%s stopped run %s of %s", operator.id, run.id, found.principal.id)
        return is_stopped

    async def visit_runs(self, operator: Operator, query: RunQuery, visit: Callable[[RunRecord], object]) -> bool:
        """Call `visit` with each stored run of the agents that the operator watches, as `Records.visit_runs`.

        Raises `InsufficientScope`.
        """
        operator.check_any("watch")
        reader = RecordReader(operator.id, (), operator.rights.watch)
        return await self._records.visit_runs(msgspec.structs.replace(query, reader=reader), visit)

    def list_transient_runs(self, operator: Operator, query: RunQuery) -> Sequence[RunRecord]:
        """Those that this process remembers, of the agents that the operator watches. Raises `InsufficientScope`."""
        operator.check_any("watch")
        reader = RecordReader(operator.id, (), operator.rights.watch)
        query = msgspec.structs.replace(query, reader=reader)
        return self._transient_runs.list(query) if self._transient_runs is not None else ()

    def count_recent(self, operator: Operator, since: float) -> RecentCounts | None:
        """Of the agents that the operator watches; None if nothing is counted. Raises `InsufficientScope`."""
        operator.check_any("watch")
        if self._recent is None:
            return None
        watched = operator.rights.watch
        return RecentCounts(
            self._recent.since,
            (one for one in self._recent.list(since) if includes_agent(watched, one[1])),
            {agent: number for agent, number in self._recent.running().items() if includes_agent(watched, agent)},
        )

    # Feedback

    async def list_feedback(self, operator: Operator, query: FeedbackQuery) -> Page[FeedbackRow]:
        """Of `query.owner`, or of all users, with comments and tags. Raises as a search of `list_threads`."""
        reader = make_reader(operator, query.owner, query.agent, is_search=True)
        await hold_read()
        return await self._feedback.list(msgspec.structs.replace(query, reader=reader))

    async def count_feedback(self, operator: Operator, query: FeedbackQuery, bucket: Bucket) -> Sequence[FeedbackCount]:
        """Of `query.owner`, or of all users. Raises as `list_threads`."""
        reader = make_reader(operator, query.owner, query.agent)
        await hold_read()
        return await self._feedback.count(msgspec.structs.replace(query, reader=reader), bucket)

    @property
    def _feedback(self) -> FeedbackStore:
        """Raises `FeedbackNotSupported`."""
        if self._known_feedback is None:
            raise FeedbackNotSupported
        return self._known_feedback

    # Memories

    async def list_memories(self, operator: Operator, query: MemoryQuery) -> Page[MemoryRow]:
        """Of `query.owner`, or all with the shared ones, with their texts. Raises as a search of `list_threads`."""
        reader = make_reader(operator, query.owner, query.agent, is_search=True)
        await hold_read()
        if self._memories is None:
            raise MemoriesNotSupported
        page = await self._memories.list(msgspec.structs.replace(query, reader=reader))
        if query.owner != operator.id and page.rows:
            write_line("%s read memories of %s", operator.id, query.owner or "all users")
        return page

    async def remove_memory(self, operator: Operator, id: str, owner: str | None) -> None:
        """One of this user, or a shared one. Those of others need the right to act for all agents.

        Raises `InsufficientScope` and `MemoryNotFound`.
        """
        if owner != operator.id:
            operator.check_all("act")
        if self._memories is None:
            raise MemoriesNotSupported
        if not await self._memories.remove(id, owner):
            raise MemoryNotFound(id)
        if self.changes is not None:
            self.changes.change_memory(id, owner, is_deleted=True)
        if owner is None:
            write_line("%s removed the shared memory %s", operator.id, id)
        elif owner != operator.id:
            write_line("%s removed memory %s of %s", operator.id, id, owner)

    # Annotations

    async def list_annotations(self, operator: Operator, query: AnnotationQuery) -> Page[AnnotationRow]:
        """What users did in pages, with its words. Raises as a search of `list_threads`."""
        reader = make_reader(operator, query.owner, query.agent, is_search=True)
        await hold_read()
        if self._annotations is None:
            raise AnnotationsNotSupported
        page = await self._annotations.list(msgspec.structs.replace(query, reader=reader))
        if query.owner != operator.id and page.rows:
            write_line("%s read annotations of %s", operator.id, query.owner or "all users")
        return page

    # Files

    async def find_file_owner(self, operator: Operator, file_id: str) -> Principal:
        """The user of a file that the operator may download by its rights to watch and to read.

        Raises `OperatorNotFound`.
        """
        readable = intersect(operator.rights.watch, operator.rights.read)
        owner = None
        if readable != () and self._known_records is not None:
            owner = await self._known_records.file_owner(file_id)
        if owner is None:
            raise OperatorNotFound("There is no such file.")
        return Principal(owner, readable)

    def record_download(self, operator: Operator, file_id: str, owner: Principal) -> None:
        """The file of `find_file_owner` is sent, which the audit log says. Raises `InsufficientScope`."""
        operator.check_any("read")
        self._openings.record(operator.id, "file", file_id, owner.id)

    # Questions

    async def list_questions(self, operator: Operator, owner: str | None) -> Sequence[Question]:
        """Open questions of this user, or of all users, with the agents that the operator may act for.

        Raises `InsufficientScope` for those of others without the right for any agent.
        """
        pending = await self._runtime.pending(operator.principal)
        records = self._known_records
        stored = (
            {question.pending.interrupt.id: question for question in await records.questions(operator.id)}
            if records
            else {}
        )
        own = [stored.get(waiting.interrupt.id) or Question(operator.id, waiting) for waiting in pending]
        if owner == operator.id:
            return own
        operator.check_any("act")
        known = {question.pending.interrupt.id for question in own}
        others = [
            question
            for question in await self._records.questions()
            if question.pending.interrupt.id not in known
            and includes_agent(operator.rights.act, question.pending.agent)
        ]
        return [one for one in (*own, *others) if owner in (None, one.user)]

    async def find_question(self, operator: Operator, interrupt_id: str) -> tuple[VisibleThread, Pending]:
        """Raises `OperatorNotFound`, or `InsufficientScope` if the operator sees the thread and may not act in it."""
        for waiting in await self._runtime.pending(operator.principal):
            if waiting.interrupt.id == interrupt_id and (
                found := await self._threads.find(operator, waiting.thread_id)
            ):
                return found, waiting
        if operator.rights.act != () or operator.rights.watch != ():
            for question in await self._records.questions():
                one = question.pending
                if one.interrupt.id == interrupt_id and (found := await self._find_others(operator, one)):
                    return found, one
        raise OperatorNotFound("This question was answered, or it has expired.")

    async def _find_others(self, operator: Operator, question: Pending) -> VisibleThread | None:
        if found := await self._threads.find(operator, question.thread_id, "act"):
            return found
        if await self._threads.find(operator, question.thread_id):
            forbid("act", question.agent)
        return None

    # The audit log, and news

    async def list_audit(self, operator: Operator) -> Sequence[AuditLine]:
        """The last lines, the newest first: those of the store, or without one those of this process.

        They are about all agents. Raises `InsufficientScope`.
        """
        operator.check_all("watch")
        if self._audit.store is None:
            return list(reversed(self._audit.lines))
        await hold_read()
        await self._audit.write()
        return await self._audit.store.list(AuditQuery(limit=MAX_LINES))

    @contextmanager
    def subscribe(self, operator: Operator) -> "Iterator[Queue[Announcement]]":
        """What happens in this process from now on, as far as the operator may see it."""
        with self._activity.subscribe(lambda announcement: may_receive(operator, announcement)) as news:
            yield news

    @asynccontextmanager
    async def following(self, started: Mapping[str, AsyncEvent]) -> AsyncIterator[None]:
        """Set the event of a thread when another server starts a run of it. It tells nothing about other threads."""

        def wake(thread: str | None) -> None:
            for id, event in started.items():
                if thread in (None, id):
                    event.set()

        async with self._new_runs.following(wake):
            yield


def make_reader(
    operator: Operator, owner: str | None, agent: str | None = None, *, is_search: bool = False
) -> RecordReader:
    """Restricts a list of the data of `owner`, or of all users, to what the operator may see. One's own data is listed
    whatever the rights are. Raises `InsufficientScope`."""
    if owner == operator.id:
        return RecordReader(operator.id, operator.principal.agents)
    operator.check_any("watch", agent or "*")
    others = intersect(operator.rights.watch, operator.rights.read) if is_search else operator.rights.watch
    if others == ():
        forbid("read", agent or "*")
    return RecordReader(operator.id, operator.principal.agents, others)


def may_receive(operator: Operator, announcement: Announcement) -> bool:
    """An operator that may answer the questions of a run learns that it has some."""
    match announcement:
        case RunActivity(ask=ask):
            agent = ask.agent
            return operator.may_watch(ask.principal.id, agent) or includes_agent(operator.rights.act, agent)
        case ThreadActivity(owner=owner, agent=agent):
            return operator.may_watch(owner, agent)
        case PluginActivity():
            return operator.rights.watch != () or operator.rights.author != ()
        case _:
            return True
