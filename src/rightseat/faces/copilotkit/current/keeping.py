"""What is kept: threads, and questions that wait for an answer."""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from rightseat.core.ask import Answer, Ask
from rightseat.core.compacting import compacted
from rightseat.core.errors import BadAsk, EntriesGone, RightseatError, RunNotFound
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending, Summary, Thread
from rightseat.core.values import JsonValue
from rightseat.faces.answers import answer
from rightseat.faces.copilotkit.current.routing import Call, NotFound, Routes
from rightseat.faces.copilotkit.current.running import Running
from rightseat.wire.agui import write_stored_message
from rightseat.wire.agui.versions import read_version

MOST = 200  # threads in one list


class NotAllowed(RightseatError):
    code = "not_allowed"
    status = 403


class Keeping:
    def __init__(self, runtime: Runtime, running: Running) -> None:
        self._runtime = runtime
        self._running = running

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

    async def listed(self, call: Call) -> Response:
        """The latest first; a cursor is how many come before the page."""
        agent, archived = call.query.get("agentId"), call.query.get("includeArchived") == "true"
        own = self._running.agents.get(agent, agent) if agent else None
        first = read_number(call.query, "cursor", 0)
        end = first + min(read_number(call.query, "limit", 50), MOST)
        threads = await self._runtime.threads.list(call.principal, agent=own, archived=archived, limit=end + 1)
        page = [self._summary(one, agent) for one in threads[first:end]]
        return answer({"threads": page, "nextCursor": str(end) if page and len(threads) > end else None})

    async def clear(self, call: Call) -> Response:
        raise NotAllowed("Threads are deleted one by one.")

    async def messages(self, call: Call) -> Response:
        thread = await self._runtime.settled(call.ids["threadId"], call.principal)
        messages = thread.messages if thread else ()
        return answer({"messages": [write_stored_message(message) for message in messages]})

    async def events(self, call: Call) -> Response:
        thread = await self._runtime.thread(call.ids["threadId"], call.principal)
        return answer({"events": await self._events(call, thread) if thread else []})

    async def _events(self, call: Call, thread: Thread) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for run in thread.runs:
            try:
                entries = await self._runtime.read(run.id)
            except RunNotFound:
                continue
            except EntriesGone as gone:
                entries = await self._runtime.read(run.id, gone.resume)
            writer = self._running.writer(call, "0.0.59", thread.id, run.client_run_id or run.id)
            for event in compacted([entry.event for entry in entries]):
                events += writer.write(event)
        return events

    async def state(self, call: Call) -> Response:
        thread = await self._runtime.settled(call.ids["threadId"], call.principal)
        return answer({"state": thread.state if thread else None})

    async def stream(self, call: Call) -> Response:
        """All that was and is said in the thread, from the event on that `Last-Event-ID` names."""
        thread = await self._thread(call)
        version = read_version(call.query.get("protocolVersion"))
        return await self._running.resume(call, thread, version, call.request.headers.get("last-event-id"))

    async def change(self, call: Call) -> Response:
        wanted = call.read(Change)
        threads = self._runtime.threads
        summary = await threads.change(call.ids["threadId"], call.principal, name=wanted.name, archived=wanted.archived)
        return answer(self._summary(summary, wanted.agentId))

    async def archive(self, call: Call) -> Response:
        summary = await self._runtime.threads.change(call.ids["threadId"], call.principal, archived=True)
        return answer(self._summary(summary, None))

    async def delete(self, call: Call) -> Response:
        await self._runtime.delete(call.ids["threadId"], call.principal)
        return answer({"deleted": True, "id": call.ids["threadId"]})

    async def approvals(self, call: Call) -> Response:
        pending = await self._runtime.pending(call.principal, call.query.get("threadId"))
        return answer({"approvals": [write_pending(one) for one in pending]})

    async def decide(self, call: Call) -> Response:
        """Answer a question from anywhere: the run goes on, and whoever is connected to the thread sees it."""
        decision = call.read(Decision)
        pending = await self._runtime.pending(call.principal)
        found = [one for one in pending if one.interrupt.id == call.ids["interruptId"]]
        if not found:
            raise NotFound("There is no such open question: it was answered, or it expired.")
        thread = await self._thread(call, found[0].thread_id)
        ask = Ask(
            messages=thread.messages,
            agent=found[0].agent,
            thread_id=thread.id,
            principal=call.principal,
            headers=self._running.headers(call),
            answers=(Answer(found[0].interrupt.id, decision.status, decision.payload),),
            supports_suggestions=True,
        )
        await self._runtime.start(ask)
        return answer({"threadId": thread.id, "runId": ask.run_id}, 202)

    async def _thread(self, call: Call, thread_id: str | None = None) -> Thread:
        thread = await self._runtime.thread(thread_id or call.ids["threadId"], call.principal)
        if thread is None:
            raise NotFound("There is no such thread.")
        return thread

    def _summary(self, one: Summary, agent: str | None) -> dict[str, Any]:
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


class Change(msgspec.Struct):
    agentId: str | None = None
    name: str | None = None
    archived: bool | None = None


class Decision(msgspec.Struct):
    status: Literal["resolved", "cancelled"]
    payload: JsonValue = None


def write_pending(one: Pending) -> dict[str, Any]:
    asked = one.interrupt
    call = {"id": one.call.id, "name": one.call.name, "args": one.call.arguments} if one.call else None
    return {
        "id": asked.id,
        "threadId": one.thread_id,
        "agentId": one.agent,
        "reason": asked.reason,
        "message": asked.message,
        "responseSchema": asked.schema,
        "expiresAt": asked.expires_at,
        "toolCall": call,
    }


def read_number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not re.fullmatch("[0-9]{1,9}", text):
        raise BadAsk(f"{name} is {text[:20]!r}; it is a number.")
    return int(text)
