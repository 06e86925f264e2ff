"""What copilots remember about the user, as CopilotKit's `useMemories` lists, adds, replaces and removes it.

The client accepts a memory only with all fields of `MemoryLine`, and a replacement only with `retiredId`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.faces._shared.base_url import base_url
from rightseat.faces._shared.responses import decode_body, json_response
from rightseat.faces.copilotkit.current.routing import OperationRequest, RouteNotFound, Routes
from rightseat.faces.copilotkit.current.runs import RunOperations, SupportsLive
from rightseat.operations.memories import MemoryKind, MemoryOff, MemoryRow, MemoryScope
from rightseat.operations.own_memories import OwnMemories, SentMemory
from rightseat.reads import hold_read


class MemoryBody(msgspec.Struct):
    """Of an addition and of a replacement, which is a whole one."""

    content: str
    kind: MemoryKind
    scope: MemoryScope | None = None
    sourceThreadIds: tuple[str, ...] = ()


class RecallBody(msgspec.Struct):
    query: str
    limit: Annotated[int, msgspec.Meta(ge=1)] = 10
    scope: MemoryScope | None = None


class MemoryLine(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """`retired_id` is the id that a replacement had before, `score` is that of a search."""

    id: str
    kind: MemoryKind
    scope: MemoryScope
    content: str
    source_thread_ids: Sequence[str]
    invalidated_at: str | None
    retired_id: str | msgspec.UnsetType = msgspec.UNSET
    score: float | msgspec.UnsetType = msgspec.UNSET


class MemoryOperations:
    """Each operation raises `MemoryOff` if no agent of the face that the user may use has memory."""

    def __init__(
        self, memories: OwnMemories, runs: RunOperations, auth: RouteAuth, path: str, live: SupportsLive | None = None
    ) -> None:
        self._memories = memories
        self._runs = runs
        self._auth = auth
        self._path = path.rstrip("/")
        self._live = live

    def routes(self) -> Routes:
        return {
            ("GET", "memories"): self.list,
            ("POST", "memories"): self.add,
            ("POST", "memories/recall"): self.recall,
            ("POST", "memories/subscribe"): self.subscribe,
            ("PATCH", "memories/{memory}"): self.replace,
            ("DELETE", "memories/{memory}"): self.remove,
        }

    async def list(self, request: OperationRequest) -> Response:
        self._check(request)
        await hold_read()
        rows = await self._memories.list(request.principal)
        return json_response({"memories": [describe_memory(row) for row in rows]})

    async def add(self, request: OperationRequest) -> Response:
        self._check(request)
        sent = read_memory(request)
        row = await self._memories.add(request.principal, sent, may_share=self._may_share(request))
        return json_response(describe_memory(row), 201)

    async def replace(self, request: OperationRequest) -> Response:
        self._check(request)
        sent, id = read_memory(request), request.ids["memory"]
        row = await self._memories.replace(request.principal, id, sent, may_share=self._may_share(request))
        return json_response(msgspec.structs.replace(describe_memory(row), retired_id=id))

    async def remove(self, request: OperationRequest) -> Response:
        self._check(request)
        await self._memories.remove(request.principal, request.ids["memory"], may_share=self._may_share(request))
        return Response(status_code=204)

    async def recall(self, request: OperationRequest) -> Response:
        self._check(request)
        sent = decode_body(request.body, RecallBody)
        await hold_read()
        found = await self._memories.recall(request.principal, sent.query, sent.limit, sent.scope)
        lines = [msgspec.structs.replace(describe_memory(memory.row), score=memory.score) for memory in found]
        return json_response({"memories": lines})

    async def subscribe(self, request: OperationRequest) -> Response:
        """Without live lists the client shows its list as it was loaded."""
        self._check(request)
        if self._live is None:
            raise RouteNotFound("This server sends no changes of memories. Load the list again.")
        token, code = await self._live.open_token(request), self._live.write_code(request.principal)
        return json_response({"joinToken": token, "joinCode": code})

    def describe(self, request: OperationRequest) -> Mapping[str, Mapping[str, str]]:
        """What `/info` has for a user with memories: without `wsUrl` the client does not ask for their list."""
        if not self._has_memory(request):
            return {}
        return {"intelligence": {"wsUrl": f"ws{base_url(request.http).removeprefix('http')}{self._path}/client"}}

    def _has_memory(self, request: OperationRequest) -> bool:
        offered = [agent for agent in self._runs.agents.values() if self._auth.may_use(request.principal, agent)]
        return self._memories.have_agent(request.principal, offered)

    def _check(self, request: OperationRequest) -> None:
        if not self._has_memory(request):
            raise MemoryOff

    def _may_share(self, request: OperationRequest) -> bool:
        return self._auth.rights_of(request.http).act is None


def read_memory(request: OperationRequest) -> SentMemory:
    """Raises `BadRequest`."""
    sent = decode_body(request.body, MemoryBody)
    return SentMemory(text=sent.content, kind=sent.kind, scope=sent.scope, source_threads=sent.sourceThreadIds)


def describe_memory(row: MemoryRow) -> MemoryLine:
    return MemoryLine(
        id=row.id,
        kind=row.kind,
        scope=row.scope,
        content=row.text,
        source_thread_ids=[row.source_thread] if row.source_thread else [],
        invalidated_at=None,
    )
