"""Converts rightseat events to AG-UI events, framed as server-sent events.

1. A raw event, `Custom("agui.…")`, is sent unchanged if the client's version supports it. The rightseat event that
   follows with the same content (see `decoder`) is omitted.
2. Messages, calls and steps that raw events leave open are closed before the run ends, because clients reject a run
   that ends with one open.
3. Every tool call names its parent message, chosen as in `core.stream.reducer`, so that client and server have the same
   messages.
4. Each reasoning message gets a block of its own, unless the agent has opened one.
5. Retracted messages are absent from a MESSAGES_SNAPSHOT of the whole thread, which replaces the client's messages.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

from msgspec import json

from rightseat.core import events as e
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Result
from rightseat.core.stream import codec
from rightseat.core.types import JsonValue
from rightseat.wire.agui.messages import write_message
from rightseat.wire.agui.versions import Json, Version, fit_version

encode = json.Encoder().encode

EMPTY: frozenset[Any] = frozenset()
RAW = "agui."
FINISH = "RUN_FINISHED_FIELDS"
"""`Custom("agui.RUN_FINISHED_FIELDS", {…})` holds additional fields for an agent's RUN_FINISHED."""
BLOCK = "reasoning-"
"""Prefix of a reasoning block's id, followed by the id of the reasoning message."""
END_SEQ = 999_999_999
"""The sequence number in the id of a run's end, after those of all its entries: a client that has it has the whole run,
also if the run's log is gone."""
ENDS = {
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", "toolCallId"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", "messageId"),
    "REASONING_START": ("REASONING_END", "messageId"),
    "STEP_STARTED": ("STEP_FINISHED", "stepName"),
    "SUBAGENT_STARTED": ("SUBAGENT_FINISHED", "subagentRunId"),
}
FIELDS = dict(ENDS.values()) | {"SUBAGENT_ERROR": "subagentRunId"}
STEPS = {"STEP_STARTED": "stepName", "STEP_FINISHED": "stepName"}
REPEATED = STEPS | {
    "TEXT_MESSAGE_START": "messageId",
    "TOOL_CALL_START": "toolCallId",
    "TOOL_CALL_RESULT": "toolCallId",
    "REASONING_MESSAGE_START": "messageId",
}
"""Raw events that a rightseat event follows (except a subagent's steps), and the field that identifies them."""


