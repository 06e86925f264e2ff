"""AG-UI's events → ours, of an agent that speaks AG-UI.

1. One of theirs is one of ours where nothing is lost, and else `Custom("agui.TYPE", event)`: `writing` gives it out
   again as it came.
2. A message, a call or a result that says more than ours can is said twice: raw for the clients that know AG-UI, then
   as ours for the log, the thread and everyone else. `writing` leaves out the second.
3. Metadata that comes with a piece or an end rides on an empty piece beside it, which AG-UI takes to mean the same.
4. When an event was made, and what it was made of (`timestamp`, `rawEvent`), is dropped; so is whose state it is.
"""

from typing import Any

from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.wire.agui.chunks import BadEvent, Chunks
from rightseat.wire.agui.versions import Json, text_of
from rightseat.wire.agui.writing import BLOCK, FINISH, RAW

__all__ = ["BadEvent", "Reader"]

DROPPED = frozenset({"type", "timestamp", "rawEvent"})
MEANT = frozenset({"value", "event", "snapshot", "result"})
"""Fields that may be null; in any other it means that there is none."""
ASKED = frozenset({"id", "reason", "message", "toolCallId", "responseSchema", "expiresAt"})


class Reader:
    """Reads the events of one run. What they leave open the runtime closes."""

    def __init__(self) -> None:
        self._chunks = Chunks()
        self._names: dict[str, str] = {}  # of calls
        self._pending: dict[str, None] = {}  # calls without a result
        self._others: set[str] = set()  # messages that are not the assistant's

    def read(self, event: Json) -> list[Event]:
        """Raises `BadEvent` for one that lacks what it needs."""
        return [ours for plain in self._chunks.expand(event) for ours in self._read(tidy(plain))]

    def _read(self, event: Json) -> list[Event]:
        match event.get("type"):
            case "TEXT_MESSAGE_CONTENT":
                return self._piece(event, "messageId", TextDelta)
            case "TOOL_CALL_ARGS":
                return self._piece(event, "toolCallId", CallDelta)
            case "REASONING_MESSAGE_CONTENT":
                return self._piece(event, "messageId", ThoughtDelta)
            case "TEXT_MESSAGE_START":
                return self._text(event)
            case "REASONING_MESSAGE_START":
                return [*unless_plain(event, "messageId", "role"), ThoughtStarted(need(event, "messageId"))]
            case "TOOL_CALL_START":
                return self._call(event)
            case "TEXT_MESSAGE_END":
                return self._end(event, "TEXT_MESSAGE_CONTENT", "messageId", TextEnded)
            case "REASONING_MESSAGE_END":
                return self._end(event, "REASONING_MESSAGE_CONTENT", "messageId", ThoughtEnded)
            case "TOOL_CALL_END":
                return self._end(event, "TOOL_CALL_ARGS", "toolCallId", CallEnded)
            case "TOOL_CALL_RESULT":
                return self._result(event)
            case "STATE_SNAPSHOT":
                return [StateReplaced(event.get("snapshot"))]
            case "STATE_DELTA":
                return [StateChanged(read_patch(event))]
            case "STEP_STARTED":
                return read_step(event, StepStarted)
            case "STEP_FINISHED":
                return read_step(event, StepEnded)
            case "REASONING_START" | "REASONING_END":
                return [] if need(event, "messageId").startswith(BLOCK) else [custom(event)]  # ours are made anew
            case "CUSTOM":
                name = need(event, "name")
                plain = Custom(name, event.get("value"))
                return [custom(event)] if name.startswith(RAW) else unless_plain(event, "name", "value") or [plain]
            case "RUN_STARTED":
                return []  # ours has begun
            case "RUN_FINISHED":
                return read_finish(event, list(self._pending))
            case "RUN_ERROR":
                return [RunFailed(text_or_none(event, "code") or "agent_failed", need(event, "message"))]
            case str():
                return [custom(event)]
        raise BadEvent("An event has no `type`.")

    def _text(self, event: Json) -> list[Event]:
        id = need(event, "messageId")
        if event.get("role", "assistant") != "assistant":
            self._others.add(id)
            return [custom(event)]
        self._others.discard(id)
        return [*unless_plain(event, "messageId", "role"), TextStarted(id)]

    def _call(self, event: Json) -> list[Event]:
        id, name = need(event, "toolCallId"), need(event, "toolCallName")
        self._names[id] = name
        self._pending[id] = None
        raw = unless_plain(event, "toolCallId", "toolCallName", "parentMessageId")
        return [*raw, CallStarted(id, name, text_or_none(event, "parentMessageId"))]

    def _piece(self, event: Json, field: str, ours: type[TextDelta | CallDelta | ThoughtDelta]) -> list[Event]:
        id, text = need(event, field), event.get("delta")
        if not isinstance(text, str):
            raise BadEvent(f"A {event['type']} of {id!r} lacks its `delta`.")
        if self._is_other(event):
            return [custom(event)]
        return [ours(id, text), *aside(event, event["type"], field)]

    def _end(
        self, event: Json, piece: str, field: str, ours: type[TextEnded | CallEnded | ThoughtEnded]
    ) -> list[Event]:
        if self._is_other(event):
            return [custom(event)]
        return [*aside(event, piece, field), ours(need(event, field))]

    def _is_other(self, event: Json) -> bool:
        return event["type"].startswith("TEXT_") and event.get("messageId") in self._others

    def _result(self, event: Json) -> list[Event]:
        id, call_id, content = need(event, "messageId"), need(event, "toolCallId"), event.get("content")
        self._pending.pop(call_id, None)
        fields = ("messageId", "toolCallId", "role", *(("content",) if isinstance(content, str) else ()))
        named = None if id == f"result-{call_id}" else id
        returned = CallReturned(call_id, self._names.get(call_id, ""), text_of(content), message_id=named)
        return [*unless_plain(event, *fields), returned]


