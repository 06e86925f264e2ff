"""Encodes the events of a run as the events and the output items of a response.

The encoding depends on the log and the record of the response alone. Every client that reads the log from its start
receives the same events with the same numbers, at any time: a stream resumes by encoding the log again and leaving out
the events that the client has.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from msgspec import Raw, json
from starlette.responses import Response

from rightseat.core.approvals import APPROVAL, explain_permission
from rightseat.core.errors import ContextTooLong, GuardDenied
from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    SpanEnded,
    SpanStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    StopReason,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
    Usage,
)
from rightseat.core.log import Entry
from rightseat.core.messages import Message
from rightseat.core.types import JsonValue
from rightseat.core.usage import add_usage
from rightseat.faces.openai.deltas import APPROVAL_REQUIRED, QUESTION
from rightseat.faces.openai.encoder import EVENTS
from rightseat.faces.openai.errors import ErrorResponse
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.output_items import (
    FunctionCallOutput,
    McpCallOutput,
    MessageOutput,
    ReasoningOutput,
)
from rightseat.faces.openai.responses.response_record import SERVER_LABEL, ResponseRecord, write_response
from rightseat.faces.openai.responses.sealed_reasoning import Seal
from rightseat.faces.openai.warnings import describe_warning, warnings_header

encode = json.Encoder().encode
KEY = re.compile("[0-9a-f]{32}")

INCOMPLETE: dict[StopReason, str] = {"length": "max_output_tokens", "filtered": "content_filter"}
"""Stop reasons with which a response is incomplete, and OpenAI's reason for it."""

ERROR_CODES = {ContextTooLong.code: "context_length_exceeded", "limit_exceeded": "rate_limit_exceeded"}
"""Codes of failed responses that clients act on. All others are `server_error`: the SDK's type has few codes."""


