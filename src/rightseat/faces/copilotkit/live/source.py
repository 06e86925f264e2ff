"""Reads what open lists show: with the rights of the user whose list it is, a few at a time."""

import asyncio
from collections.abc import Iterator, Sequence

from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.faces.copilotkit.live.payloads import (
    AgentNames,
    LiveEvent,
    deleted_thread_event,
    memory_event,
    removed_memory_event,
    run_events,
    thread_events,
)
from rightseat.operations.changes import Change, Deletion, LiveChanges
from rightseat.operations.own_memories import OwnMemories

MAX_READS = 8
"""At a time, for all users of a face: after an outage each open list reads what it missed."""
MAX_THREADS = 200
"""The newest threads that are sent again. A list that shows more is loaded again by its page."""


class ListSource:
    def __init__(
        self, runtime: Runtime, changes: LiveChanges, memories: OwnMemories | None, agents: AgentNames
    ) -> None:
        self._runtime = runtime
        self._deletions = changes.deletions
        self._memories = memories
        self._agents = agents
        self._places = asyncio.Semaphore(MAX_READS)

    def list_run_events(self, change: Change) -> Sequence[LiveEvent]:
        return list(run_events(change, self._agents))

    async def read_change(self, change: Change, principal: Principal, time: str) -> Sequence[LiveEvent]:
        """What a change means to this user: nothing, if the user may not see it."""
        if change.is_deleted:
            return [describe_deletion(Deletion(change.topic, change.id), time)]
        async with self._places:
            if change.topic == "thread":
                outline = await self._runtime.outline(change.id, principal)
                summary = outline.summary if outline is not None else None
                return list(thread_events(summary, self._agents)) if summary is not None else []
            return [event for row, event in await self._list_memories(principal) if row == change.id]

    async def read_missed(self, principal: Principal, since: str, time: str) -> Sequence[LiveEvent]:
        """All that has changed since a time, what was deleted first: an id can be used again."""
        async with self._places:
            gone = await self._deletions.find(principal.id, since) if self._deletions is not None else []
            threads = await self._runtime.threads.list(principal, archived=True, limit=MAX_THREADS)
            memories = await self._list_memories(principal, since)
        changed = [thread for thread in threads if thread.updated_at >= since]
        return [
            *(describe_deletion(deletion, time) for deletion in gone),
            *(event for thread in changed for event in thread_events(thread, self._agents)),
            *(event for _, event in memories),
        ]

    async def _list_memories(self, principal: Principal, since: str = "") -> Sequence[tuple[str, LiveEvent]]:
        if self._memories is None or not self._memories.have_agent(principal, self._agents.values()):
            return []
        rows = await self._memories.list(principal)
        return [(row.id, memory_event(row)) for row in rows if row.updated_at >= since]


def describe_deletion(deletion: Deletion, time: str) -> LiveEvent:
    describe = removed_memory_event if deletion.topic == "memory" else deleted_thread_event
    return describe(deletion.id, time)


def find_agents(principals: Iterator[Principal]) -> dict[tuple[str, ...] | None, Principal]:
    """One principal for each set of agents: what it may see is read once."""
    return {principal.agents: principal for principal in principals}