def unless_plain(event: Json, *fields: str) -> list[Event]:
    """The event as it is, where it says more than these fields do."""
    return [custom(event)] if event.keys() - DROPPED - set(fields) else []


def read_step(event: Json, ours: type[StepStarted | StepEnded]) -> list[Event]:
    """A subagent's is not ours: it may have the name of one that is open."""
    name = need(event, "stepName")
    return [custom(event)] if "subagentRunId" in event else [*unless_plain(event, "stepName"), ours(name)]


def aside(event: Json, piece: str, field: str) -> list[Event]:
    if "metadata" not in event:
        return []
    return [custom({"type": piece, field: event[field], "delta": "", "metadata": event["metadata"]})]


def custom(event: Json) -> Event:
    return Custom(RAW + event["type"], event)


def tidy(event: Json) -> Json:
    """Without the nulls that some agents write where they mean nothing, and their clients refuse."""
    return {key: value for key, value in event.items() if value is not None or key in MEANT}


def need(event: Json, field: str) -> str:
    value = event.get(field)
    if not isinstance(value, str):
        raise BadEvent(f"A {event['type']} lacks its `{field}`, which is a text.")
    return value


def text_or_none(fields: Json, field: str) -> str | None:
    value = fields.get(field)
    if value is not None and not isinstance(value, str):
        raise BadEvent(f"`{field}` is {type(value).__name__}, and should be a text.")
    return value


def read_patch(event: Json) -> list[Any]:
    if not isinstance(event.get("delta"), list):
        raise BadEvent("A STATE_DELTA lacks its `delta`, which is a JSON Patch: a list.")
    return list(event["delta"])


def read_finish(event: Json, pending: list[str]) -> list[Event]:
    """`pending` are the calls that got no result: the client has to run them."""
    outcome = event.get("outcome") or {"type": "success"}
    kept = {
        key: value for key, value in event.items() if key not in DROPPED | {"threadId", "runId", "result", "outcome"}
    }
    interrupts: tuple[Interrupt, ...] = ()
    match outcome:
        case {"type": "interrupt", "interrupts": list(asked)}:
            interrupts = tuple(read_interrupt(one) for one in asked)
            if any(one.keys() - ASKED for one in asked) or outcome.keys() - {"type", "interrupts"}:
                kept["outcome"] = outcome
        case {"type": "cancelled"}:
            return [*finish_with(kept), RunFinished("cancelled")]
        case {"type": "success", "pendingToolCallIds": list(named)} if named != pending:
            pending = named
            kept["outcome"] = outcome
    finished = RunFinished("waiting" if interrupts or pending else "done", interrupts, event.get("result"))
    return [*finish_with(kept), finished]


def finish_with(fields: Json) -> list[Event]:
    return [Custom(RAW + FINISH, fields)] if fields else []


def read_interrupt(asked: Any) -> Interrupt:
    match asked:
        case {"id": str(id), "reason": str(reason)}:
            return Interrupt(
                id,
                reason,
                text_or_none(asked, "message") or "",
                text_or_none(asked, "toolCallId"),
                asked.get("responseSchema"),
                text_or_none(asked, "expiresAt"),
            )
    raise BadEvent("An interrupt lacks its `id` or its `reason`.")
