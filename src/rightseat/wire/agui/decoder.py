"""Converts the events of an AG-UI agent to rightseat events.

1. An AG-UI event becomes a rightseat event if that loses nothing. Otherwise it becomes `Custom("agui.TYPE", event)`,
   which `encoder` sends unchanged.
2. A message, tool call or result with fields that rightseat does not have becomes two events: the raw one for AG-UI
   clients, then the rightseat event for the log, the thread and all other clients. `encoder` omits the second.
3. Metadata on a delta or an end event moves to an additional empty delta, which is equivalent in AG-UI.
4. `timestamp` and `rawEvent` are dropped, and so is the subagent that a state belongs to.
"""

from typing import Any

from rightseat.core import events as e
from rightseat.wire.agui.chunks import BadEvent, Chunks
from rightseat.wire.agui.encoder import BLOCK, FINISH, RAW
from rightseat.wire.agui.versions import Json, text_of

__all__ = ["AguiDecoder", "BadEvent"]

DROPPED_FIELDS = frozenset({"type", "timestamp", "rawEvent"})
NULLABLE_FIELDS = frozenset({"value", "event", "snapshot", "result"})
"""Fields in which null is a value. In all other fields null means that the field is absent."""
INTERRUPT_FIELDS = frozenset({"id", "reason", "message", "toolCallId", "responseSchema", "expiresAt"})


class AguiDecoder:
    """Decodes the events of one run. The runtime closes the messages and calls that they leave open."""

    def __init__(self) -> None:
        self._chunks = Chunks()
        self._names: dict[str, str] = {}  # of calls
        self._pending: dict[str, None] = {}  # calls without a result
        self._others: set[str] = set()  # messages that are not the assistant's

    def read(self, event: Json) -> list[e.Event]:
        """Raises `BadEvent` if a required field is missing."""
        return [ours for plain in self._chunks.expand(event) for ours in self._read(drop_nulls(plain))]

    def _read(self, event: Json) -> list[e.Event]:
        match event.get("type"):
            case "TEXT_MESSAGE_CONTENT":
                return self._read_delta(event, "messageId", e.TextDelta)
            case "TOOL_CALL_ARGS":
                return self._read_delta(event, "toolCallId", e.ToolCallDelta)
            case "REASONING_MESSAGE_CONTENT":
                return self._read_delta(event, "messageId", e.ReasoningDelta)
            case "TEXT_MESSAGE_START":
                return self._read_text_start(event)
            case "REASONING_MESSAGE_START":
                return [*wrap_extended(event, "messageId", "role"), e.ReasoningStarted(read_text(event, "messageId"))]
            case "TOOL_CALL_START":
                return self._read_call_start(event)
            case "TEXT_MESSAGE_END":
                return self._read_end(event, "TEXT_MESSAGE_CONTENT", "messageId", e.TextEnded)
            case "REASONING_MESSAGE_END":
                return self._read_end(event, "REASONING_MESSAGE_CONTENT", "messageId", e.ReasoningEnded)
            case "TOOL_CALL_END":
                return self._read_end(event, "TOOL_CALL_ARGS", "toolCallId", e.ToolCallEnded)
            case "TOOL_CALL_RESULT":
                return self._read_result(event)
            case "STATE_SNAPSHOT":
                return [e.StateReplaced(event.get("snapshot"))]
            case "STATE_DELTA":
                return [e.StateChanged(read_patch(event))]
            case "STEP_STARTED":
                return read_step(event, e.StepStarted)
            case "STEP_FINISHED":
                return read_step(event, e.StepEnded)
            case "REASONING_START" | "REASONING_END":
                is_own = read_text(event, "messageId").startswith(BLOCK)  # the encoder adds its own blocks
                return [] if is_own else [wrap_raw(event)]
            case "CUSTOM":
                name = read_text(event, "name")
                plain = e.Custom(name, event.get("value"))
                return [wrap_raw(event)] if name.startswith(RAW) else wrap_extended(event, "name", "value") or [plain]
            case "RUN_STARTED":
                return []  # the run has already started
            case "RUN_FINISHED":
                return read_finish(event, list(self._pending))
            case "RUN_ERROR":
                return [e.RunFailed(text_or_none(event, "code") or "agent_failed", read_text(event, "message"))]
            case str():
                return [wrap_raw(event)]
        raise BadEvent("An event has no `type`.")

    def _read_text_start(self, event: Json) -> list[e.Event]:
        id = read_text(event, "messageId")
        if event.get("role", "assistant") != "assistant":
            self._others.add(id)
            return [wrap_raw(event)]
        self._others.discard(id)
        return [*wrap_extended(event, "messageId", "role"), e.TextStarted(id)]

    def _read_call_start(self, event: Json) -> list[e.Event]:
        id, name = read_text(event, "toolCallId"), read_text(event, "toolCallName")
        self._names[id] = name
        self._pending[id] = None
        raw = wrap_extended(event, "toolCallId", "toolCallName", "parentMessageId")
        return [*raw, e.ToolCallStarted(id, name, text_or_none(event, "parentMessageId"))]

    def _read_delta(
        self, event: Json, field: str, ours: type[e.TextDelta | e.ToolCallDelta | e.ReasoningDelta]
    ) -> list[e.Event]:
        id, text = read_text(event, field), event.get("delta")
        if not isinstance(text, str):
            raise BadEvent(f"A {event['type']} of {id!r} lacks its `delta`.")
        if self._is_other(event):
            return [wrap_raw(event)]
        return [ours(id, text), *wrap_metadata(event, event["type"], field)]

    def _read_end(
        self, event: Json, piece: str, field: str, ours: type[e.TextEnded | e.ToolCallEnded | e.ReasoningEnded]
    ) -> list[e.Event]:
        if self._is_other(event):
            return [wrap_raw(event)]
        return [*wrap_metadata(event, piece, field), ours(read_text(event, field))]

    def _is_other(self, event: Json) -> bool:
        return event["type"].startswith("TEXT_") and event.get("messageId") in self._others

    def _read_result(self, event: Json) -> list[e.Event]:
        id, call_id, content = read_text(event, "messageId"), read_text(event, "toolCallId"), event.get("content")
        self._pending.pop(call_id, None)
        fields = ("messageId", "toolCallId", "role", *(("content",) if isinstance(content, str) else ()))
        named = None if id == f"result-{call_id}" else id
        returned = e.ToolCallReturned(call_id, self._names.get(call_id, ""), text_of(content), message_id=named)
        return [*wrap_extended(event, *fields), returned]