class ResponseEventEncoder:
    """Entries → server-sent events, and the response object as of the last entry.

    With `after`, events up to that number are left out. Without `writes`, no events are encoded. With `is_immediate`
    the first events are sent at once; otherwise a run that fails before its first output can still be refused.
    """

    def __init__(
        self,
        record: ResponseRecord,
        seal: Seal,
        *,
        after: int = -1,
        writes: bool = True,
        is_immediate: bool = False,
    ) -> None:
        self.record = record
        self.warnings = list(record.warnings)
        self.status = "queued"
        self.output: list[Item] = []
        self.approvals: dict[str, str] = {}
        """The ids of approval requests → the ids of their interrupts."""
        self.failure: ErrorResponse | None = None
        self.usage: Usage | None = None
        self._seal = seal
        self._after = after
        self._writes = writes
        self._is_immediate = is_immediate
        self._error: Mapping[str, str] | None = None
        self._incomplete: str | None = None
        self._number = 0
        self._last_seq = 0
        self._frames: list[bytes] = []
        self._offered = {offer.name for offer in record.offers}
        self._reason: StopReason = "stop"
        self._texts: dict[str, MessageOutput] = {}
        self._reasoning: dict[str, ReasoningOutput] = {}
        self._calls: dict[str, FunctionCallOutput] = {}
        self._server_calls: dict[str, McpCallOutput] = {}
        for one in record.answered:
            call = McpCallOutput(one.name, one.request_id)
            call.arguments.append(one.arguments)
            self._server_calls[one.call_id] = call
        self._unknown_calls: list[ToolCallReturned] = []
        self._logprobs: JsonValue = None

    # What a response needs

    @property
    def is_finished(self) -> bool:
        return self.status not in ("queued", "in_progress")

    @property
    def next_number(self) -> int:
        return self._number

    def headers(self) -> Mapping[str, str]:
        """With the warnings so far."""
        return EVENTS | warnings_header(self.warnings)

    def refusal(self) -> Response | None:
        """For a run that failed before it sent anything."""
        return self.failure.response(self.warnings) if self.failure and not self.output else None

    def response(self) -> dict[str, Any]:
        return write_response(
            self.record,
            self.status,
            self.output,
            usage=self.usage if self.is_finished else None,
            error=self._error,
            incomplete=self._incomplete,
            warnings=self.warnings if self.is_finished else (),
        )

    def feed(self, entries: Sequence[Entry]) -> bytes | None:
        if len(entries) == 1:  # nearly every batch of a stream is one text delta
            entry = entries[0]
            event = entry.event
            if type(event) is TextDelta and not self._frames and self._logprobs is None:
                text = self._texts.get(event.message_id)
                if text is not None and entry.seq == self._last_seq + 1 and self._number > self._after and self._writes:
                    self._last_seq += 1
                    self._number += 1
                    text.pieces.append(event.text)
                    return b'%b%d,"delta":%b}\n\n' % (text.delta_head, self._number - 1, encode(event.text))
        for entry in entries:
            self._skip_joined(entry)
            self._take(entry.event)
        if not self._frames or not (self._is_immediate or self.output or self.is_finished):
            return None
        frames, self._frames = self._frames, []
        return b"".join(frames)

    def _skip_joined(self, entry: Entry) -> None:
        """A log may join the deltas of an ended run under the id of the last. They keep the numbers they had."""
        if not entry.seq:
            return  # an event that the log does not have
        joined = entry.seq - self._last_seq - 1
        self._last_seq = entry.seq
        if joined > 0 and type(entry.event) in (TextDelta, ReasoningDelta, ToolCallDelta):
            self._number += joined * self.events_of(entry.event)

    def events_of(self, event: Event) -> int:
        """How many events a delta becomes."""
        match event:
            case TextDelta() | ReasoningDelta():
                return 1
            case ToolCallDelta(call_id=id):
                return 1 if id in self._calls else 0
        return 0

    def _emit(self, kind: str, **fields: Any) -> None:
        number = self._number
        self._number += 1
        if self._writes and number > self._after:
            data = {"type": kind, "sequence_number": number, **fields}
            self._frames.append(b"event: %b\ndata: %b\n\n" % (kind.encode(), encode(data)))

    # Events

    def _take(self, event: Event) -> None:
        match event:
            case TextDelta(message_id=id, text=text):
                self._add_text(id, text)
            case ReasoningDelta(message_id=id, text=text):
                self._add_reasoning(id, text)
            case ToolCallDelta(call_id=id, text=text):
                self._add_arguments(id, text)
            case RunStarted():
                self._start()
            case TextStarted(message_id=id):
                self._report_unknown_calls()
                self._begin_text(id)
            case TextEnded(message_id=id, complete=complete):
                self._end_text(id, complete)
            case ReasoningStarted(message_id=id):
                self._report_unknown_calls()
                self._begin_reasoning(id)
            case ReasoningEnded(message_id=id, complete=complete):
                self._end_reasoning(id, complete)
            case ToolCallStarted(call_id=id, name=name):
                self._report_unknown_calls()
                self._begin_call(id, name)
            case ToolCallEnded(call_id=id, complete=complete):
                self._end_call(id, complete)
            case ToolCallReturned(error="unknown_tool"):
                self._unknown_calls.append(event)
            case ToolCallReturned():
                self._end_server_call(event)
            case SpanStarted(kind="tool", about=about):
                self._begin_server_call(str((about or {}).get("call", "")))
            case ModelResponseEnded(reason=reason, usage=usage):
                self._reason = reason
                if usage is not None:
                    self.usage = add_usage(self.usage, usage) if self.usage else usage
            case Custom(name=name, value=value):
                self._note(name, value)
            case MessagesReplaced(messages=messages):
                self._catch_up(messages)
            case RunFinished():
                self._finish(event)
            case RunFailed(code=code, message=message):
                self._fail(code, message)
            case StateReplaced() | StateChanged() | StepStarted() | StepEnded() | SpanStarted() | SpanEnded():
                pass  # not part of OpenAI's protocol
            case _:
                assert_never(event)

    def _start(self) -> None:
        if self.status == "queued":
            self.status = "in_progress"
            response = Raw(encode(self.response())) if self._writes else None  # the two events have the same
            self._emit("response.created", response=response)
            self._emit("response.in_progress", response=response)

    def _add_item(self, prefix: str, item: Item, key: str | None = None) -> tuple[int, str]:
        """`key` makes its id unique within the response, in place of its index."""
        index = len(self.output)
        id = f"{prefix}_{self.record.suffix}_{key or index}"
        self.output.append({"id": id, **item})
        self._emit("response.output_item.added", output_index=index, item=self.output[index])
        return index, id

    def _end_item(self, index: int, item: Item) -> None:
        self.output[index] = {"id": self.output[index]["id"], **item}
        self._emit("response.output_item.done", output_index=index, item=self.output[index])

    def _begin_text(self, message_id: str) -> None:
        if message_id in self._texts:
            return
        text = self._texts[message_id] = MessageOutput()
        text.place(*self._add_item("msg", text.item("in_progress")))
        self._emit("response.content_part.added", **text.where, part=text.part(""))

    def _add_text(self, message_id: str, delta: str) -> None:
        text = self._texts[message_id]
        text.pieces.append(delta)
        logprobs, self._logprobs = self._logprobs, None
        probabilities = logprobs if isinstance(logprobs, list) else []
        text.logprobs += probabilities
        self._emit("response.output_text.delta", **text.where, delta=delta, logprobs=probabilities)

    def _end_text(self, message_id: str, complete: bool) -> None:
        text = self._texts.get(message_id)
        if text is None or text.is_done:
            return
        text.is_done = True
        whole = text.text
        self._emit("response.output_text.done", **text.where, text=whole, logprobs=text.logprobs)
        self._emit("response.content_part.done", **text.where, part=text.part(whole))
        self._end_item(text.index, text.item("completed" if complete else "incomplete"))

    def _begin_reasoning(self, message_id: str) -> None:
        if message_id in self._reasoning:
            return
        one = self._reasoning[message_id] = ReasoningOutput(has_summary=self.record.summary is not None)
        one.place(*self._add_item("rs", {"type": "reasoning", "summary": [], "content": [], "status": "in_progress"}))
        if one.has_summary:
            part = {"type": "summary_text", "text": ""}
            self._emit("response.reasoning_summary_part.added", **one.summary_where, part=part)
        else:
            self._emit("response.content_part.added", **one.where, part={"type": "reasoning_text", "text": ""})

    def _add_reasoning(self, message_id: str, delta: str) -> None:
        """The summary grows if the client asked for one; the reasoning text then follows as a whole."""
        one = self._reasoning[message_id]
        one.pieces.append(delta)
        if one.has_summary:
            self._emit("response.reasoning_summary_text.delta", **one.summary_where, delta=delta)
        else:
            self._emit("response.reasoning_text.delta", **one.where, delta=delta)

    def _end_reasoning(self, message_id: str, complete: bool) -> None:
        one = self._reasoning.get(message_id)
        if one is None or one.is_done:
            return
        one.is_done = True
        text = one.text
        if one.has_summary:
            part = {"type": "summary_text", "text": text}
            self._emit("response.reasoning_summary_text.done", **one.summary_where, text=text)
            self._emit("response.reasoning_summary_part.done", **one.summary_where, part=part)
            self._emit("response.content_part.added", **one.where, part={"type": "reasoning_text", "text": ""})
            self._emit("response.reasoning_text.delta", **one.where, delta=text)
        self._emit("response.reasoning_text.done", **one.where, text=text)
        self._emit("response.content_part.done", **one.where, part={"type": "reasoning_text", "text": text})
        sealed = self._seal({"reasoning": text}) if self.record.is_sealed else None
        self._end_item(one.index, one.item("completed" if complete else "incomplete", sealed))

    def _begin_call(self, call_id: str, name: str) -> None:
        if name not in self._offered:
            self._server_calls.setdefault(call_id, McpCallOutput(name))
        elif call_id not in self._calls:
            call = self._calls[call_id] = FunctionCallOutput(call_id, name, self.record.namespaces.get(name))
            call.place(*self._add_item("fc", call.item("in_progress")))

    def _add_arguments(self, call_id: str, delta: str) -> None:
        if call := self._calls.get(call_id):
            call.pieces.append(delta)
            self._emit("response.function_call_arguments.delta", **call.where, delta=delta)
        elif server_call := self._server_calls.get(call_id):
            server_call.arguments.append(delta)

    def _end_call(self, call_id: str, complete: bool) -> None:
        call = self._calls.get(call_id)
        if call is None or call.is_done:
            return
        call.is_done = True
        self._emit("response.function_call_arguments.done", **call.where, name=call.name, arguments=call.text)
        self._end_item(call.index, call.item("completed" if complete else "incomplete"))

    def _begin_server_call(self, call_id: str) -> McpCallOutput | None:
        """A call of the agent's own tool becomes an item when it runs: until then a person may have to approve it."""
        call = self._server_calls.get(call_id)
        if call is None or call.is_placed:
            return call
        call.place(*self._add_item("mcp", call.item("in_progress")))
        arguments = call.text
        self._emit("response.mcp_call.in_progress", **call.where)
        self._emit("response.mcp_call_arguments.delta", **call.where, delta=arguments)
        self._emit("response.mcp_call_arguments.done", **call.where, arguments=arguments)
        return call

    def _end_server_call(self, event: ToolCallReturned) -> None:
        call = self._begin_server_call(event.call_id)
        if call is None or call.is_done:
            return
        call.is_done = True
        if event.error is None:
            call.output = event.content
        else:
            call.error = event.content
        ending = "completed" if event.error is None else "failed"
        self._emit(f"response.mcp_call.{ending}", **call.where)
        self._end_item(call.index, call.item(ending))

    def _report_unknown_calls(self) -> None:
        """The model went on after it received that there is no such tool."""
        for event in self._unknown_calls:
            self._end_server_call(event)
        self._unknown_calls.clear()

    def _hand_over_unknown_calls(self) -> None:
        """The client has to run other calls of the same model response, so it decides about these too."""
        for event in self._unknown_calls:
            call = self._calls[event.call_id] = FunctionCallOutput(event.call_id, event.name, None)
            call.place(*self._add_item("fc", call.item("in_progress")))
            self._add_arguments(event.call_id, self._server_calls.pop(event.call_id).text)
            self._end_call(event.call_id, complete=True)
        self._unknown_calls.clear()

    def _note(self, name: str, value: JsonValue) -> None:
        if warning := describe_warning(name, value):
            self.warnings.append(warning)
        match name, value:
            case "tools.shadowed", list(names):
                self._offered.difference_update(map(str, names))
            case "model.logprobs", _:
                self._logprobs = value
            case "model.kept", _ if self.record.is_sealed:
                item: Item = {"type": "reasoning", "summary": [], "content": [], "status": "completed"}
                item["encrypted_content"] = self._seal({"kept": value})
                index, _ = self._add_item("rs", item)
                self._end_item(index, item)

    def _catch_up(self, messages: Iterable[Message]) -> None:
        """After a log was lost: send the part of each open text that only the new log has."""
        for message in messages:
            text = self._texts.get(message.id)
            if text is None or text.is_done or not message.text.startswith(text.text):
                continue
            if rest := message.text[len(text.text) :]:
                self._add_text(message.id, rest)

    # The end

    def _finish(self, event: RunFinished) -> None:
        questions = [one for one in event.interrupts if one.reason != APPROVAL]
        approvals = [one for one in event.interrupts if one.reason == APPROVAL]
        if questions:
            asked = " ".join(one.message for one in questions)
            return self._fail("answer_required", QUESTION.format(message=asked))
        if approvals and not self.record.store:
            return self._fail("approval_required", self._explain_approval(approvals))
        self._close_open_items()
        if event.outcome == "waiting" and not approvals:
            self._hand_over_unknown_calls()
        self._report_unknown_calls()
        if event.outcome == "cancelled":
            self.status = "cancelled"  # the protocol has no event for this
            return
        for one in approvals:
            self._ask_approval(one)
        if reason := INCOMPLETE.get(self._reason):
            self._end("incomplete", reason)
        else:
            self._end("completed")

    def _end(self, status: str, incomplete: str | None = None) -> None:
        self.status, self._incomplete = status, incomplete
        self._emit(f"response.{status}", response=self.response())

    def _ask_approval(self, interrupt: Interrupt) -> None:
        call = self._server_calls.get(interrupt.call_id or "")
        name = call.name if call else interrupt.subject or "approval"
        arguments = call.text if call else encode({"question": interrupt.message}).decode()
        item = {"type": "mcp_approval_request", "name": name, "arguments": arguments, "server_label": SERVER_LABEL}
        index, id = self._add_item("mcpr", item, interrupt_key(interrupt.id))
        self.approvals[id] = interrupt.id
        self._end_item(index, item)

    def _explain_approval(self, approvals: Sequence[Interrupt]) -> str:
        calls = self._server_calls
        names = sorted({calls[id].name for one in approvals if (id := one.call_id) is not None and id in calls})
        listed = ", ".join(names) or "A tool"
        text = APPROVAL_REQUIRED.format(names=listed, permission=explain_permission(names or ["it"]))
        return f"{text} With `store: true` the response asks for the approval."

    def _fail(self, code: str, message: str) -> None:
        self._close_open_items()
        if code == GuardDenied.code and any(item["type"] == "message" for item in self.output):
            self.warnings.append(message)
            return self._end("incomplete", INCOMPLETE["filtered"])
        self.failure = ErrorResponse.of_run(code, message)
        kind = "rate_limit_exceeded" if self.failure.status == 429 else ERROR_CODES.get(code, "server_error")
        self._error = {"code": kind, "message": message}
        self._end("failed")

    def _close_open_items(self) -> None:
        for id in self._reasoning:
            self._end_reasoning(id, complete=False)
        for id in self._texts:
            self._end_text(id, complete=False)
        for id in self._calls:
            self._end_call(id, complete=False)
        for call in self._server_calls.values():
            if call.is_placed and not call.is_done:
                call.is_done = True
                call.error = "The call was interrupted."
                self._emit("response.mcp_call.failed", **call.where)
                self._end_item(call.index, call.item("failed"))


def interrupt_key(id: str) -> str | None:
    """The random part of an interrupt's id: an approval request is found by it even if the log has expired."""
    key = id.removeprefix("interrupt_")
    return key if KEY.fullmatch(key) else None
