"""Memories: what a copilot remembers about a user across threads, and shared memories, which all users have.

A person adds them, or the model of an agent with memory. The same text of one owner is one row. A replaced memory gets
a new id, and its old text is deleted.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Literal, Protocol, get_args, runtime_checkable

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.types import JsonValue
from rightseat.operations.records import Page, RecordReader
from rightseat.text import fold_text, one_line

MemoryKind = Literal["topical", "episodic", "operational"]
MEMORY_KINDS: Sequence[MemoryKind] = get_args(MemoryKind)
MemoryScope = Literal["user", "project"]
MEMORY_SCOPES: Sequence[MemoryScope] = get_args(MemoryScope)
MemoryAuthor = Literal["person", "model"]

MAX_QUERY_CHARS = 10_000
MAX_TERM_WEIGHT = 8
"""Longer words say more than shorter ones, up to this number of characters."""
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts that are written without spaces: their terms are pairs of characters."""
WORD = re.compile(r"[^\W_]+")


class MemoryNotFound(RightseatError):
    code = "memory_not_found"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(f"There is no memory {id[:80]!r} of yours. It was replaced, removed, or has expired.")


class MemoriesNotSupported(RightseatError):
    code = "memories_not_supported"
    status = 501

    def __init__(self) -> None:
        super().__init__("The configured store of threads stores no memories. Use `threads: {type: sql}`.")


class MemoryOff(RightseatError):
    code = "memory_off"
    status = 404

    def __init__(self) -> None:
        super().__init__("No agent that you can use here has memory. Write `memory: {}` for an agent of this face.")


class MemoryTooLong(BadRequest):
    code = "memory_too_long"
    status = 413

    def __init__(self, chars: int, limit: int) -> None:
        super().__init__(f"The memory has {chars:,} characters; {limit:,} are stored at most (`memory.max_chars`).")


class TooManyMemories(RightseatError):
    code = "too_many_memories"
    status = 403

    def __init__(self, limit: int) -> None:
        super().__init__(f"There are {limit} memories already, which is the limit. Remove one to add another.")


class MemoryOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    max_chars: int = Field(default=4000, ge=1, le=100_000)
    """The most characters of one memory. A longer one is refused."""
    max_per_user: int = Field(default=500, ge=1, le=10_000)
    """How many memories a user may have, and how many all users may share. A further one is refused."""
    retention_days: float | None = Field(default=365.0, gt=0)
    """Days after its last change after which a memory is deleted. `null`: never."""


class MemoryRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored memory. Times are ISO 8601, in UTC.

    `owner` is None for a shared one, of the scope `project`. `agent` is the agent whose model saved it; None if a
    person did. `source_thread`, with the run and the message, is None if its thread is not stored, or was deleted.
    `source_tools` names the untrusted content that the thread had when the model saved it, and `approved_by` the user
    who agreed to it then.
    """

    id: str
    owner: str | None
    scope: MemoryScope
    agent: str | None
    kind: MemoryKind
    text: str
    created_by: MemoryAuthor
    source_thread: str | None
    source_run: str | None
    source_message: str | None
    source_tools: Sequence[str]
    approved_by: str | None
    created_at: str
    updated_at: str
    expires_at: str | None


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored. `source_thread` counts only if it is a stored thread of the `author`."""

    owner: str | None
    text: str
    author: str
    kind: MemoryKind = "topical"
    agent: str | None = None
    created_by: MemoryAuthor = "person"
    source_threads: Sequence[str] = ()
    source_run: str | None = None
    source_message: str | None = None
    source_tools: Sequence[str] = ()
    approved_by: str | None = None
    retention_days: float | None = None

    @property
    def scope(self) -> MemoryScope:
        return "user" if self.owner is not None else "project"

    @property
    def digest(self) -> str:
        """Equal for the same text of the same owner, whatever its case and spaces are."""
        return sha256(f"{self.scope}\0{self.owner or ''}\0{fold_text(one_line(self.text))}".encode()).hexdigest()


class MemoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """As `records.RunQuery`: fields that are None restrict nothing. `owner` is not that of shared memories."""

    reader: RecordReader | None = None
    owner: str | None = None
    scope: MemoryScope | None = None
    agent: str | None = None
    kind: MemoryKind | None = None
    created_by: MemoryAuthor | None = None
    after: str | None = None
    limit: int = 50


