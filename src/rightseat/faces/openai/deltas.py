"""Converts the events of a run to the deltas of one completion message.

A run may have several model responses with server-side tool calls between them. The client receives their text as one
message, and the calls of its own tools. Other facts become warnings.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from rightseat.core import events as e
from rightseat.core.approvals import explain_permission
from rightseat.core.errors import GuardDenied
from rightseat.core.types import JsonValue
from rightseat.core.usage import add_usage
from rightseat.faces._shared.run_warnings import describe_warning
from rightseat.faces.openai.errors import ErrorResponse

TEXT_SEPARATOR = "\n\n"
"""Between the texts of two model responses."""

REASONS: dict[e.StopReason, str] = {
    "stop": "stop",
    "tool_calls": "stop",
    "length": "length",
    "filtered": "content_filter",
}

QUESTION = "The agent asks: {message} This protocol has no way to answer it; use a client that can show the question."
APPROVAL_REQUIRED = (
    "{names} needs approval and was not run: this protocol cannot ask a person, but CopilotKit's can. {permission}"
)


@dataclass(frozen=True, slots=True)
class ContentDelta:
    text: str
    logprobs: JsonValue = None


@dataclass(frozen=True, slots=True)
class ReasoningContent:
    text: str


@dataclass(frozen=True, slots=True)
class CallStart:
    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class CallCut:
    """The call ended inside its arguments."""

    index: int


@dataclass(frozen=True, slots=True)
class Finish:
    reason: str


OutputDelta = ContentDelta | ReasoningContent | CallStart | CallArguments | CallCut | Finish | ErrorResponse


class DeltaReader:
    """The last delta is `Finish` or an `ErrorResponse`; after it, `usage` is complete."""

    __slots__ = (
        "_calls",
        "_cut",
        "_last_text_response",
        "_logprobs",
        "_offered",
        "_reason",
        "_response_count",
        "_server_calls",
        "_unknown",
        "_wants_logprobs",
        "streaming_id",
        "usage",
        "warnings",
    )

    def __init__(self, offered: Collection[str], warnings: list[str], *, wants_logprobs: bool = False) -> None:
        self.warnings = warnings
        self.usage: e.Usage | None = None  # None if the model does not report it
        self.streaming_id: str | None = None
        """The id of the message whose next delta is plain text."""
        self._offered = set(offered)
        self._calls: dict[str, int] = {}  # client-side calls: id → index
        self._cut: set[str] = set()  # those that ended inside their arguments
        self._server_calls: dict[str, str] = {}  # server-side calls: id → tool
        self._unknown: list[str] = []  # unknown tools that were called in the last response
        self._response_count = 0
        self._last_text_response: int | None = None  # number of the response that last sent text
        self._reason: e.StopReason = "stop"
        self._wants_logprobs = wants_logprobs
        self._logprobs: JsonValue = None

    def feed(self, events: Iterable[e.Event]) -> Iterator[OutputDelta]:
        for event in events:
            yield from self._take(event)

    def _take(self, event: e.Event) -> Iterable[OutputDelta]:
        match event:
            case e.TextDelta(message_id=id, text=text):
                return self._add_text(id, text)
            case e.ReasoningDelta(text=text):
                return (ReasoningContent(text),)
            case e.ToolCallStarted():
                return self._begin_call(event)
            case e.ToolCallDelta(call_id=id, text=text):
                return (CallArguments(self._calls[id], text),) if id in self._calls else ()
            case e.ToolCallEnded(call_id=id, complete=False) if id in self._calls:
                self._cut.add(id)
                return (CallCut(self._calls[id]),)
            case e.ToolCallReturned(name=name, error="unknown_tool"):
                self._unknown.append(name)
            case e.ModelResponseEnded():
                self._end_response(event)
            case e.Custom(name=name, value=value):
                self._note(name, value)
            case e.RunFinished():
                return (self._finish(event),)
            case e.RunFailed(code=GuardDenied.code, message=message) if self._last_text_response is not None:
                self.warnings.append(message)
                return (Finish(REASONS["filtered"]),)
            case e.RunFailed(code=code, message=message):
                return (ErrorResponse.of_run(code, message),)
            case e.TextStarted() | e.TextEnded() | e.ReasoningStarted() | e.ReasoningEnded():
                self.streaming_id = None
            case e.ToolCallEnded() | e.RunStarted():
                self.streaming_id = None
            case e.ToolCallReturned() | e.StateReplaced() | e.StateChanged() | e.StepStarted() | e.StepEnded():
                pass  # not part of OpenAI's protocol
            case e.SpanStarted() | e.SpanEnded():
                pass  # only stored runs have spans
            case e.MessagesReplaced():
                pass  # only durable runs send it
            case _:
                assert_never(event)
        return ()

    def _add_text(self, id: str, text: str) -> Iterable[OutputDelta]:
        if self._last_text_response is not None and self._last_text_response < self._response_count:
            text = TEXT_SEPARATOR + text
        self._last_text_response = self._response_count
        self.streaming_id = None if self._wants_logprobs else id
        logprobs, self._logprobs = self._logprobs, None
        return (ContentDelta(text, logprobs),)

    def _begin_call(self, event: e.ToolCallStarted) -> Iterable[OutputDelta]:
        if event.name not in self._offered:
            self._server_calls[event.call_id] = event.name
            return ()
        place = self._calls[event.call_id] = len(self._calls)
        return (CallStart(place, event.call_id, event.name),)

    def _end_response(self, event: e.ModelResponseEnded) -> None:
        self._response_count += 1
        self._unknown.clear()  # the model received the error and responded again
        self._reason = event.reason
        self.streaming_id = None
        if event.usage is not None:
            self.usage = add_usage(self.usage, event.usage) if self.usage else event.usage

    def _note(self, name: str, value: JsonValue) -> None:
        if warning := describe_warning(name, value):
            self.warnings.append(warning)
        if name == "model.logprobs" and self._wants_logprobs:
            self._logprobs = value
        elif name == "tools.shadowed" and isinstance(value, list):
            self._offered.difference_update(map(str, value))

    def _explain_approval(self, interrupts: Iterable[e.Interrupt]) -> str:
        names = sorted({self._server_calls[id] for one in interrupts if (id := one.call_id) in self._server_calls})
        listed = ", ".join(names) or "A tool"
        return APPROVAL_REQUIRED.format(names=listed, permission=explain_permission(names or ["it"]))

    def _finish(self, event: e.RunFinished) -> OutputDelta:
        self.usage = event.usage or self.usage  # that of the run has the model calls without a response of their own
        if questions := [one.message for one in event.interrupts if one.call_id is None]:
            return ErrorResponse.of_run("answer_required", QUESTION.format(message=" ".join(questions)))
        if event.interrupts:
            return ErrorResponse.of_run("approval_required", self._explain_approval(event.interrupts))
        if event.outcome == "cancelled":
            return ErrorResponse.of_run("cancelled", event.reason or "The run was cancelled before it finished.")
        for name in self._unknown:
            self.warnings.append(f"The model called {name!r}, which is not one of the tools; the call was ignored.")
        has_calls = len(self._calls) > len(self._cut)
        if has_calls and self._server_calls:
            listed = ", ".join(sorted(set(self._server_calls.values())))
            self.warnings.append(
                f"The agent also ran tools of its own, whose results the next request will not have: {listed}."
            )
        if has_calls and self._reason in ("stop", "tool_calls"):
            return Finish("tool_calls")
        return Finish(REASONS[self._reason])
