"""The memories of one user: for faces that show users nothing of others, and for the tools of agents with memory."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest, InsufficientScope
from rightseat.core.guard import Guard
from rightseat.core.guards.verdicts import run_check
from rightseat.operations.audit_lines import write_line
from rightseat.operations.changes import LiveChanges
from rightseat.operations.memories import (
    MAX_QUERY_CHARS,
    ChecksMemories,
    MemoriesNotSupported,
    MemoryKind,
    MemoryNotFound,
    MemoryOptions,
    MemoryRow,
    MemoryScope,
    MemoryStore,
    NewMemory,
    RankedMemory,
    clean_text,
    rank_memories,
)

GUARD_TIMEOUT_S = 10.0
MAX_RECALLED = 100
MAX_SOURCES = 20
"""So many threads that a client names as the source of a memory are looked up."""


class SentMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a person adds, or writes in place of an older one. Without a scope it is the user's, or keeps its scope."""

    text: str
    kind: MemoryKind
    scope: MemoryScope | None = None
    source_threads: Sequence[str] = ()


class NotSharing(InsufficientScope):
    def __init__(self) -> None:
        super().__init__("Shared memories are written by operators: this credential lacks the scope 'operator.act:*'.")


class OwnMemories:
    """`agents` are the names of those with memory. Without a store every other method raises `MemoriesNotSupported`."""

    def __init__(
        self, store: MemoryStore | None, options: MemoryOptions | None = None, agents: Collection[str] = ()
    ) -> None:
        self.options = options or MemoryOptions()
        self.agents = agents
        self.guards: Sequence[Guard] = ()
        """Set once the guards are built: they are built after the agents, which need this."""
        self._known_store = store
        self.changes: LiveChanges | None = None
        """Announces changes of memories to open lists; None without such lists."""

    @property
    def store(self) -> MemoryStore:
        if self._known_store is None:
            raise MemoriesNotSupported
        return self._known_store

    def have_agent(self, principal: Principal, offered: Iterable[str]) -> bool:
        """Whether one of the offered agents that the user may use has memory."""
        return any(agent in self.agents and principal.may_use(agent) for agent in offered)

    async def list(self, principal: Principal) -> Sequence[MemoryRow]:
        """The user's and the shared ones, the most recently changed first."""
        return await self.store.list_own(principal.id)

    async def recall(
        self, principal: Principal, query: str, limit: int = 10, scope: MemoryScope | None = None
    ) -> Sequence[RankedMemory]:
        """Those that share words with the query, the best first. Raises `BadRequest`."""
        if not query.strip():
            raise BadRequest("`query` has no text.")
        if len(query) > MAX_QUERY_CHARS:
            raise BadRequest(f"`query` has {len(query):,} characters; {MAX_QUERY_CHARS:,} are searched at most.")
        if limit < 1:
            raise BadRequest("`limit` must be at least 1.")
        rows = [row for row in await self.store.list_own(principal.id) if scope in (None, row.scope)]
        found = [memory for memory in rank_memories(rows, query) if memory.score > 0]
        return found[: min(limit, MAX_RECALLED)]

    async def add(self, principal: Principal, sent: SentMemory, *, may_share: bool) -> MemoryRow:
        """Returns the earlier memory, if there is one with the same text.

        Raises `BadRequest` and `TooManyMemories`; `GuardDenied` if a guard denies the text; `InsufficientScope` for a
        shared memory of a user who may not share.
        """
        memory = await self._read(principal, sent, sent.scope or "user", may_share=may_share)
        row = await self.store.add(memory, self.options.max_per_user)
        self._announce(row)
        return note_shared(principal, row, "added")

    async def replace(self, principal: Principal, id: str, sent: SentMemory, *, may_share: bool) -> MemoryRow:
        """Raises as `add`, and `MemoryNotFound`."""
        old = await self._find(principal, id, may_share=may_share)
        memory = await self._read(principal, sent, sent.scope or old.scope, may_share=may_share)
        row = await self.store.replace(id, old.owner, memory)
        self._announce(old, is_deleted=True)
        self._announce(row)
        return note_shared(principal, row, "replaced")

    async def remove(self, principal: Principal, id: str, *, may_share: bool = False) -> MemoryRow:
        """Raises `MemoryNotFound`, and `InsufficientScope` for a shared one."""
        row = await self._find(principal, id, may_share=may_share)
        if not await self.store.remove(id, row.owner):
            raise MemoryNotFound(id)
        self._announce(row, is_deleted=True)
        return note_shared(principal, row, "removed")

    async def check(self, text: str) -> str:
        """The text as it would be stored. Raises `BadRequest` and `GuardDenied`."""
        cleaned = clean_text(text, self.options.max_chars)
        for guard in self.guards:
            if isinstance(guard, ChecksMemories):
                await run_check(GUARD_TIMEOUT_S, guard, guard.check_memory(cleaned))
        return cleaned

    async def save(self, memory: NewMemory) -> MemoryRow:
        """Store what a model saves, once it is checked. Raises `TooManyMemories`."""
        kept = msgspec.structs.replace(memory, retention_days=self.options.retention_days)
        row = await self.store.add(kept, self.options.max_per_user)
        self._announce(row)
        return row

    def _announce(self, row: MemoryRow, *, is_deleted: bool = False) -> None:
        if self.changes is not None:
            self.changes.change_memory(row.id, row.owner, is_deleted=is_deleted)

    async def find(self, principal: Principal, id: str) -> MemoryRow:
        """One of the user's own. Raises `MemoryNotFound`."""
        rows = await self.store.list_own(principal.id)
        found = next((row for row in rows if row.id == id and row.owner is not None), None)
        if found is None:
            raise MemoryNotFound(id)
        return found

    async def _find(self, principal: Principal, id: str, *, may_share: bool) -> MemoryRow:
        rows = await self.store.list_own(principal.id)
        found = next((row for row in rows if row.id == id), None)
        if found is None:
            raise MemoryNotFound(id)
        if found.owner is None and not may_share:
            raise NotSharing
        return found

    async def _read(self, principal: Principal, sent: SentMemory, scope: MemoryScope, *, may_share: bool) -> NewMemory:
        if scope == "project" and not may_share:
            raise NotSharing
        return NewMemory(
            owner=principal.id if scope == "user" else None,
            text=await self.check(sent.text),
            author=principal.id,
            kind=sent.kind,
            source_threads=sent.source_threads[:MAX_SOURCES],
            retention_days=self.options.retention_days,
        )


def note_shared(principal: Principal, row: MemoryRow, what: str) -> MemoryRow:
    """Write an audit line if the memory is shared: it is in the prompts of all users."""
    if row.owner is None:
        write_line(f"%s {what} the shared memory %s", principal.id, row.id)
    return row
