"""Threads in this process's memory: the most recently used, up to a number and a total size."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from typing import assert_never

import msgspec
from pydantic import BaseModel, ConfigDict

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import QuotaExceeded, StaleWriter, ThreadBusy, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.thread_parts import ThreadOutline, outline_of
from rightseat.core.threads import (
    THREAD_BYTES,
    Expired,
    Pending,
    RunClaim,
    RunRow,
    Summary,
    Thread,
    ThreadCursor,
    Threads,
)
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals
from rightseat.operations.store import Store
from rightseat.stores import rows
from rightseat.stores.files import MemoryArtifacts
from rightseat.stores.limits import MemoryLimits
from rightseat.stores.memory_annotations import MemoryAnnotations
from rightseat.stores.memory_deletions import MemoryDeletions
from rightseat.stores.memory_feedback import MemoryFeedback
from rightseat.stores.memory_memories import MemoryMemories
from rightseat.stores.memory_records import MemoryRecords, StoredThread, unexpired


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    max_threads: int = 1000
    """How many threads are stored; the least recently used are deleted first."""
    max_mb: int = 64
    """How many megabytes of messages and state are stored in all, and how many of files that runs have created."""


def build(options: Options) -> Threads:
    return MemoryThreads(options.max_threads, options.max_mb)


class MemoryThreads:
    reap_every: float | None = None

    def __init__(self, max_threads: int = 1000, max_mb: int = 64) -> None:
        self._max_threads = max_threads
        self._max_bytes = max_mb * 2**20
        self._size = 0
        self._threads: OrderedDict[str, StoredThread] = OrderedDict()
        self.artifacts = MemoryArtifacts(max_mb)
        self.feedback = MemoryFeedback(lambda: list(self._threads.values()))
        self.records = MemoryRecords(lambda: list(self._threads.values()), self.artifacts, self.feedback.find_vote)
        self.deletions = MemoryDeletions()
        self.memories = MemoryMemories(lambda: list(self._threads.values()), self.deletions)
        self.annotations = MemoryAnnotations(lambda: list(self._threads.values()))
        self.limits = MemoryLimits()
        self._epoch = 0

    def store(self) -> Store:
        return Store(
            threads=self,
            artifacts=self.artifacts,
            records=self.records,
            limits=self.limits,
            feedback=self.feedback,
            memories=self.memories,
            annotations=self.annotations,
            deletions=self.deletions,
        )

    async def claim(
        self, ask: Ask, *, again: bool = False, artifact: StoredArtifact | None = None, needs_slot: bool = False
    ) -> RunClaim:
        self._epoch += 1
        if ask.transient:
            return RunClaim(self._epoch)
        if again and ask.thread_id not in self._threads:
            raise ThreadNotFound(ask.thread_id)
        thread = self._open(ask)
        new = thread.new_messages(ask.messages, ask.truncate_at)
        if thread.active_run_id is None and rows.may_repeat(ask, new):
            thread.refuse_repeated(ask)
        thread.active_run_id = ask.run_id
        thread.runs[ask.run_id] = RunRow(ask.run_id, ask.agent, ask.client_run_id, epoch=self._epoch)
        thread.begin_run(ask)
        if artifact is not None:
            self.artifacts.add(ask, artifact)
        return RunClaim(self._epoch, new, thread.state, unexpired(thread.pending), artifact is not None)

    def _open(self, ask: Ask) -> StoredThread:
        """The thread of the ask, which is created if it does not exist."""
        thread = self._threads.get(ask.thread_id)
        if thread is None:
            now, name = rows.now(), rows.name(ask.messages)
            thread = StoredThread(ask.principal.id, Summary(ask.thread_id, ask.agent, name, False, now, now))
            self._threads[ask.thread_id] = thread
        self._check(thread, ask)
        name = thread.summary.name or rows.name(ask.messages)
        thread.summary = msgspec.structs.replace(thread.summary, name=name, updated_at=rows.now())
        return thread

    async def append_messages(self, ask: Ask, quota: int | None = None) -> None:
        known = self._threads.get(ask.thread_id)
        new = known.new_messages(ask.messages) if known else ask.messages
        added = rows.size_of_messages(new) + (0 if known else THREAD_BYTES)
        owner = ask.principal.id
        used = sum(one.appended_bytes for one in self._threads.values() if one.owner == owner)
        if quota is not None and used + added > quota:
            raise QuotaExceeded(used, added, quota)
        thread = self._open(ask)
        if thread.active_run_id is not None:
            raise ThreadBusy(ask.thread_id, thread.active_run_id)
        thread.messages += thread.new_messages(ask.messages)
        thread.appended_bytes += added
        self._update_size(ask.thread_id, thread)

    async def finish(
        self,
        ask: Ask,
        messages: tuple[Message, ...],
        state: JsonValue,
        last: RunFinished | RunFailed,
        totals: RunTotals | None = None,
    ) -> None:
        if ask.transient:
            return self.feedback.recent.remember(ask, messages, totals)
        thread = self._threads.get(ask.thread_id)
        if thread is None or thread.active_run_id != ask.run_id:
            return
        thread.active_run_id = None
        thread.runs[ask.run_id] = msgspec.structs.replace(thread.runs[ask.run_id], outcome=rows.outcome(last))
        thread.end_run(ask.run_id, last, totals)
        thread.truncate(ask.truncate_at)
        thread.messages += thread.new_messages((*ask.messages, *messages))
        thread.written.update(dict.fromkeys(rows.reply_ids(messages), ask.run_id))
        thread.state = state
        thread.summary = msgspec.structs.replace(thread.summary, updated_at=rows.now())
        opened, answered = (
            rows.open_interrupts(ask, thread.messages, last),
            {answer.interrupt_id for answer in ask.answers},
        )
        answered.update(one.interrupt.id for one in opened)
        thread.pending = (*(one for one in thread.pending if one.interrupt.id not in answered), *opened)
        self._update_size(ask.thread_id, thread)

    async def advance_epoch(self, ask: Ask, epoch: int) -> int:
        thread = self._threads.get(ask.thread_id)
        run = thread.runs.get(ask.run_id) if thread else None
        if thread is None or run is None or run.epoch != epoch or thread.active_run_id != ask.run_id:
            raise StaleWriter(ask.run_id, epoch, run.epoch if run else epoch)
        self._epoch += 1
        thread.runs[ask.run_id] = msgspec.structs.replace(run, epoch=self._epoch)
        return self._epoch

    def release(self, run_id: str, epoch: int) -> None:
        """Does nothing: a run that ended is always finished here."""

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        thread = self._threads.get(thread_id)
        if thread is None or thread.owner != principal.id:
            return None
        self._threads.move_to_end(thread_id)
        return Thread(thread_id, thread.messages, thread.state, tuple(thread.runs.values()), thread.summary)

    async def outline(self, thread_id: str, principal: Principal) -> ThreadOutline | None:
        thread = await self.load(thread_id, principal)
        return None if thread is None else outline_of(thread)

    async def read_messages(self, thread_id: str, principal: Principal, start: int, stop: int) -> Sequence[Message]:
        thread = await self.load(thread_id, principal)
        return () if thread is None else thread.messages[start:stop]

    async def list(
        self,
        principal: Principal,
        *,
        agent: str | None = None,
        archived: bool = False,
        limit: int = 50,
        after: ThreadCursor | None = None,
    ) -> Sequence[Summary]:
        mine = (thread.summary for thread in self._threads.values() if thread.owner == principal.id)
        wanted = [one for one in mine if agent in (None, one.agent) and (archived or not one.archived)]
        older = [one for one in wanted if after is None or one.cursor < after]
        return sorted(older, key=lambda one: one.cursor, reverse=True)[:limit]

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        thread = self._find_own(thread_id, principal)
        changes = {"name": name, "archived": archived}
        given = {key: value for key, value in changes.items() if value is not None}
        thread.summary = msgspec.structs.replace(thread.summary, **given, updated_at=rows.now())
        return thread.summary

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        runs = list(self._find_own(thread_id, principal).runs)
        self._delete(thread_id)
        return runs

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        mine = (thread for thread in self._threads.values() if thread.owner == principal.id)
        return [one for thread in mine for one in unexpired(thread.pending) if thread_id in (None, one.thread_id)]

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        mine = (thread for thread in self._threads.values() if thread.owner == principal.id)
        return [
            thread.active_run_id for thread in mine if thread.active_run_id and thread_id in (None, thread.summary.id)
        ]

    async def orphans(self) -> Sequence[Ask]:
        return ()  # the runs of an earlier process are gone with it

    async def expire_questions(self) -> Sequence[Expired]:
        before, found = rows.now(ago=rows.EXPIRY_GRACE), list[Expired]()
        for thread in self._threads.values():
            expired = [one for one in thread.pending if (rows.expiry(one) or before) < before]
            if expired and thread.active_run_id is None:  # else the run may be answering it
                found += [Expired(thread.owner, one) for one in expired]
                thread.pending = tuple(one for one in thread.pending if one not in expired)
        return found

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        live = {thread.active_run_id for thread in self._threads.values()}
        return [run_id for run_id in run_ids if run_id not in live]

    async def expire(self) -> AsyncGenerator[Sequence[str], None]:
        self.limits.expire()
        yield ()  # threads are deleted only when there are too many

    def _check(self, thread: StoredThread, ask: Ask) -> None:
        if thread.owner != ask.principal.id:
            raise ThreadNotFound(ask.thread_id)
        if thread.active_run_id is not None and thread.active_run_id != ask.run_id:
            raise ThreadBusy(ask.thread_id, thread.active_run_id)

    def _find_own(self, thread_id: str, principal: Principal) -> StoredThread:
        thread = self._threads.get(thread_id)
        if thread is None or thread.owner != principal.id:
            raise ThreadNotFound(thread_id)
        return thread

    def _update_size(self, thread_id: str, thread: StoredThread) -> None:
        """Delete the least recently used threads without an active run until the rest fits the limits."""
        self._size -= thread.size_bytes
        thread.size_bytes = size(thread.messages, thread.state)
        self._size += thread.size_bytes
        self._threads.move_to_end(
            thread_id, last=thread.size_bytes <= self._max_bytes
        )  # larger than the limit by itself: deleted first
        for oldest in list(self._threads):
            if len(self._threads) <= self._max_threads and self._size <= self._max_bytes:
                return
            if self._threads[oldest].active_run_id is None:
                self._delete(oldest)

    def _delete(self, thread_id: str) -> None:
        deleted = self._threads.pop(thread_id)
        self._size -= deleted.size_bytes
        self.deletions.add("thread", deleted.owner, thread_id)
        self.artifacts.delete_thread(thread_id)
        self.feedback.delete_thread(thread_id)
        self.memories.delete_thread(thread_id)
        self.annotations.delete_thread(thread_id, deleted.owner)


def size(messages: Sequence[Message], state: JsonValue) -> int:
    """The approximate size of a thread: the characters of its messages, and of its state as JSON."""
    messages_size = sum(len(text) for message in messages for part in message.parts for text in texts(part))
    return messages_size + (len(msgspec.json.encode(state)) if state is not None else 0)


def texts(part: Part) -> tuple[str, ...]:
    match part:
        case Text(text=text):
            return (text,)
        case Image(data=data) | File(data=data):
            return (data,)
        case Call(arguments=arguments):
            return (arguments,)
        case Result(content=content):
            return (content,)
        case _:
            assert_never(part)
