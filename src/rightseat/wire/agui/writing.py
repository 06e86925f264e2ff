"""Our events → AG-UI's, and their frames as server-sent events.

1. What began as `Custom("agui.…")` goes out as it came, as far as the client can read it. Where one of our own events
   follows that says the same to those who do not know AG-UI (see `reading`), it is not said twice.
2. What such raw events leave open is closed before the run ends: the clients refuse a run that ends in the middle.
3. Every call names the message that it belongs to, as `core.folding` sees it, so that client and server count the same
   messages.
4. A thought is written in a block of its own, unless the agent has opened one.
5. What was taken back is left out of a MESSAGES_SNAPSHOT of the whole thread, which is what clients go by.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

from msgspec import json

from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
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
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Result
from rightseat.core.values import JsonValue
from rightseat.wire.agui.messages import write_message
from rightseat.wire.agui.versions import Json, Version, fitted

encode = json.Encoder().encode

RAW = "agui."
FINISH = "RUN_FINISHED_FIELDS"
"""`Custom("agui.RUN_FINISHED_FIELDS", {…})`: what an agent wants its RUN_FINISHED to say."""
BLOCK = "reasoning-"
"""The id of a thought's own block is that of the thought behind this."""
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
TWICE = STEPS | {
    "TEXT_MESSAGE_START": "messageId",
    "TOOL_CALL_START": "toolCallId",
    "TOOL_CALL_RESULT": "toolCallId",
    "REASONING_MESSAGE_START": "messageId",
}
"""Raw events that one of ours follows (a subagent's steps excepted), and what they name."""


