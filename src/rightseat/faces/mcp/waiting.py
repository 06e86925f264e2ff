"""Calls that wait for a person: what they ask, as MCP asks it, and what was answered."""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import mcp_types as types
import msgspec
from pydantic import JsonValue

from rightseat.core.approvals import APPROVAL, record_closed
from rightseat.core.artifacts import PRIVATE, Artifacts
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call

MOST = 1024  # calls that wait; the oldest is forgotten first
LONGEST = 3600.0  # seconds
APPROVE: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Approve", "description": "Whether it may be done."}},
    "required": ["approve"],
}


class Pending(msgspec.Struct, frozen=True):
    """`principal` is whose call it is: nobody else can go on with it. `until` is a time of `time.time`."""

    principal: str
    call: Call
    asked: tuple[Interrupt, ...]
    until: float
    agent: str = ""


class Waiting:
    """The client gets a name that nobody can guess in place of what is kept here: it cannot change it.

    It is kept beside files that runs have made, so that every server of the same store can go on with the call; of two
    that try, one does. Where nothing keeps files, it is kept in this process.
    """

    def __init__(self, artifacts: Artifacts | None) -> None:
        self._artifacts = artifacts
        self._kept: dict[str, Pending] = {}

    async def keep(self, ask: Ask, call: Call, asked: Sequence[Interrupt]) -> str:
        pending = Pending(ask.principal.id, call, tuple(asked), time.time() + LONGEST, ask.agent)
        if self._artifacts is not None:
            return await self._artifacts.put(ask, call.name, PRIVATE, msgspec.json.encode(pending))
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        name = secrets.token_urlsafe(16)
        self._kept[name] = pending
        return name

    async def take(self, name: str, principal: Principal) -> Pending | None:
        pending = self._kept.pop(name, None)
        if self._artifacts is not None and (stored := await self._artifacts.take(name, principal, PRIVATE)):
            pending = msgspec.json.decode(stored.content, type=Pending)
        if pending is None or time.time() <= pending.until:
            return pending
        for one in pending.asked:
            record_closed(pending.principal, pending.agent, one, pending.call, "expired")
        return None


def requests(asked: Sequence[Interrupt]) -> dict[str, types.InputRequest]:
    return {
        one.id: types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=one.message, requested_schema=schema_of(one))
        )
        for one in asked
    }


def schema_of(asked: Interrupt) -> dict[str, Any]:
    """A form has fields: what asks for one value gets one field, `answer`."""
    schema = asked.schema
    if schema is None:
        return APPROVE
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
        return dict(schema)
    return {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}


def answers(pending: Pending, given: Mapping[str, types.InputResponse]) -> tuple[Answer, ...]:
    """What is not answered is cancelled."""
    return tuple(read_answer(one, given.get(one.id), pending.call) for one in pending.asked)


def read_answer(asked: Interrupt, reply: types.InputResponse | None, call: Call) -> Answer:
    content: Any = reply.content if isinstance(reply, types.ElicitResult) and reply.action == "accept" else None
    schema, payload = schema_of(asked), content
    if content is not None and schema is APPROVE and asked.reason != APPROVAL:
        payload = content.get("approve") is True or None
    elif content is not None and "answer" in schema["properties"] and asked.schema != schema:
        payload = content.get("answer")
    return answered(asked, payload, call)


def answered(asked: Interrupt, payload: JsonValue, call: Call) -> Answer:
    status: Literal["resolved", "cancelled"] = "cancelled" if payload is None else "resolved"
    return Answer(asked.id, status, payload, call, asked.memo, asked.reason, asked.subject)
