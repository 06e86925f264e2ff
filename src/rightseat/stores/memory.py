"""Threads in this process's memory: the newest, as far as `keep` and `megabytes` reach."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import msgspec
from pydantic import BaseModel, ConfigDict

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import StaleWriter, ThreadBusy, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.threads import Beginning, Expired, Pending, RunRow, Summary, Thread, Threads
from rightseat.core.values import JsonValue
from rightseat.stores import keeping
from rightseat.stores.files import MemoryArtifacts


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    keep: int = 1000
    """How many threads are remembered; the least recently used is forgotten first."""
    megabytes: int = 64
    """How much text and pictures of threads are remembered, in all; and as much again of files that runs have made."""


def build(options: Options) -> Threads:
    return MemoryThreads(options.keep, options.megabytes)


@dataclass(slots=True)
class _Kept:
    owner: str
    summary: Summary
    messages: tuple[Message, ...] = ()
    state: JsonValue = None
    runs: dict[str, RunRow] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    busy: str | None = None
    weight: int = 0

    def unknown(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        return keeping.unknown((message.id for message in self.messages), messages)


class MemoryThreads:
    reap_every: float | None = None

    def __init__(self, keep: int = 1000, megabytes: int = 64) -> None:
        self._keep = keep
        self._limit = megabytes * 2**20
        self._size = 0
        self._threads: OrderedDict[str, _Kept] = OrderedDict()
        self.artifacts = MemoryArtifacts(megabytes)
        self._epoch = 0

    async def begin(self, ask: Ask, *, again: bool = False) -> Beginning:
        self._epoch += 1
        if ask.transient:
            return Beginning(self._epoch)
        kept = self._threads.get(ask.thread_id)
        if kept is None and again:
            raise ThreadNotFound(ask.thread_id)
        if kept is None:
            now, name = keeping.now(), keeping.name(ask.messages)
            kept = _Kept(ask.principal.id, Summary(ask.thread_id, ask.agent, name, False, now, now))
            self._threads[ask.thread_id] = kept
        self._check(kept, ask)
        kept.busy = ask.run_id
        kept.runs[ask.run_id] = RunRow(ask.run_id, ask.agent, ask.client_run_id, epoch=self._epoch)
        name = kept.summary.name or keeping.name(ask.messages)
        kept.summary = msgspec.structs.replace(kept.summary, name=name, updated_at=keeping.now())
        return Beginning(self._epoch, kept.unknown(ask.messages), kept.state, live(kept.pending))

    async def finish(
        self, ask: Ask, said: tuple[Message, ...], state: JsonValue, last: RunFinished | RunFailed
    ) -> None:
        kept = self._threads.get(ask.thread_id)
        if ask.transient or kept is None or kept.busy != ask.run_id:
            return
        kept.busy = None
        kept.runs[ask.run_id] = msgspec.structs.replace(kept.runs[ask.run_id], outcome=keeping.outcome(last))
        kept.messages += kept.unknown((*ask.messages, *said))
        kept.state = state
        kept.summary = msgspec.structs.replace(kept.summary, updated_at=keeping.now())
        asked, answered = keeping.asked(ask, kept.messages, last), {answer.interrupt_id for answer in ask.answers}
        answered.update(one.interrupt.id for one in asked)
        kept.pending = (*(one for one in kept.pending if one.interrupt.id not in answered), *asked)
        self._weigh(ask.thread_id, kept)

    async def advance(self, ask: Ask, epoch: int) -> int:
        kept = self._threads.get(ask.thread_id)
        run = kept.runs.get(ask.run_id) if kept else None
        if kept is None or run is None or run.epoch != epoch or kept.busy != ask.run_id:
            raise StaleWriter(ask.run_id, epoch, run.epoch if run else epoch)
        self._epoch += 1
        kept.runs[ask.run_id] = msgspec.structs.replace(run, epoch=self._epoch)
        return self._epoch

    def leave(self, run_id: str, epoch: int) -> None:
        """What is told here is kept: a run that ended is finished."""

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        kept = self._threads.get(thread_id)
        if kept is None or kept.owner != principal.id:
            return None
        self._threads.move_to_end(thread_id)
        return Thread(thread_id, kept.messages, kept.state, tuple(kept.runs.values()), kept.summary)

    async def list(
        self, principal: Principal, *, agent: str | None = None, archived: bool = False, limit: int = 50
    ) -> Sequence[Summary]:
        mine = (kept.summary for kept in self._threads.values() if kept.owner == principal.id)
        wanted = [one for one in mine if agent in (None, one.agent) and (archived or not one.archived)]
        return sorted(wanted, key=lambda one: one.updated_at, reverse=True)[:limit]

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        kept = self._mine(thread_id, principal)
        changes = {"name": name, "archived": archived}
        asked = {key: value for key, value in changes.items() if value is not None}
        kept.summary = msgspec.structs.replace(kept.summary, **asked, updated_at=keeping.now())
        return kept.summary

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        runs = list(self._mine(thread_id, principal).runs)
        self._forget(thread_id)
        return runs

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        mine = (kept for kept in self._threads.values() if kept.owner == principal.id)
        return [one for kept in mine for one in live(kept.pending) if thread_id in (None, one.thread_id)]

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        mine = (kept for kept in self._threads.values() if kept.owner == principal.id)
        return [kept.busy for kept in mine if kept.busy and thread_id in (None, kept.summary.id)]

    async def orphans(self) -> Sequence[Ask]:
        return ()  # what dies with the process leaves nothing behind

    async def expire_questions(self) -> Sequence[Expired]:
        before, found = keeping.now(ago=keeping.EXPIRY_GRACE), list[Expired]()
        for kept in self._threads.values():
            expired = [one for one in kept.pending if (keeping.expiry(one) or before) < before]
            if expired and kept.busy is None:  # else it may just be answered
                found += [Expired(kept.owner, one) for one in expired]
                kept.pending = tuple(one for one in kept.pending if one not in expired)
        return found

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        live = {kept.busy for kept in self._threads.values()}
        return [run_id for run_id in run_ids if run_id not in live]

    async def expire(self) -> Sequence[str]:
        return ()  # old threads go when there are too many

    def _check(self, kept: _Kept, ask: Ask) -> None:
        if kept.owner != ask.principal.id:
            raise ThreadNotFound(ask.thread_id)
        if kept.busy is not None and kept.busy != ask.run_id:
            raise ThreadBusy(ask.thread_id, kept.busy)

    def _mine(self, thread_id: str, principal: Principal) -> _Kept:
        kept = self._threads.get(thread_id)
        if kept is None or kept.owner != principal.id:
            raise ThreadNotFound(thread_id)
        return kept

    def _weigh(self, thread_id: str, kept: _Kept) -> None:
        """Forget the oldest that nobody uses, until what is left is light enough."""
        self._size -= kept.weight
        kept.weight = size(kept.messages, kept.state)
        self._size += kept.weight
        self._threads.move_to_end(thread_id, last=kept.weight <= self._limit)  # too big alone: the first to go
        for oldest in list(self._threads):
            if len(self._threads) <= self._keep and self._size <= self._limit:
                return
            if self._threads[oldest].busy is None:
                self._forget(oldest)

    def _forget(self, thread_id: str) -> None:
        self._size -= self._threads.pop(thread_id).weight
        self.artifacts.forget_thread(thread_id)


def live(pending: Sequence[Pending]) -> tuple[Pending, ...]:
    now = keeping.now()
    return tuple(one for one in pending if (keeping.expiry(one) or now) >= now)


def size(messages: Sequence[Message], state: JsonValue) -> int:
    """Roughly what a thread weighs: the characters of its parts, and of its state as JSON."""
    said = sum(len(text) for message in messages for part in message.parts for text in texts(part))
    return said + (len(msgspec.json.encode(state)) if state is not None else 0)


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
