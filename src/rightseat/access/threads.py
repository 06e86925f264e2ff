"""Hides the threads of agents that a principal may not use, as if they did not exist."""

from collections.abc import AsyncGenerator, Sequence

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Message
from rightseat.core.thread_parts import ThreadOutline, is_visible, read_messages, read_outline
from rightseat.core.threads import Expired, Pending, RunClaim, Summary, Thread, ThreadCursor, Threads
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals


class ScopedThreads:
    """Wraps any store, which checks the owner of a thread itself."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    async def claim(
        self, ask: Ask, *, again: bool = False, artifact: StoredArtifact | None = None, needs_slot: bool = False
    ) -> RunClaim:
        await self._check(ask.thread_id, ask.principal)
        return await self._threads.claim(ask, again=again, artifact=artifact, needs_slot=needs_slot)

    async def finish(
        self,
        ask: Ask,
        messages: tuple[Message, ...],
        state: JsonValue,
        last: RunFinished | RunFailed,
        totals: RunTotals | None = None,
    ) -> None:
        await self._threads.finish(ask, messages, state, last, totals)

    async def advance_epoch(self, ask: Ask, epoch: int) -> int:
        return await self._threads.advance_epoch(ask, epoch)

    def release(self, run_id: str, epoch: int) -> None:
        self._threads.release(run_id, epoch)

    async def append_messages(self, ask: Ask, quota: int | None = None) -> None:
        await self._check(ask.thread_id, ask.principal)
        await self._threads.append_messages(ask, quota)

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        thread = await self._threads.load(thread_id, principal)
        return thread if thread is None or is_visible(thread, principal) else None

    async def outline(self, thread_id: str, principal: Principal) -> ThreadOutline | None:
        outline = await read_outline(self._threads, thread_id, principal)
        return outline if outline is None or is_visible(outline, principal) else None

    async def read_messages(self, thread_id: str, principal: Principal, start: int, stop: int) -> Sequence[Message]:
        if principal.agents is not None and await self.outline(thread_id, principal) is None:
            return ()
        return await read_messages(self._threads, thread_id, principal, start, stop)

    async def list(
        self,
        principal: Principal,
        *,
        agent: str | None = None,
        archived: bool = False,
        limit: int = 50,
        after: ThreadCursor | None = None,
    ) -> Sequence[Summary]:
        if principal.agents is None:
            return await self._threads.list(principal, agent=agent, archived=archived, limit=limit, after=after)
        found: list[Summary] = []
        for name in {agent}.intersection(principal.agents) if agent is not None else principal.agents:
            found += await self._threads.list(principal, agent=name, archived=archived, limit=limit, after=after)
        return sorted(found, key=lambda one: one.cursor, reverse=True)[:limit]

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        await self._check(thread_id, principal)
        return await self._threads.change(thread_id, principal, name=name, archived=archived)

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        await self._check(thread_id, principal)
        return await self._threads.delete(thread_id, principal)

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        found = await self._threads.pending(principal, thread_id)
        return [one for one in found if principal.may_use(one.agent)]

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        return await self._threads.unfinished(principal, thread_id)

    @property
    def reap_every(self) -> float | None:
        return self._threads.reap_every

    async def orphans(self) -> Sequence[Ask]:
        return await self._threads.orphans()

    async def expire_questions(self) -> Sequence[Expired]:
        return await self._threads.expire_questions()

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        return await self._threads.ended(run_ids)

    def expire(self) -> AsyncGenerator[Sequence[str], None]:
        return self._threads.expire()

    async def _check(self, thread_id: str, principal: Principal) -> None:
        if principal.agents is None:
            return
        outline = await read_outline(self._threads, thread_id, principal)
        if outline is not None and not is_visible(outline, principal):
            raise ThreadNotFound(thread_id)
