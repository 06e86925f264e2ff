"""The thread operations of CopilotKit clients since 1.50, and open interrupts."""

from typing import Any, Literal

import msgspec
from starlette.responses import Response

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.runtime import Runtime
from rightseat.core.stream.compaction import compact
from rightseat.core.thread_parts import ThreadOutline
from rightseat.core.threads import Pending, Summary, Thread, ThreadCursor, read_cursor
from rightseat.core.types import JsonValue
from rightseat.faces._shared.lost_log import read_or_nothing
from rightseat.faces._shared.queued_start import start_connected
from rightseat.faces._shared.responses import json_response, read_number
from rightseat.faces.copilotkit.current.routing import OperationRequest, RouteNotFound, Routes
from rightseat.faces.copilotkit.current.runs import RunOperations, SupportsLive
from rightseat.operations.own_threads import OwnThreads
from rightseat.operations.records import Page, ThreadRow
from rightseat.wire.agui import write_stored_message
from rightseat.wire.agui.versions import read_version

MAX_THREADS = 200  # in one list
FIRST_PAGE = ("", "0")  # cursors that clients send for it


class NotAllowed(RightseatError):
    code = "not_allowed"
    status = 403


class ThreadOperations:
    """`own_threads` searches the threads of a user; None if the store cannot."""

    def __init__(
        self,
        runtime: Runtime,
        runs: RunOperations,
        own_threads: OwnThreads | None = None,
        live: SupportsLive | None = None,
    ) -> None:
        self._runtime = runtime
        self._own_threads = own_threads
        self._runs = runs
        self._live = live

    def routes(self) -> Routes:
        return {
            ("GET", "threads"): self.listed,
            ("POST", "threads/clear"): self.clear,
            ("GET", "threads/{threadId}/messages"): self.messages,
            ("GET", "threads/{threadId}/events"): self.events,
            ("GET", "threads/{threadId}/state"): self.state,
            ("GET", "threads/{threadId}/stream"): self.stream,
            ("PATCH", "threads/{threadId}"): self.change,
            ("DELETE", "threads/{threadId}"): self.delete,
            ("POST", "threads/{threadId}/archive"): self.archive,
            ("GET", "approvals"): self.approvals,
            ("POST", "approvals/{interruptId}"): self.decide,
        }

    async def listed(self, request: OperationRequest) -> Response:
        """List the latest threads first."""
        agent, archived = request.query.get("agentId"), request.query.get("includeArchived") == "true"
        own = self._runs.agents.get(agent, agent) if agent else None
        limit = min(read_number(request.query, "limit", 50), MAX_THREADS)
        cursor = request.query.get("cursor", "")
        after = None if cursor in FIRST_PAGE else read_cursor(cursor)
        if words := request.query.get("search", "").strip():
            found = await self._search(words, request.principal, own, archived, limit, after)
            return json_response(
                {"threads": [describe_thread(one, agent) for one in found.rows], "nextCursor": found.next}
            )
        threads = await self._runtime.threads.list(
            request.principal, agent=own, archived=archived, limit=limit + 1, after=after
        )
        page = threads[:limit]
        following = str(page[-1].cursor) if page and len(threads) > limit else None
        listed: dict[str, Any] = {"threads": [describe_thread(one, agent) for one in page], "nextCursor": following}
        if self._live is not None:
            listed["joinCode"] = self._live.write_code(request.principal)
        return json_response(listed)

    async def _search(
        self,
        words: str,
        principal: Principal,
        agent: str | None,
        archived: bool,
        limit: int,
        after: ThreadCursor | None,
    ) -> Page[Summary]:
        """As `OwnThreads.search`."""
        if self._own_threads is None:
            raise BadRequest("The thread store of this server does not support `search`. Use the store `sql`.")
        page = await self._own_threads.search(
            principal,
            words,
            agent=agent,
            archived=None if archived else False,
            after=None if after is None else str(after),
            limit=max(1, limit),
        )
        return Page([summarize(row) for row in page.rows], page.next)

    async def clear(self, request: OperationRequest) -> Response:
        raise NotAllowed("Delete threads one at a time: DELETE threads/{id}.")

    async def messages(self, request: OperationRequest) -> Response:
        thread = await self._runtime.settled(request.ids["threadId"], request.principal)
        messages = thread.messages if thread else ()
        return json_response({"messages": [write_stored_message(message) for message in messages]})

    async def events(self, request: OperationRequest) -> Response:
        thread = await self._runtime.outline(request.ids["threadId"], request.principal)
        return json_response({"events": await self._events(request, thread) if thread else []})

    async def _events(self, request: OperationRequest, thread: ThreadOutline) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for run in thread.runs:
            entries = await read_or_nothing(self._runtime, run.id)
            writer = self._runs.writer(request, "0.0.59", thread.id, run.client_run_id or run.id)
            for event in compact([entry.event for entry in entries]):
                events += writer.write(event)
        return events

    async def state(self, request: OperationRequest) -> Response:
        thread = await self._runtime.settled(request.ids["threadId"], request.principal)
        return json_response({"state": thread.state if thread else None})

    async def stream(self, request: OperationRequest) -> Response:
        """Send the events of the thread after the one in `Last-Event-ID`, and those of its active run."""
        thread = await self._thread(request)
        version = read_version(request.query.get("protocolVersion"))
        return await self._runs.resume(request, thread, version, request.http.headers.get("last-event-id"))

    async def change(self, request: OperationRequest) -> Response:
        wanted = request.read(ChangeBody)
        summary = await self._runtime.change(
            request.ids["threadId"], request.principal, name=wanted.name, archived=wanted.archived
        )
        return json_response(describe_thread(summary, wanted.agentId))

    async def archive(self, request: OperationRequest) -> Response:
        summary = await self._runtime.change(request.ids["threadId"], request.principal, archived=True)
        return json_response(describe_thread(summary, None))

    async def delete(self, request: OperationRequest) -> Response:
        await self._runtime.delete(request.ids["threadId"], request.principal)
        return json_response({"deleted": True, "id": request.ids["threadId"]})

    async def approvals(self, request: OperationRequest) -> Response:
        pending = await self._runtime.pending(request.principal, request.query.get("threadId"))
        return json_response({"approvals": [write_pending(one) for one in pending]})

    async def decide(self, request: OperationRequest) -> Response:
        """Answer an interrupt from any client: the run resumes, and connected clients receive its events."""
        decision = request.read(PendingAnswer)
        pending = await self._runtime.pending(request.principal)
        found = [one for one in pending if one.interrupt.id == request.ids["interruptId"]]
        if not found:
            raise RouteNotFound("There is no such open question: it was answered or has expired.")
        thread = await self._thread(request, found[0].thread_id)
        ask = Ask(
            messages=thread.messages,
            agent=found[0].agent,
            thread_id=thread.id,
            principal=request.principal,
            headers=self._runs.headers(request),
            answers=(Answer(found[0].interrupt.id, decision.status, decision.payload),),
            face="copilotkit",
            supports_suggestions=True,
        )
        await start_connected(self._runtime, request.http, self._runtime.start(ask))
        return json_response({"threadId": thread.id, "runId": ask.run_id}, 202)

    async def _thread(self, request: OperationRequest, thread_id: str | None = None) -> Thread:
        thread = await self._runtime.thread(thread_id or request.ids["threadId"], request.principal)
        if thread is None:
            raise RouteNotFound("There is no such thread.")
        return thread


def summarize(row: ThreadRow) -> Summary:
    return Summary(row.id, row.agent, row.title, row.archived, row.created_at, row.updated_at)


class ChangeBody(msgspec.Struct):
    agentId: str | None = None
    name: str | None = None
    archived: bool | None = None


class PendingAnswer(msgspec.Struct):
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None


def describe_thread(one: Summary, agent: str | None) -> dict[str, Any]:
    """`agent` is the client's name of it."""
    return {
        "id": one.id,
        "name": one.name,
        "agentId": agent or one.agent,
        "organizationId": "",
        "createdById": "",
        "archived": one.archived,
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
    }


def write_pending(one: Pending) -> dict[str, Any]:
    interrupt = one.interrupt
    call = {"id": one.call.id, "name": one.call.name, "args": one.call.arguments} if one.call else None
    return {
        "id": interrupt.id,
        "threadId": one.thread_id,
        "agentId": one.agent,
        "reason": interrupt.reason,
        "message": interrupt.message,
        "responseSchema": interrupt.schema,
        "expiresAt": interrupt.expires_at,
        "toolCall": call,
    }
