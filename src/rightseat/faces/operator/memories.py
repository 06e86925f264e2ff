"""What copilots remember about users: the memories with their texts, what each came from, and their deletion."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rightseat.core.errors import BadRequest
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.queries import read_memory_query
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.memories import MemoryAuthor, MemoryKind, MemoryRow, MemoryScope
from rightseat.operations.service import Operations


class MemoryOrigin(msgspec.Struct, frozen=True):
    """Where a memory came from. `tools` names the untrusted content that the thread had when the model saved it.

    The others are null if a person added it, if its thread is not stored, or if the thread was deleted."""

    thread: str | None
    run: str | None
    message: str | None
    tools: Sequence[str]


class RememberedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A memory. `owner` is null for a shared one, `agent` is the agent whose model saved it, and `approved_by` the user
    who agreed to it. It is deleted at `expires_at`."""

    id: str
    owner: str | None
    scope: MemoryScope
    agent: str | None
    kind: MemoryKind
    text: str
    created_by: MemoryAuthor
    source: MemoryOrigin
    approved_by: str | None
    created_at: str
    updated_at: str
    expires_at: str | None


class MemoryPage(msgspec.Struct, frozen=True):
    """The most recently changed first. `next` is the `after` of the next page."""

    memories: Sequence[RememberedLine]
    next: str | None


class MemoryRoutes:
    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def routes(self) -> Routes:
        return {("GET", "memories"): self.list, ("DELETE", "memories/{memory}"): self.delete}

    async def list(self, request: OperatorRequest) -> Response:
        page = await self._operations.list_memories(request.operator, read_memory_query(request))
        return json_response(MemoryPage([describe_memory(row) for row in page.rows], page.next))

    async def delete(self, request: OperatorRequest) -> Response:
        """One's own, that of the `owner`, or with `scope=project` a shared one; `*` is no owner."""
        owner = read_memory_query(request).owner
        if owner is None and request.http.query_params.get("scope") != "project":
            raise BadRequest("Name the owner of the memory.")
        await self._operations.remove_memory(request.operator, request.id("memory"), owner)
        return Response(status_code=204)


def describe_memory(row: MemoryRow) -> RememberedLine:
    return RememberedLine(
        id=row.id,
        owner=row.owner,
        scope=row.scope,
        agent=row.agent,
        kind=row.kind,
        text=row.text,
        created_by=row.created_by,
        source=MemoryOrigin(row.source_thread, row.source_run, row.source_message, row.source_tools),
        approved_by=row.approved_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
    )
