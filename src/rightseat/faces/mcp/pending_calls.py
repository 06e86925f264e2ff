"""Stores tool calls that wait for a person, and translates their interrupts to MCP elicitations and back."""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import mcp_types as types
import msgspec
from pydantic import JsonValue

from rightseat.core.approvals import APPROVAL, record_closed
from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE, Artifacts
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call

MAX_PENDING_CALLS = 1024  # the oldest is dropped first
PENDING_TIMEOUT_S = 3600.0  # seconds
APPROVE: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve", "description": "Whether the call may run."}},
    "required": ["approve"],
}


class PendingCall(msgspec.Struct, frozen=True):
    """Only the user `principal` can resume it. `expires_at` is a time of `time.time`.

    `thread_id` is the thread of an agent's run that waits; empty for a call of a single tool.
    """

    principal: str
    call: Call
    interrupts: tuple[Interrupt, ...]
    expires_at: float
    agent: str = ""
    thread_id: str = ""


class PendingCalls:
    """The client receives an unguessable name instead of the state, so it cannot change it.

    The state is stored with artifacts, so that every process of the same store can resume the call; of two that
    try, one does. Without a store it is kept in this process.
    """

    def __init__(self, artifacts: Artifacts | None) -> None:
        self._artifacts = artifacts
        self._calls: dict[str, PendingCall] = {}

    async def add(self, ask: Ask, call: Call, interrupts: Sequence[Interrupt], thread_id: str = "") -> str:
        expires_at = time.time() + PENDING_TIMEOUT_S
        pending = PendingCall(ask.principal.id, call, tuple(interrupts), expires_at, ask.agent, thread_id)
        if self._artifacts is not None:
            return await self._artifacts.put(ask, call.name, PRIVATE_MEDIA_TYPE, msgspec.json.encode(pending))
        while len(self._calls) >= MAX_PENDING_CALLS:
            del self._calls[next(iter(self._calls))]
        name = secrets.token_urlsafe(16)
        self._calls[name] = pending
        return name

    async def take(self, name: str, principal: Principal) -> PendingCall | None:
        pending = self._calls.pop(name, None)
        if self._artifacts is not None and (stored := await self._artifacts.take(name, principal, PRIVATE_MEDIA_TYPE)):
            pending = msgspec.json.decode(stored.content, type=PendingCall)
        if pending is None or time.time() <= pending.expires_at:
            return pending
        for one in pending.interrupts:
            record_closed(pending.principal, pending.agent, one, pending.call, "expired")
        return None


def write_elicitations(interrupts: Sequence[Interrupt]) -> dict[str, types.InputRequest]:
    return {
        one.id: types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=one.message, requested_schema=form_schema(one))
        )
        for one in interrupts
    }


def form_schema(interrupt: Interrupt) -> dict[str, Any]:
    """A form has fields: an interrupt for a single value becomes one field, `answer`."""
    schema = interrupt.schema
    if schema is None:
        return APPROVE
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        return dict(schema)
    return {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}


def read_answers(pending: PendingCall, given: Mapping[str, types.InputResponse]) -> tuple[Answer, ...]:
    """Interrupts without an answer are cancelled."""
    return tuple(read_answer(one, given.get(one.id), pending.call) for one in pending.interrupts)


def read_answer(interrupt: Interrupt, reply: types.InputResponse | None, call: Call) -> Answer:
    content: Any = reply.content if isinstance(reply, types.ElicitResult) and reply.action == "accept" else None
    schema, payload = form_schema(interrupt), content
    if content is not None and schema is APPROVE and interrupt.reason != APPROVAL:
        payload = content.get("approve") is True or None
    elif content is not None and "answer" in schema["properties"] and interrupt.schema != schema:
        payload = content.get("answer")
    return make_answer(interrupt, payload, call)


def make_answer(interrupt: Interrupt, payload: JsonValue, call: Call) -> Answer:
    status: Literal["resolved", "cancelled"] = "cancelled" if payload is None else "resolved"
    return Answer(interrupt.id, status, payload, call, interrupt.memo, interrupt.reason, interrupt.subject)