def wrap_extended(event: Json, *fields: str) -> list[e.Event]:
    """Return the raw event if it has more than these fields."""
    return [wrap_raw(event)] if event.keys() - DROPPED_FIELDS - set(fields) else []


def read_step(event: Json, ours: type[e.StepStarted | e.StepEnded]) -> list[e.Event]:
    """A subagent's step stays a raw event, because its name may equal that of an open step."""
    name = read_text(event, "stepName")
    return [wrap_raw(event)] if "subagentRunId" in event else [*wrap_extended(event, "stepName"), ours(name)]


def wrap_metadata(event: Json, piece: str, field: str) -> list[e.Event]:
    if "metadata" not in event:
        return []
    return [wrap_raw({"type": piece, field: event[field], "delta": "", "metadata": event["metadata"]})]


def wrap_raw(event: Json) -> e.Event:
    return e.Custom(RAW + event["type"], event)


def drop_nulls(event: Json) -> Json:
    """Remove null fields: some agents write them for absent values, and AG-UI clients reject them."""
    return {key: value for key, value in event.items() if value is not None or key in NULLABLE_FIELDS}


def read_text(event: Json, field: str) -> str:
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


def read_finish(event: Json, pending: list[str]) -> list[e.Event]:
    """`pending` are the calls without a result, which the client has to run."""
    outcome = event.get("outcome") or {"type": "success"}
    extra = {
        key: value
        for key, value in event.items()
        if key not in DROPPED_FIELDS | {"threadId", "runId", "result", "outcome"}
    }
    interrupts: tuple[e.Interrupt, ...] = ()
    match outcome:
        case {"type": "interrupt", "interrupts": list(raw)}:
            interrupts = tuple(read_interrupt(one) for one in raw)
            if any(one.keys() - INTERRUPT_FIELDS for one in raw) or outcome.keys() - {"type", "interrupts"}:
                extra["outcome"] = outcome
        case {"type": "cancelled"}:
            return [*wrap_finish_fields(extra), e.RunFinished("cancelled")]
        case {"type": "success", "pendingToolCallIds": list(named)} if named != pending:
            pending = named
            extra["outcome"] = outcome
    finished = e.RunFinished("waiting" if interrupts or pending else "done", interrupts, event.get("result"))
    return [*wrap_finish_fields(extra), finished]


def wrap_finish_fields(fields: Json) -> list[e.Event]:
    return [e.Custom(RAW + FINISH, fields)] if fields else []


def read_interrupt(raw: Any) -> e.Interrupt:
    match raw:
        case {"id": str(id), "reason": str(reason)}:
            return e.Interrupt(
                id,
                reason,
                text_or_none(raw, "message") or "",
                text_or_none(raw, "toolCallId"),
                raw.get("responseSchema"),
                text_or_none(raw, "expiresAt"),
            )
    raise BadEvent("An interrupt lacks its `id` or its `reason`.")