class MemoryStore(Protocol):
    async def add(self, memory: NewMemory, limit: int) -> MemoryRow:
        """Returns the row that has the same text, if there is one. Raises `TooManyMemories` above `limit` rows."""
        ...

    async def replace(self, id: str, owner: str | None, memory: NewMemory) -> MemoryRow:
        """Delete the row of this owner and add another. Raises `MemoryNotFound`."""
        ...

    async def remove(self, id: str, owner: str | None) -> bool:
        """Returns whether the owner had such a row."""
        ...

    async def list_own(self, owner: str) -> Sequence[MemoryRow]:
        """The user's and the shared ones that have not expired, the most recently changed first."""
        ...

    async def list(self, query: MemoryQuery) -> Page[MemoryRow]:
        """The most recently changed first. Raises `BadRequest` for a cursor that is none."""
        ...

    async def mark_suspect(self, thread: str, sources: Sequence[str]) -> None:
        """Keep the names of untrusted content with a thread, as long as the thread is stored."""
        ...

    async def find_suspicions(self, thread: str) -> Sequence[str]: ...

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many memories of the user were deleted. Its approvals of others lose its name."""
        ...


class UserMemories:
    """A `UserRecords`: the memories of one user, for their export and their erasure."""

    name = "memories"

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return [join_source(row) for row in await self._store.read_user(user)]

    async def forget_user(self, user: str) -> int:
        return await self._store.forget_user(user)


def join_source(row: JsonValue) -> JsonValue:
    """A memory with what it came from in `source`, as operators see it."""
    if not isinstance(row, dict):
        return row
    source = {name: row.get(f"source_{name}") for name in ("thread", "run", "message", "tools")}
    return {name: value for name, value in row.items() if not name.startswith("source_")} | {"source": source}


@runtime_checkable
class ChecksMemories(Protocol):
    """A guard that checks memories before they are stored."""

    name: str

    async def check_memory(self, text: str) -> None:
        """Raises `GuardDenied` with a reason that clients may see."""
        ...


class RankedMemory(msgspec.Struct, frozen=True):
    """`score` is the weight of the query's terms that the memory has: 1 if it has all of them."""

    row: MemoryRow
    score: float


def rank_memories(rows: Sequence[MemoryRow], query: str) -> Sequence[RankedMemory]:
    """The best first; those with equal scores in the order of `rows`. Terms that few memories have weigh more."""
    wanted = set(list_terms(query))
    having = (
        [(row, wanted.intersection(list_terms(row.text))) for row in rows]
        if wanted
        else [(row, set[str]()) for row in rows]
    )
    known = Counter(term for _, terms in having for term in terms)
    weights = {term: min(len(term), MAX_TERM_WEIGHT) * math.log(1 + len(rows) / known.get(term, 1)) for term in wanted}
    total = sum(weights.values()) or 1.0
    ranked = [RankedMemory(row, sum(weights[term] for term in terms) / total) for row, terms in having]
    return sorted(ranked, key=lambda memory: memory.score, reverse=True)


def list_terms(text: str) -> Iterator[str]:
    """The words of a text, folded; pairs of characters where a script has no spaces."""
    folded = fold_text(text)
    yield from WORD.findall(folded if folded.isascii() else UNSPACED.sub(" ", folded))
    if not folded.isascii():
        for run in UNSPACED.findall(folded):
            yield from (run[place : place + 2] for place in range(max(1, len(run) - 1)))


def clean_text(text: str, max_chars: int) -> str:
    """The text as it is stored: without characters that no database stores. Raises `BadRequest`."""
    cleaned = text.replace("\0", "\ufffd").strip()
    if not cleaned:
        raise BadRequest("The memory has no text.")
    if len(cleaned) > max_chars:
        raise MemoryTooLong(len(cleaned), max_chars)
    return cleaned


def read_memory_cursor(text: str) -> tuple[str, str]:
    """The time and the id of the last row of the page before. Raises `BadRequest`."""
    time, _, id = text.partition("/")
    if not id or "\0" in text:
        raise BadRequest(f"{text[:60]!r} is not the cursor of a page of memories.")
    return time, id