class AguiEncoder:
    """Encodes the log entries of one run as frames for one client.

    `run_id` is the client's id of the run. To resume a run in the middle, first pass the entries that the client
    already has to `skip`. `show` may replace an event, or add events before it, but not for deltas.
    """

    def __init__(
        self,
        version: Version,
        thread_id: str,
        run_id: str,
        show: Callable[[e.Event], Sequence[e.Event]] = lambda event: (event,),
    ) -> None:
        self._version: Version = version
        self._show = show
        self._names = {"threadId": thread_id, "runId": run_id}
        self._is_begun = False
        self._texts: dict[str, bytes] = {}  # beginning of a frame, after its id, by open message
        self._reasoning: dict[str, bytes] = {}
        self._arguments: dict[str, bytes] = {}
        self._open: dict[tuple[Any, ...], Json] = {}  # opened by raw events, with the closing event
        # Frozen and shared, because an empty set takes 216 bytes, and few runs need these.
        self._sent_raw: frozenset[tuple[str, str]] = EMPTY  # raw events that a rightseat event will repeat
        self._blocks: frozenset[str] = EMPTY  # reasoning messages with a block of their own
        self._messages: set[str] = set()  # of the assistant, so far
        self._last: str | None = None  # the last of them, until another message follows
        self._calls: dict[str, str] = {}  # calls without a result → parent message
        self._finish: Json = {}

    def feed(self, entries: Sequence[Entry]) -> bytes:
        """Return the frames of the entries. The last frame of each has the entry's id, so that a client can resume."""
        if len(entries) == 1 and type(event := entries[0].event) is e.TextDelta:  # nearly every batch
            head = self._texts.get(event.message_id)
            if head is not None:
                entry = entries[0]
                return b"id: %d-%d%b%b}\n\n" % (entry.epoch, entry.seq, head, encode(event.text))
        return b"".join([self._frames(entry) for entry in entries])

    def skip(self, entries: Iterable[Entry]) -> None:
        """Record the entries that the client already has, without writing frames."""
        for entry in entries:
            self.write(entry.event)

    def write(self, event: e.Event) -> list[Json]:
        return [fit_version(one, self._version) for shown in self._show(event) for one in self._write(shown)]

    def _frames(self, entry: Entry) -> bytes:
        event, head, text = entry.event, None, ""
        if type(event) is e.TextDelta:
            head, text = self._texts.get(event.message_id), event.text
        elif type(event) is e.ToolCallDelta:
            head, text = self._arguments.get(event.call_id), event.text
        elif type(event) is e.ReasoningDelta:
            head, text = self._reasoning.get(event.message_id), event.text
        if head is not None:
            return b"id: %d-%d%b%b}\n\n" % (entry.epoch, entry.seq, head, encode(text))
        frames = [b"data: %b\n\n" % encode(one) for one in self.write(event)]
        if frames and entry.seq:
            seq = END_SEQ if type(event) is e.RunFinished or type(event) is e.RunFailed else entry.seq
            frames[-1] = b"id: %d-%d\n%b" % (entry.epoch, seq, frames[-1])
        return b"".join(frames)

    def _write(self, event: e.Event) -> list[Json]:
        match event:
            case e.TextDelta(message_id=id, text=text):
                return [{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text}]
            case e.ToolCallDelta(call_id=id, text=text):
                return [{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": text}]
            case e.ReasoningDelta(message_id=id, text=text):
                return [{"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text}]
            case e.TextStarted(message_id=id):
                self._begin_message(id)
                start = {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}
                return [] if self._was_sent("TEXT_MESSAGE_START", id) else [start]
            case e.TextEnded(message_id=id):
                self._texts.pop(id, None)
                return [{"type": "TEXT_MESSAGE_END", "messageId": id}]
            case e.ReasoningStarted(message_id=id):
                return self._begin_reasoning(id)
            case e.ReasoningEnded(message_id=id):
                return self._end_reasoning(id)
            case e.ToolCallStarted():
                return self._begin_call(event)
            case e.ToolCallEnded(call_id=id):
                self._arguments.pop(id, None)
                return [{"type": "TOOL_CALL_END", "toolCallId": id}]
            case e.ToolCallReturned():
                return self._write_result(event)
            case e.StateReplaced(state=state):
                return [{"type": "STATE_SNAPSHOT", "snapshot": state}]
            case e.StateChanged(patch=patch):
                return [{"type": "STATE_DELTA", "delta": patch}]
            case e.StepStarted(name=name):
                return [] if self._was_sent("STEP_STARTED", name) else [{"type": "STEP_STARTED", "stepName": name}]
            case e.StepEnded(name=name):
                return [] if self._was_sent("STEP_FINISHED", name) else [{"type": "STEP_FINISHED", "stepName": name}]
            case e.Custom(name=name, value=value):
                return self._write_custom(name, value)
            case e.MessagesReplaced():
                return [self._write_snapshot(event)]
            case e.RunStarted():
                return self._write_start(event)
            case e.RunFinished():
                return [*self._write_late_start(), *self._close_open(), self._write_finish(event)]
            case e.RunFailed(code=code, message=message):
                return [*self._write_late_start(), *self._close_open(), write_error(code, message)]
            case e.ModelResponseEnded() | e.SpanStarted() | e.SpanEnded():
                return []  # AG-UI has no such event
            case _:
                assert_never(event)

    def mark_begun(self) -> None:
        """Record that the client already received RUN_STARTED, even if the log has no such entry."""
        self._is_begun = True

    def _write_start(self, event: e.RunStarted) -> list[Json]:
        """Include the new messages of the thread: clients that follow the run later have no other source for them.

        After its log was lost, a run may log a second start, which is not sent.
        """
        if self._is_begun:
            return []
        self._is_begun = True
        messages = [write_message(message) for message in event.new_messages]
        run_input = {**self._names, "state": {}, "messages": messages, "tools": [], "context": [], "forwardedProps": {}}
        return [{"type": "RUN_STARTED", **self._names, "input": run_input}]

    def _write_late_start(self) -> list[Json]:
        """A run that was stopped before it started has only an end in its log, but AG-UI clients require a start."""
        is_first, self._is_begun = not self._is_begun, True
        return [{"type": "RUN_STARTED", **self._names}] if is_first else []

    def _write_snapshot(self, event: e.MessagesReplaced) -> Json:
        parts = [(message.id, part) for message in event.messages for part in message.parts]
        returned = {part.call_id for _, part in parts if isinstance(part, Result)}
        made = {part.id: parent for parent, part in parts if isinstance(part, Call)}
        self._calls = {id: parent for id, parent in made.items() if id not in returned}
        self._messages = {message.id for message in event.messages if message.role == "assistant"}
        self._last = None
        messages = [write_message(message) for message in (*event.earlier, *event.messages)]
        return {"type": "MESSAGES_SNAPSHOT", "messages": messages}

    def _begin_message(self, id: str) -> None:
        self._texts[id] = build_frame_head("TEXT_MESSAGE_CONTENT", "messageId", id)
        if id not in self._messages:
            self._messages.add(id)
            self._last = id

    def _begin_reasoning(self, id: str) -> list[Json]:
        self._reasoning[id] = build_frame_head("REASONING_MESSAGE_CONTENT", "messageId", id)
        start = {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}
        if self._was_sent("REASONING_MESSAGE_START", id):
            return []
        if any(end == "REASONING_END" for end, *_ in self._open):
            return [start]
        self._blocks |= {id}
        return [{"type": "REASONING_START", "messageId": BLOCK + id}, start]

    def _end_reasoning(self, id: str) -> list[Json]:
        self._reasoning.pop(id, None)
        end = {"type": "REASONING_MESSAGE_END", "messageId": id}
        if id not in self._blocks:
            return [end]
        self._blocks -= {id}
        return [end, {"type": "REASONING_END", "messageId": BLOCK + id}]

    def _begin_call(self, event: e.ToolCallStarted) -> list[Json]:
        parent = event.message_id or self._last or event.call_id
        if parent not in self._messages:
            self._messages.add(parent)
            self._last = parent
        self._calls[event.call_id] = parent
        self._arguments[event.call_id] = build_frame_head("TOOL_CALL_ARGS", "toolCallId", event.call_id)
        if self._was_sent("TOOL_CALL_START", event.call_id):
            return []
        start = {"toolCallId": event.call_id, "toolCallName": event.name, "parentMessageId": parent}
        return [{"type": "TOOL_CALL_START", **start}]

    def _write_result(self, event: e.ToolCallReturned) -> list[Json]:
        if self._calls.pop(event.call_id, None) in (self._last, None):
            self._last = None
        if self._was_sent("TOOL_CALL_RESULT", event.call_id):
            return []
        result = {"toolCallId": event.call_id, "content": event.content, "role": "tool"}
        id = event.message_id or f"result-{event.call_id}"
        return [{"type": "TOOL_CALL_RESULT", "messageId": id, **result}]

    def _write_custom(self, name: str, value: JsonValue) -> list[Json]:
        if name in ("model.kept", codec.UNKNOWN):
            return []  # only the model provider, or a later version, can use it
        if not name.startswith(RAW) or not isinstance(value, dict):
            return [{"type": "CUSTOM", "name": name, "value": value}]
        kind = name.removeprefix(RAW)
        if kind == FINISH:
            self._finish |= value
            return []
        if kind in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"):
            return []  # only rightseat's own events start and end a run
        raw: Json = {**value, "type": kind}
        self._track_raw(raw)
        return [raw]

    def _track_raw(self, raw: Json) -> None:
        """Record what a raw event opens or closes, and whether a rightseat event will repeat it."""
        kind, owner = raw["type"], raw.get("subagentRunId")
        if kind in ENDS:
            end, field = ENDS[kind]
            of = {} if owner is None else {"subagentRunId": owner}
            self._open[open_key(end, raw)] = {"type": end, field: raw.get(field), **of}
        elif kind in FIELDS:
            self._open.pop(open_key(kind, raw), None)
        if kind in REPEATED and not (kind in STEPS and owner is not None):
            self._sent_raw |= {(kind, raw.get(REPEATED[kind], ""))}
        elif kind == "TEXT_MESSAGE_END":  # of another role, which rightseat has no event for
            self._sent_raw -= {("TEXT_MESSAGE_START", raw.get("messageId", ""))}

    def _was_sent(self, kind: str, id: str) -> bool:
        """Return whether a raw event has already opened this. If so, the rightseat event closes it."""
        if (kind, id) not in self._sent_raw:
            return False
        self._sent_raw -= {(kind, id)}
        if kind in ENDS:
            end, field = ENDS[kind]
            self._open.pop(open_key(end, {field: id}), None)
        return True

    def _close_open(self) -> list[Json]:
        endings = list(reversed(self._open.values()))
        self._open.clear()
        return endings

    def _write_finish(self, event: e.RunFinished) -> Json:
        if event.outcome == "cancelled" and event.reason:
            return write_error("cancelled", event.reason)  # the protocol's end of a cancelled run has no text
        finished: Json = {"type": "RUN_FINISHED", **self._names}
        if event.result is not None:
            finished["result"] = event.result
        if event.interrupts:
            interrupts = [write_interrupt(one) for one in event.interrupts]
            finished["outcome"] = {"type": "interrupt", "interrupts": interrupts}
        elif event.outcome == "cancelled":
            finished["outcome"] = {"type": "cancelled"}
        elif event.outcome == "waiting" and self._calls:
            finished["outcome"] = {"type": "success", "pendingToolCallIds": list(self._calls)}
        return finished | self._finish


def write_error(code: str, message: str) -> Json:
    return {"type": "RUN_ERROR", "message": message, "code": code}


def build_frame_head(kind: str, field: str, id: str) -> bytes:
    """Return the beginning of a delta event's frame, up to the delta."""
    return b'\ndata: {"type":"%b","%b":%b,"delta":' % (kind.encode(), field.encode(), encode(id))


def open_key(end: str, raw: Json) -> tuple[Any, ...]:
    """Return the key of an open item, by its end event. Steps of several agents may have the same name."""
    owner = raw.get("subagentRunId") if end == "STEP_FINISHED" else None
    return ("SUBAGENT_FINISHED" if end == "SUBAGENT_ERROR" else end, raw.get(FIELDS[end]), owner)


def write_interrupt(interrupt: e.Interrupt) -> Json:
    written: Json = {"id": interrupt.id, "reason": interrupt.reason}
    if interrupt.message:
        written["message"] = interrupt.message
    if interrupt.call_id is not None:
        written["toolCallId"] = interrupt.call_id
    if isinstance(interrupt.schema, dict):
        written["responseSchema"] = interrupt.schema
    if interrupt.expires_at is not None:
        written["expiresAt"] = interrupt.expires_at
    return written
