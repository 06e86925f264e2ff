"""Encodes the events of a run as the events and the output items of a response.

The encoding depends on the log and the record of the response alone. Every client that reads the log from its start
receives the same events with the same numbers, at any time: a stream resumes by encoding the log again and leaving out
the events that the client has.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from msgspec import Raw
from starlette.responses import Response

from rightseat.core import events as e
from rightseat.core.approvals import APPROVAL, explain_permission
from rightseat.core.errors import ContextTooLong, GuardDenied
from rightseat.core.log import Entry
from rightseat.core.messages import Message
from rightseat.core.types import JsonValue
from rightseat.core.usage import add_usage
from rightseat.faces._shared.run_warnings import describe_warning, warnings_header
from rightseat.faces._shared.sealed_reasoning import Seal
from rightseat.faces.openai.deltas import APPROVAL_REQUIRED, QUESTION
from rightseat.faces.openai.encoder import EVENTS
from rightseat.faces.openai.errors import ErrorResponse
from rightseat.faces.openai.responses.event_stream import ResponseEventStream, encode
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.output_items import (
    FunctionCallOutput,
    McpCallOutput,
    MessageOutput,
    ReasoningOutput,
)
from rightseat.faces.openai.responses.response_record import SERVER_LABEL, ResponseRecord, write_response

KEY = re.compile("[0-9a-f]{32}")

INCOMPLETE: dict[e.StopReason, str] = {"length": "max_output_tokens", "filtered": "content_filter"}
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
        self.approvals: dict[str, str] = {}
        """The ids of approval requests → the ids of their interrupts."""
        self.failure: ErrorResponse | None = None
        self.usage: e.Usage | None = None
        self._stream = ResponseEventStream(record.suffix, after=after, writes=writes)
        self._seal = seal
        self._is_immediate = is_immediate
        self._error: Mapping[str, str] | None = None
        self._incomplete: str | None = None
        self._last_seq = 0
        self._offered = {offer.name for offer in record.offers}
        self._reason: e.StopReason = "stop"
        self._texts: dict[str, MessageOutput] = {}
        self._reasoning: dict[str, ReasoningOutput] = {}
        self._calls: dict[str, FunctionCallOutput] = {}
        self._server_calls: dict[str, McpCallOutput] = {}
        for one in record.answered:
            call = McpCallOutput(self._stream, one.name, one.request_id)
            call.pieces.append(one.arguments)
            self._server_calls[one.call_id] = call
        self._unknown_calls: list[e.ToolCallReturned] = []
        self._logprobs: JsonValue = None

    # What a response needs

    @property
    def is_finished(self) -> bool:
        return self.status not in ("queued", "in_progress")

    @property
    def output(self) -> list[Item]:
        return self._stream.output

    @property
    def next_number(self) -> int:
        return self._stream.next_number

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
        stream = self._stream
        if len(entries) == 1:  # nearly every batch of a stream is one text delta
            entry = entries[0]
            event = entry.event
            if type(event) is e.TextDelta and not stream.frames and self._logprobs is None:
                text, number = self._texts.get(event.message_id), stream.next_number
                if text is not None and entry.seq == self._last_seq + 1 and number > stream.after and stream.writes:
                    self._last_seq += 1
                    stream.next_number = number + 1
                    text.pieces.append(event.text)
                    return b'%b%d,"delta":%b}\n\n' % (text.delta_head, number, encode(event.text))
        for entry in entries:
            self._skip_joined(entry)
            self._take(entry.event)
        if not stream.frames or not (self._is_immediate or self.output or self.is_finished):
            return None
        frames, stream.frames = stream.frames, []
        return b"".join(frames)

    def feed_pieces(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        """The events of a stored response, each encoded when the one before is taken: one of 8 MB took 64 MB."""
        self._stream.defer_encoding()
        for entry in entries:
            self._skip_joined(entry)
            self._take(entry.event)
            yield from self._stream.take_pieces()

    def _skip_joined(self, entry: Entry) -> None:
        """A log may join the deltas of an ended run under the id of the last. They keep the numbers they had."""
        if not entry.seq:
            return  # an event that the log does not have
        joined = entry.seq - self._last_seq - 1
        self._last_seq = entry.seq
        if joined > 0 and type(entry.event) in (e.TextDelta, e.ReasoningDelta, e.ToolCallDelta):
            self._stream.next_number += joined * self._events_of(entry.event)

    def _events_of(self, event: e.Event) -> int:
        """How many events a delta becomes."""
        match event:
            case e.TextDelta() | e.ReasoningDelta():
                return 1
            case e.ToolCallDelta(call_id=id):
                return 1 if id in self._calls else 0
        return 0

    # Events

    def _take(self, event: e.Event) -> None:
        match event:
            case e.TextDelta(message_id=id, text=text):
                self._add_text(id, text)
            case e.ReasoningDelta(message_id=id, text=text):
                self._reasoning[id].add(text)
            case e.ToolCallDelta(call_id=id, text=text):
                self._add_arguments(id, text)
            case e.RunStarted():
                self._start()
            case e.TextStarted(message_id=id):
                self._report_unknown_calls()
                self._begin_text(id)
            case e.TextEnded(message_id=id, complete=complete):
                if message := self._texts.get(id):
                    message.end(complete)
            case e.ReasoningStarted(message_id=id):
                self._report_unknown_calls()
                self._begin_reasoning(id)
            case e.ReasoningEnded(message_id=id, complete=complete):
                if reasoning := self._reasoning.get(id):
                    reasoning.end(complete)
            case e.ToolCallStarted(call_id=id, name=name):
                self._report_unknown_calls()
                self._begin_call(id, name)
            case e.ToolCallEnded(call_id=id, complete=complete):
                if call := self._calls.get(id):
                    call.end(complete)
            case e.ToolCallReturned(error="unknown_tool"):
                self._unknown_calls.append(event)
            case e.ToolCallReturned():
                self._end_server_call(event)
            case e.SpanStarted(kind="tool", about=about):
                if server_call := self._server_calls.get(str((about or {}).get("call", ""))):
                    server_call.begin()
            case e.ModelResponseEnded(reason=reason, usage=usage):
                self._reason = reason
                if usage is not None:
                    self.usage = add_usage(self.usage, usage) if self.usage else usage
            case e.Custom(name=name, value=value):
                self._note(name, value)
            case e.MessagesReplaced(messages=messages):
                self._catch_up(messages)
            case e.RunFinished():
                self._finish(event)
            case e.RunFailed(code=code, message=message):
                self._fail(code, message)
            case e.SpanStarted() | e.SpanEnded() | e.StepStarted() | e.StepEnded():
                pass  # not part of OpenAI's protocol
            case e.StateReplaced() | e.StateChanged():
                pass
            case _:
                assert_never(event)

    def _start(self) -> None:
        if self.status == "queued":
            self.status = "in_progress"
            response = Raw(encode(self.response())) if self._stream.writes else None  # the two events have the same
            self._stream.emit("response.created", response=response)
            self._stream.emit("response.in_progress", response=response)

    def _begin_text(self, message_id: str) -> None:
        if message_id not in self._texts:
            self._texts[message_id] = MessageOutput(self._stream)

    def _add_text(self, message_id: str, delta: str) -> None:
        logprobs, self._logprobs = self._logprobs, None
        self._texts[message_id].add(delta, logprobs)

    def _begin_reasoning(self, message_id: str) -> None:
        if message_id not in self._reasoning:
            has_summary, seal = self.record.summary is not None, self._seal if self.record.is_sealed else None
            self._reasoning[message_id] = ReasoningOutput(self._stream, has_summary=has_summary, seal=seal)

    def _begin_call(self, call_id: str, name: str) -> None:
        if name not in self._offered:
            self._server_calls.setdefault(call_id, McpCallOutput(self._stream, name))
        elif call_id not in self._calls:
            namespace = self.record.namespaces.get(name)
            self._calls[call_id] = FunctionCallOutput(self._stream, call_id, name, namespace)

    def _add_arguments(self, call_id: str, delta: str) -> None:
        if call := self._calls.get(call_id):
            call.add(delta)
        elif server_call := self._server_calls.get(call_id):
            server_call.pieces.append(delta)

    def _end_server_call(self, event: e.ToolCallReturned) -> None:
        call = self._server_calls.get(event.call_id)
        if call is None:
            return
        if event.error is None:
            call.end(output=event.content)
        else:
            call.end(error=event.content)

    def _report_unknown_calls(self) -> None:
        """The model went on after it received that there is no such tool."""
        for event in self._unknown_calls:
            self._end_server_call(event)
        self._unknown_calls.clear()

    def _hand_over_unknown_calls(self) -> None:
        """The client has to run other calls of the same model response, so it decides about these too."""
        for event in self._unknown_calls:
            call = FunctionCallOutput(self._stream, event.call_id, event.name, None)
            self._calls[event.call_id] = call
            call.add(self._server_calls.pop(event.call_id).text)
            call.end(complete=True)
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
                index, _ = self._stream.add_item("rs", item)
                self._stream.end_item(index, item)

    def _catch_up(self, messages: Iterable[Message]) -> None:
        """After a log was lost: send the part of each open text that only the new log has."""
        for message in messages:
            text = self._texts.get(message.id)
            if text is None or text.is_done or not message.text.startswith(text.text):
                continue
            if rest := message.text[len(text.text) :]:
                self._add_text(message.id, rest)

    # The end

    def _finish(self, event: e.RunFinished) -> None:
        self.usage = event.usage or self.usage  # that of the run has the model calls without a response of their own
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
        if event.outcome == "cancelled" and event.reason:
            return self._fail("cancelled", event.reason)
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
        self._stream.emit(f"response.{status}", response=self.response())

    def _ask_approval(self, interrupt: e.Interrupt) -> None:
        call = self._server_calls.get(interrupt.call_id or "")
        name = call.name if call else interrupt.subject or "approval"
        arguments = call.text if call else encode({"question": interrupt.message}).decode()
        item = {"type": "mcp_approval_request", "name": name, "arguments": arguments, "server_label": SERVER_LABEL}
        index, id = self._stream.add_item("mcpr", item, interrupt_key(interrupt.id))
        self.approvals[id] = interrupt.id
        self._stream.end_item(index, item)

    def _explain_approval(self, approvals: Sequence[e.Interrupt]) -> str:
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
        items: list[MessageOutput | ReasoningOutput | FunctionCallOutput]
        items = [*self._reasoning.values(), *self._texts.values(), *self._calls.values()]
        for item in items:
            item.end(complete=False)
        for call in self._server_calls.values():
            if call.is_placed:
                call.end(error="The call was interrupted.")


def interrupt_key(id: str) -> str | None:
    """The random part of an interrupt's id: an approval request is found by it even if the log has expired."""
    key = id.removeprefix("interrupt_")
    return key if KEY.fullmatch(key) else None