class Writer:
    """Writes one run for one client: feed it what the log has, take frames.

    `run_id` is what the client calls the run. Who comes back in the middle of a run first gives it what was read
    before, with `skip`. `show` may put others in an event's place, or before it: not for deltas.
    """

    def __init__(
        self,
        version: Version,
        thread_id: str,
        run_id: str,
        show: Callable[[Event], Sequence[Event]] = lambda event: (event,),
    ) -> None:
        self._version: Version = version
        self._show = show
        self._names = {"threadId": thread_id, "runId": run_id}
        self._is_begun = False
        self._texts: dict[str, bytes] = {}  # how the frames of a text begin that is open, behind their id
        self._thoughts: dict[str, bytes] = {}
        self._arguments: dict[str, bytes] = {}
        self._open: dict[tuple[Any, ...], Json] = {}  # of what raw events have opened, the event that would close it
        self._told: set[tuple[str, str]] = set()  # raw events that one of ours will repeat
        self._blocks: set[str] = set()  # thoughts that have a block of their own
        self._messages: set[str] = set()  # of the assistant, by now
        self._last: str | None = None  # the last of them, while nothing else has followed
        self._calls: dict[str, str] = {}  # calls without a result → the message that they belong to
        self._finish: Json = {}

    def feed(self, entries: Sequence[Entry]) -> bytes:
        """The frames of the entries. The last of each has the entry's id, so that a client can come back to it."""
        if len(entries) == 1 and type(event := entries[0].event) is TextDelta:  # nearly every batch of an answer
            head = self._texts.get(event.message_id)
            if head is not None:
                entry = entries[0]
                return b"id: %d-%d%b%b}\n\n" % (entry.epoch, entry.seq, head, encode(event.text))
        return b"".join([self._frames(entry) for entry in entries])

    def skip(self, entries: Iterable[Entry]) -> None:
        """Take note of what the client has already, without writing it."""
        for entry in entries:
            self.write(entry.event)

    def write(self, event: Event) -> list[Json]:
        return [fitted(one, self._version) for shown in self._show(event) for one in self._write(shown)]

    def _frames(self, entry: Entry) -> bytes:
        event, head, text = entry.event, None, ""
        if type(event) is TextDelta:
            head, text = self._texts.get(event.message_id), event.text
        elif type(event) is CallDelta:
            head, text = self._arguments.get(event.call_id), event.text
        elif type(event) is ThoughtDelta:
            head, text = self._thoughts.get(event.message_id), event.text
        if head is not None:
            return b"id: %d-%d%b%b}\n\n" % (entry.epoch, entry.seq, head, encode(text))
        frames = [b"data: %b\n\n" % encode(one) for one in self.write(event)]
        if frames and entry.seq:
            frames[-1] = b"id: %d-%d\n%b" % (entry.epoch, entry.seq, frames[-1])
        return b"".join(frames)

    def _write(self, event: Event) -> list[Json]:
        match event:
            case TextDelta(message_id=id, text=text):
                return [{"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text}]
            case CallDelta(call_id=id, text=text):
                return [{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": text}]
            case ThoughtDelta(message_id=id, text=text):
                return [{"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text}]
            case TextStarted(message_id=id):
                self._begin_message(id)
                start = {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}
                return [] if self._was_told("TEXT_MESSAGE_START", id) else [start]
            case TextEnded(message_id=id):
                self._texts.pop(id, None)
                return [{"type": "TEXT_MESSAGE_END", "messageId": id}]
            case ThoughtStarted(message_id=id):
                return self._begin_thought(id)
            case ThoughtEnded(message_id=id):
                return self._end_thought(id)
            case CallStarted():
                return self._begin_call(event)
            case CallEnded(call_id=id):
                self._arguments.pop(id, None)
                return [{"type": "TOOL_CALL_END", "toolCallId": id}]
            case CallReturned():
                return self._result(event)
            case StateReplaced(state=state):
                return [{"type": "STATE_SNAPSHOT", "snapshot": state}]
            case StateChanged(patch=patch):
                return [{"type": "STATE_DELTA", "delta": patch}]
            case StepStarted(name=name):
                return [] if self._was_told("STEP_STARTED", name) else [{"type": "STEP_STARTED", "stepName": name}]
            case StepEnded(name=name):
                return [] if self._was_told("STEP_FINISHED", name) else [{"type": "STEP_FINISHED", "stepName": name}]
            case Custom(name=name, value=value):
                return self._custom(name, value)
            case MessagesReplaced():
                return [self._replaced(event)]
            case RunStarted():
                return self._started(event)
            case RunFinished():
                return [*self._begin_late(), *self._endings(), self._finished(event)]
            case RunFailed(code=code, message=message):
                return [*self._begin_late(), *self._endings(), {"type": "RUN_ERROR", "message": message, "code": code}]
            case AnswerEnded():
                return []  # AG-UI has no word for it
            case _:
                assert_never(event)

    def begun(self) -> None:
        """The client has seen the run begin, whatever the log says."""
        self._is_begun = True

    def _started(self, event: RunStarted) -> list[Json]:
        """With what is new of the conversation: who reads the run later has it from nowhere else.

        A log that was lost begins anew; the run does not.
        """
        if self._is_begun:
            return []
        self._is_begun = True
        said = [write_message(message) for message in event.said]
        given = {**self._names, "state": {}, "messages": said, "tools": [], "context": [], "forwardedProps": {}}
        return [{"type": "RUN_STARTED", **self._names, "input": given}]

    def _begin_late(self) -> list[Json]:
        """The log of a run that was stopped before it began has only its end, and AG-UI's client wants a start."""
        is_first, self._is_begun = not self._is_begun, True
        return [{"type": "RUN_STARTED", **self._names}] if is_first else []

    def _replaced(self, event: MessagesReplaced) -> Json:
        parts = [(message.id, part) for message in event.messages for part in message.parts]
        returned = {part.call_id for _, part in parts if isinstance(part, Result)}
        made = {part.id: parent for parent, part in parts if isinstance(part, Call)}
        self._calls = {id: parent for id, parent in made.items() if id not in returned}
        self._messages = {message.id for message in event.messages if message.role == "assistant"}
        self._last = None
        said = [write_message(message) for message in (*event.earlier, *event.messages)]
        return {"type": "MESSAGES_SNAPSHOT", "messages": said}

    def _begin_message(self, id: str) -> None:
        self._texts[id] = head_of("TEXT_MESSAGE_CONTENT", "messageId", id)
        if id not in self._messages:
            self._messages.add(id)
            self._last = id

    def _begin_thought(self, id: str) -> list[Json]:
        self._thoughts[id] = head_of("REASONING_MESSAGE_CONTENT", "messageId", id)
        start = {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}
        if self._was_told("REASONING_MESSAGE_START", id):
            return []
        if any(end == "REASONING_END" for end, *_ in self._open):
            return [start]
        self._blocks.add(id)
        return [{"type": "REASONING_START", "messageId": BLOCK + id}, start]

    def _end_thought(self, id: str) -> list[Json]:
        self._thoughts.pop(id, None)
        end = {"type": "REASONING_MESSAGE_END", "messageId": id}
        if id not in self._blocks:
            return [end]
        self._blocks.discard(id)
        return [end, {"type": "REASONING_END", "messageId": BLOCK + id}]

    def _begin_call(self, event: CallStarted) -> list[Json]:
        parent = event.message_id or self._last or event.call_id
        if parent not in self._messages:
            self._messages.add(parent)
            self._last = parent
        self._calls[event.call_id] = parent
        self._arguments[event.call_id] = head_of("TOOL_CALL_ARGS", "toolCallId", event.call_id)
        if self._was_told("TOOL_CALL_START", event.call_id):
            return []
        start = {"toolCallId": event.call_id, "toolCallName": event.name, "parentMessageId": parent}
        return [{"type": "TOOL_CALL_START", **start}]

    def _result(self, event: CallReturned) -> list[Json]:
        if self._calls.pop(event.call_id, None) in (self._last, None):
            self._last = None
        if self._was_told("TOOL_CALL_RESULT", event.call_id):
            return []
        result = {"toolCallId": event.call_id, "content": event.content, "role": "tool"}
        id = event.message_id or f"result-{event.call_id}"
        return [{"type": "TOOL_CALL_RESULT", "messageId": id, **result}]

    def _custom(self, name: str, value: JsonValue) -> list[Json]:
        if name == "model.kept":
            return []  # only the model's provider understands it
        if not name.startswith(RAW) or not isinstance(value, dict):
            return [{"type": "CUSTOM", "name": name, "value": value}]
        kind = name.removeprefix(RAW)
        if kind == FINISH:
            self._finish |= value
            return []
        if kind in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"):
            return []  # a run begins and ends once, and not by this
        raw: Json = {**value, "type": kind}
        self._note(raw)
        return [raw]

    def _note(self, raw: Json) -> None:
        """Remember what a raw event opens and closes, and what it says before one of ours does."""
        kind, owner = raw["type"], raw.get("subagentRunId")
        if kind in ENDS:
            end, field = ENDS[kind]
            of = {} if owner is None else {"subagentRunId": owner}
            self._open[key(end, raw)] = {"type": end, field: raw.get(field), **of}
        elif kind in FIELDS:
            self._open.pop(key(kind, raw), None)
        if kind in TWICE and not (kind in STEPS and owner is not None):
            self._told.add((kind, raw.get(TWICE[kind], "")))
        elif kind == "TEXT_MESSAGE_END":  # of another role, for which we have no event
            self._told.discard(("TEXT_MESSAGE_START", raw.get("messageId", "")))

    def _was_told(self, kind: str, id: str) -> bool:
        """Did a raw event say this already? From here on it is ours to close."""
        if (kind, id) not in self._told:
            return False
        self._told.discard((kind, id))
        if kind in ENDS:
            end, field = ENDS[kind]
            self._open.pop(key(end, {field: id}), None)
        return True

    def _endings(self) -> list[Json]:
        endings = list(reversed(self._open.values()))
        self._open.clear()
        return endings

    def _finished(self, event: RunFinished) -> Json:
        finished: Json = {"type": "RUN_FINISHED", **self._names}
        if event.result is not None:
            finished["result"] = event.result
        if event.interrupts:
            asked = [write_interrupt(one) for one in event.interrupts]
            finished["outcome"] = {"type": "interrupt", "interrupts": asked}
        elif event.outcome == "cancelled":
            finished["outcome"] = {"type": "cancelled"}
        elif event.outcome == "waiting" and self._calls:
            finished["outcome"] = {"type": "success", "pendingToolCallIds": list(self._calls)}
        return finished | self._finish


def head_of(kind: str, field: str, id: str) -> bytes:
    """Of an event with a piece of something, up to the piece."""
    return b'\ndata: {"type":"%b","%b":%b,"delta":' % (kind.encode(), field.encode(), encode(id))


def key(end: str, raw: Json) -> tuple[Any, ...]:
    """Names something that is open by the event that ends it. Steps of several agents may have one name."""
    owner = raw.get("subagentRunId") if end == "STEP_FINISHED" else None
    return ("SUBAGENT_FINISHED" if end == "SUBAGENT_ERROR" else end, raw.get(FIELDS[end]), owner)


def write_interrupt(interrupt: Interrupt) -> Json:
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
