"""Encodes the events of a run as the chunks of a UI message stream.

Every chunk fits AI SDK 6, which fails on an unknown one. A reply consists of steps: a step is one model response with
the results of its tools. The client sends a reply back by itself if its last step has only completed tool calls, so a
run that ends after a tool result adds an empty step.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

import msgspec

from rightseat.core import events as e
from rightseat.core.json_patch import apply_patch
from rightseat.core.log import Entry
from rightseat.core.loop.tool_calls import NO_OBJECT, read_arguments
from rightseat.core.messages import Call, Message, Result
from rightseat.core.stream import codec
from rightseat.core.types import JsonValue
from rightseat.faces._shared.artifact_links import add_url, remove_private_fields
from rightseat.faces.ai_sdk.decoder import Json
from rightseat.faces.ai_sdk.history import REFUSED, is_approval, read_output, write_question_part

encode = msgspec.json.Encoder().encode

DONE = b"data: [DONE]\n\n"
EMPTY: frozenset[str] = frozenset()
FINISH_REASONS: dict[e.StopReason, str] = {"length": "length", "filtered": "content-filter"}
PRIVATE_EVENTS = ("model.kept", codec.UNKNOWN)
RAW_AGUI = "agui."


class UIStreamEncoder:
    """The chunks of one run for one client.

    `reply_id` is the id of the client's message. `reply` are the parts that the message had before the run: with
    `repeat` they are sent again, for a client that builds the message from the start. `can_reset` is whether the client
    knows the chunk `reset-step`, of AI SDK 7.
    """

    def __init__(
        self,
        reply_id: str,
        *,
        reply: Sequence[Json] = (),
        repeat: bool = False,
        state: JsonValue = None,
        files_url: str | None = None,
        can_reset: bool = False,
    ) -> None:
        self._reply_id = reply_id
        self._repeated = write_parts(reply) if repeat else []
        self._state = state
        self._files_url = files_url
        self._can_reset = can_reset
        self._is_started = False
        self._is_step_open = False
        self._is_response_over = False
        self._has_calls = bool(reply)  # whether the last step may have tool calls
        self._texts: dict[str, bytes] = {}  # open text → beginning of the frame of a delta
        self._reasoning: dict[str, bytes] = {}
        self._arguments: dict[str, list[str]] = {}  # open call → its arguments so far
        self._names: dict[str, str] = {part["toolCallId"]: "" for part in reply if "toolCallId" in part}
        self._lengths: dict[str, int] = {}  # of the texts sent so far
        self._returned: frozenset[str] = EMPTY  # shared: an empty set takes 216 bytes
        self._reason: e.StopReason = "stop"

    def feed(self, entries: Sequence[Entry]) -> bytes:
        if len(entries) == 1:  # nearly every batch of a stream is one text delta
            return self._frame(entries[0].event)
        return b"".join([self._frame(entry.event) for entry in entries])

    def _frame(self, event: e.Event) -> bytes:
        if type(event) is e.TextDelta and (head := self._texts.get(event.message_id)):
            self._lengths[event.message_id] += len(event.text)
            return b"%b%b}\n\n" % (head, encode(event.text))
        frames = b"".join([b"data: %b\n\n" % encode(chunk) for chunk in self.write(event)])
        return frames + DONE if type(event) is e.RunFinished or type(event) is e.RunFailed else frames

    def write(self, event: e.Event) -> list[Json]:
        match event:
            case e.TextDelta(message_id=id, text=text):
                started = self._start_text(id)
                self._lengths[id] += len(text)
                return [*started, {"type": "text-delta", "id": id, "delta": text}]
            case e.ReasoningDelta(message_id=id, text=text):
                return [*self._start_reasoning(id), {"type": "reasoning-delta", "id": id, "delta": text}]
            case e.ToolCallDelta(call_id=id, text=text):
                self._arguments.setdefault(id, []).append(text)
                return [{"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": text}]
            case e.TextStarted(message_id=id):
                return self._start_text(id)
            case e.TextEnded(message_id=id):
                return [{"type": "text-end", "id": id}] if self._texts.pop(id, None) else []
            case e.ReasoningStarted(message_id=id):
                return self._start_reasoning(id)
            case e.ReasoningEnded(message_id=id):
                return [{"type": "reasoning-end", "id": id}] if self._reasoning.pop(id, None) else []
            case e.ToolCallStarted(call_id=id, name=name):
                return self._start_call(id, name)
            case e.ToolCallEnded(call_id=id, complete=complete):
                return self._end_call(id) if complete else []
            case e.ToolCallReturned():
                return self._write_result(event)
            case e.ModelResponseEnded(reason=reason):
                self._reason = reason
                self._is_response_over = True
                return []
            case e.StateReplaced(state=state):
                return self._write_state(state)
            case e.StateChanged(patch=patch):
                return self._write_state(apply_patch(self._state, patch))
            case e.StepStarted(name=name):
                return [write_transient("step", {"name": name, "status": "started"})]
            case e.StepEnded(name=name):
                return [write_transient("step", {"name": name, "status": "ended"})]
            case e.Custom(name=name, value=value):
                return self._write_custom(name, value)
            case e.MessagesReplaced(messages=messages):
                return self._replace(messages)
            case e.RunStarted():
                return self._start()
            case e.RunFinished():
                return [*self._start(), *self._finish(event)]
            case e.RunFailed(message=message):
                return [*self._start(), *self._end_step(), {"type": "error", "errorText": message}]
            case e.SpanStarted() | e.SpanEnded():
                return []
            case _:
                assert_never(event)

    def _start(self) -> list[Json]:
        """A log that was lost has a second start, and a run that was stopped at once has none."""
        if self._is_started:
            return []
        self._is_started = True
        return [{"type": "start", "messageId": self._reply_id}, *self._repeated]

    def _begin_part(self) -> list[Json]:
        """Start a step, unless the open one belongs to the same model response."""
        if self._is_step_open and not self._is_response_over:
            return []
        chunks = self._end_step()
        self._is_step_open, self._is_response_over, self._has_calls = True, False, False
        return [*chunks, {"type": "start-step"}]

    def _end_step(self) -> list[Json]:
        chunks: list[Json] = [{"type": "text-end", "id": id} for id in self._texts]
        chunks += [{"type": "reasoning-end", "id": id} for id in self._reasoning]
        self._texts.clear()
        self._reasoning.clear()
        if self._is_step_open:
            chunks.append({"type": "finish-step"})
        self._is_step_open = False
        return chunks

    def _start_text(self, id: str) -> list[Json]:
        """A text that another step has closed is opened again under the same id."""
        if id in self._texts:
            return []
        chunks = self._begin_part()
        self._texts[id] = b'data: {"type":"text-delta","id":%b,"delta":' % encode(id)
        self._lengths.setdefault(id, 0)
        return [*chunks, {"type": "text-start", "id": id}]

    def _start_reasoning(self, id: str) -> list[Json]:
        if id in self._reasoning:
            return []
        chunks = self._begin_part()
        self._reasoning[id] = b"open"
        return [*chunks, {"type": "reasoning-start", "id": id}]

    def _start_call(self, id: str, name: str) -> list[Json]:
        chunks = self._begin_part()
        self._has_calls = True
        self._names[id] = name
        self._arguments[id] = []
        return [*chunks, {"type": "tool-input-start", "toolCallId": id, "toolName": name}]

    def _end_call(self, id: str) -> list[Json]:
        text, name = "".join(self._arguments.pop(id, ())), self._names.get(id, "")
        return [write_input(id, name, text)]

    def _write_result(self, event: e.ToolCallReturned) -> list[Json]:
        chunks: list[Json] = []
        if event.call_id not in self._names:  # the client would fail on the result of an unknown call
            chunks = [*self._start_call(event.call_id, event.name), *self._end_call(event.call_id)]
        self._is_response_over = True
        self._returned |= {event.call_id}
        return [*chunks, write_output(event.call_id, event.content, event.error)]

    def _write_state(self, state: JsonValue) -> list[Json]:
        self._state = state
        return [*self._begin_part(), {"type": "data-state", "id": "state", "data": state}]

    def _write_custom(self, name: str, value: JsonValue) -> list[Json]:
        if name in PRIVATE_EVENTS or name.startswith(RAW_AGUI):
            return []
        if name == "artifact" and isinstance(value, dict) and value.get("id"):
            return [*self._begin_part(), *write_artifact(value, self._files_url)]
        if name == "flow.step" and isinstance(value, dict):
            value = remove_private_fields(value)
        return [write_transient(name, value)]

    def _replace(self, messages: Iterable[Message]) -> list[Json]:
        """Send what the client lacks. AI SDK 6 cannot remove a part: a retracted text stays, and a new step follows."""
        messages = list(messages)
        kept = {message.id for message in messages}
        chunks: list[Json] = []
        if self._lengths.keys() - kept:
            if self._can_reset and self._is_step_open:
                chunks.append({"type": "reset-step"})
                self._texts.clear()
                self._reasoning.clear()
            self._lengths = {id: length for id, length in self._lengths.items() if id in kept}
            self._is_response_over = True
        for message in messages:
            chunks += self._catch_up(message)
        return chunks

    def _catch_up(self, message: Message) -> list[Json]:
        chunks: list[Json] = []
        if rest := message.text[self._lengths.get(message.id, 0) :]:
            chunks += self.write(e.TextDelta(message.id, rest))
        for part in message.parts:
            if isinstance(part, Call) and part.id not in self._names:
                chunks += [*self._start_call(part.id, part.name), *self.write(e.ToolCallDelta(part.id, part.arguments))]
                chunks += self._end_call(part.id)
            elif isinstance(part, Result) and part.call_id not in self._returned:
                chunks += self._write_result(e.ToolCallReturned(part.call_id, part.name, part.content, part.error))
        return chunks

    def _finish(self, event: e.RunFinished) -> list[Json]:
        chunks: list[Json] = []
        approvals = [one for one in event.interrupts if one.call_id and is_approval(one, self._names)]
        for one in event.interrupts:
            if one in approvals:
                chunks.append({"type": "tool-approval-request", "approvalId": one.id, "toolCallId": one.call_id})
            else:
                chunks += [*self._begin_part(), write_question_part(one)]
        chunks += self._end_step()
        if event.outcome == "waiting":
            is_question = bool(event.interrupts) and not approvals
            return [*chunks, {"type": "finish", "finishReason": "other" if is_question else "tool-calls"}]
        if self._has_calls:
            chunks += [{"type": "start-step"}, {"type": "finish-step"}]
        if event.outcome == "cancelled":  # an abort has no text in all versions of the SDK
            end = {"type": "error", "errorText": event.reason} if event.reason else {"type": "abort"}
            return [*chunks, end]
        return [*chunks, {"type": "finish", "finishReason": FINISH_REASONS.get(self._reason, "stop")}]


def write_transient(name: str, value: JsonValue) -> Json:
    """A data part that only reaches `onData` and is not part of the message."""
    return {"type": f"data-{name}", "data": value, "transient": True}


def write_input(id: str, name: str, text: str) -> Json:
    arguments = read_arguments(text)
    call = {"toolCallId": id, "toolName": name}
    if arguments is None:
        return {"type": "tool-input-error", **call, "input": text, "errorText": NO_OBJECT}
    return {"type": "tool-input-available", **call, "input": arguments}


def write_output(id: str, content: str, error: str | None) -> Json:
    if error == REFUSED:
        return {"type": "tool-output-denied", "toolCallId": id}
    if error is not None:
        return {"type": "tool-output-error", "toolCallId": id, "errorText": content}
    return {"type": "tool-output-available", "toolCallId": id, "output": read_output(content)}


def write_artifact(artifact: dict[str, JsonValue], files_url: str | None) -> list[Json]:
    """A data part with everything about the file or chart, and a file part with its URL, which every page can show."""
    shown = add_url(artifact, files_url)
    chunks: list[Json] = [{"type": "data-artifact", "id": str(artifact["id"]), "data": shown}]
    if isinstance(url := shown.get("url"), str):
        is_chart = artifact.get("kind") == "chart"
        media_type = "image/svg+xml" if is_chart else str(artifact.get("media_type") or "application/octet-stream")
        chunks.append({"type": "file", "url": f"{url}.svg" if is_chart else url, "mediaType": media_type})
    return chunks


def write_parts(parts: Iterable[Json]) -> list[Json]:
    """The parts of a message as chunks. A call with a result has no `tool-input-available`, on which a page runs it."""
    chunks: list[Json] = []
    is_open = False
    for number, part in enumerate(parts):
        kind = part["type"]
        if kind == "step-start":
            chunks += [{"type": "finish-step"}] * is_open + [{"type": "start-step"}]
            is_open = True
        elif kind == "text":
            id = f"earlier-{number}"
            chunks += [{"type": "text-start", "id": id}, {"type": "text-delta", "id": id, "delta": part["text"]}]
            chunks.append({"type": "text-end", "id": id})
        elif kind.startswith("tool-"):
            chunks += write_call_part(part, kind.removeprefix("tool-"))
        else:
            chunks.append(part)
    return chunks + [{"type": "finish-step"}] * is_open


def write_call_part(part: Json, name: str) -> list[Json]:
    id, text = part["toolCallId"], part.get("rawInput") or encode(part["input"]).decode()
    chunks: list[Json] = [
        {"type": "tool-input-start", "toolCallId": id, "toolName": name},
        {"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": text},
    ]
    match part["state"]:
        case "output-available":
            return [*chunks, {"type": "tool-output-available", "toolCallId": id, "output": part["output"]}]
        case "output-error":
            return [*chunks, {"type": "tool-output-error", "toolCallId": id, "errorText": part["errorText"]}]
        case "output-denied":
            return [*chunks, {"type": "tool-output-denied", "toolCallId": id}]
        case _:
            return chunks
