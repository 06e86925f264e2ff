"""Encodes the events of a run as the event stream of OpenBB Workspace.

A status inside a text would split it into two messages, so it is held until the text ends. A function call is the last
event of a response; without one, suggestions are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from rightseat.core import events as e
from rightseat.core.approvals import explain_permission
from rightseat.core.errors import BadRequest, ContextTooLong, RightseatError
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Message, Part, Result
from rightseat.faces._shared.artifact_links import write_markdown
from rightseat.faces.openbb.citations.stream import CitationStream
from rightseat.faces.openbb.request.state import CarriedCall
from rightseat.faces.openbb.response import events, flows
from rightseat.faces.openbb.response.reasoning import ReasoningSplitter
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import artifacts
from rightseat.faces.openbb.tools.functions import StatusStep
from rightseat.faces.openbb.tools.suggestions import OPTION

WriteCall = Callable[[Sequence[CarriedCall], Sequence[CarriedCall], Sequence[Message], int], bytes]
"""Encodes the function call for a model response, given all of its calls, those for the client to run, the earlier
messages of the server's own tools, and the number of model responses."""

StoreQuestion = Callable[[Sequence[e.Interrupt], Sequence[Message]], str | None]
"""Stores interrupts with the calls and results that led to them, and returns the hint how to reply; None if a person
cannot reply."""

NO_ANSWER = "The model returned no answer. Please try again or rephrase your question."
STOPPED = "\n\nThe answer was stopped."
UNSUPPORTED = "The agent called {names}, which Workspace cannot run. Nothing was done."
UNAPPROVED = "{names} needs approval, and Workspace cannot ask for it here. Nothing was done. {permission}"
UNANSWERABLE = "The agent asks: {message} Workspace cannot answer it, so the agent is waiting."
UNDRAWN = "Workspace cannot draw the chart {name}. The answer ends with a link to it."
CALL_PREVIEW = "\n\n{name} will be called with: {arguments}"


class ResponseEncoder:
    """Takes log entries and returns bytes. It never blocks."""

    __slots__ = (
        "_calls",
        "_citations",
        "_earlier_messages",
        "_has_artifact",
        "_has_text",
        "_held_statuses",
        "_is_plain",
        "_links",
        "_model_responses",
        "_reasoning",
        "_response_ended",
        "_results",
        "_session",
        "_store_question",
        "_suggestions",
        "_write_call",
    )

    def __init__(self, session: Session, write_call: WriteCall, store_question: StoreQuestion | None = None) -> None:
        self._session = session
        self._links: list[str] = []  # to created files
        self._write_call = write_call
        self._store_question = store_question
        self._citations: CitationStream | None = None
        self._reasoning: ReasoningSplitter | None = None
        self._is_plain = not session.sources  # nothing to cite, and no marker has started
        self._has_text = False  # text was written
        self._has_artifact = False  # an artifact was written
        self._held_statuses: list[bytes] = []  # until the text ends
        self._suggestions: bytes = b""
        self._calls: dict[str, tuple[str, list[str]]] = {}  # of the last model response: name, chunks of the arguments
        self._results: dict[str, Result] = {}
        self._earlier_messages: list[Message] = []  # calls and results of earlier model responses
        self._model_responses = 0
        self._response_ended = False  # the model response of `_calls`

    def feed(self, entries: Sequence[Entry]) -> bytes | None:
        if len(entries) == 1 and type(event := entries[0].event) is e.TextDelta:  # nearly every batch
            self._has_text = True
            if self._is_plain and "<" not in event.text:
                return events.CHUNK % events.encode(event.text)
        output: list[bytes] = []
        for entry in entries:
            output += self._encode(entry.event)
        return b"".join(output) or None

    def _encode(self, event: e.Event) -> Iterator[bytes]:
        match event:
            case e.TextDelta(text=text):
                yield from self._add_text(text)
            case e.TextEnded():
                yield from self._end_message()
            case e.ReasoningDelta(text=text):
                self._reasoning = self._reasoning or ReasoningSplitter()
                yield from self._write_reasoning(self._reasoning.feed(text))
            case e.ReasoningEnded():
                yield from self._write_reasoning(self._reasoning.end() if self._reasoning else ())
            case e.ToolCallStarted(call_id=id, name=name):
                self._start_call(id, name)
            case e.ToolCallDelta(call_id=id, text=text):
                self._calls[id][1].append(text)
            case e.ToolCallReturned():
                yield from self._tool_returned(event)
            case e.ModelResponseEnded(reason=reason):
                yield from self._model_responded(reason)
            case e.StepStarted(name=name):
                yield from self._status(events.status(StatusStep(name)))
            case e.Custom(name=name, value=value):
                yield from self._custom_event(name, value)
            case e.RunFinished():
                yield from self._finish(event)
            case e.RunFailed():
                yield from self._fail(event)
            case e.RunStarted() | e.TextStarted() | e.ReasoningStarted() | e.ToolCallEnded() | e.StepEnded():
                pass  # a response starts by itself, and a call is sent when the run waits for it
            case e.StateReplaced() | e.StateChanged() | e.SpanStarted() | e.SpanEnded():
                pass  # OpenBB has no agent state
            case e.MessagesReplaced():
                pass  # only in durable runs
            case _:
                assert_never(event)

    # Text

    @property
    def _citation_stream(self) -> CitationStream:
        if self._citations is None:
            self._citations = CitationStream(self._session.sources, self._session.quotes)
        return self._citations

    def _add_text(self, text: str) -> Iterator[bytes]:
        self._has_text = True
        if self._is_plain and "<" not in text:
            yield events.chunk(text)
            return
        self._is_plain = False
        yield from self._pieces(self._citation_stream.feed(text))

    def _end_message(self) -> Iterator[bytes]:
        """End one message: write all held text."""
        if not self._is_plain:
            yield from self._pieces(self._citation_stream.end_message())

    def _pieces(self, pieces: Sequence[str | list[Any]]) -> Iterator[bytes]:
        for piece in pieces:
            if isinstance(piece, str):
                if piece:
                    yield events.chunk(piece)
            elif not self._session.is_legacy:
                yield events.citations(piece)

    def _write_text(self, text: str) -> Iterator[bytes]:
        self._has_text = True
        yield events.chunk(text)

    # Steps

    def _status(self, output: bytes) -> Iterator[bytes]:
        if self._session.is_legacy:
            return
        if self._has_text:
            self._held_statuses.append(output)
        else:
            yield output

    def _write_reasoning(self, steps: Sequence[str]) -> Iterator[bytes]:
        for step in steps:
            yield from self._status(events.status(StatusStep(step)))

    def _flush_statuses(self) -> Iterator[bytes]:
        yield from self._held_statuses
        self._held_statuses = []

    def _custom_event(self, name: str, value: Any) -> Iterator[bytes]:
        is_legacy = self._session.is_legacy
        if name == "openbb.artifact":
            yield from self._artifact(value)
        elif name == "artifact" and isinstance(value, dict):
            yield from self._flow_artifact(value)
        elif name == "flow.step" and isinstance(value, dict):
            yield from self._flow_step(value)
        elif name == "flow.suggestions" and not is_legacy and self._session.query.is_on(OPTION):
            self._suggestions = events.suggestions(flows.read_suggestions(value))
        elif name == "openbb.status":
            yield from self._status(events.status_of(value))
        elif name == "openbb.citations" and not is_legacy:
            if not self._is_plain:
                self._citation_stream.mark_cited(value)
            yield events.citations(value)
        elif name == "openbb.suggestions" and not is_legacy:
            self._suggestions = events.suggestions(value)
        elif name in ("model.warning", "tools.unavailable"):
            yield from self._status(events.status(StatusStep(str(value)), "WARNING"))
        elif name == "guard.messages_removed" and isinstance(value, list):
            text = f"A guard removed {len(value)} earlier message{'s' if len(value) > 1 else ''} from the conversation."
            yield from self._status(events.status(StatusStep(text), "WARNING"))

    def _artifact(self, value: Mapping[str, Any]) -> Iterator[bytes]:
        yield from self._end_message()
        self._has_artifact = True
        yield from (
            self._write_text(artifacts.to_markdown(value)) if self._session.is_legacy else (events.artifact(value),)
        )

    # Flows

    def _flow_artifact(self, value: dict[str, Any]) -> Iterator[bytes]:
        """Show a chart if Workspace can draw it. Other charts become links at the end, with a warning; so do files,
        without one."""
        if value.get("kind") == "chart":
            name = artifacts.escape_markers(str(value.get("name") or "Chart"))
            try:
                drawn = flows.write_chart(value, name)
            except BadRequest as error:
                step = StatusStep(UNDRAWN.format(name=name), [{"error": error.message}])
                yield from self._status(events.status(step, "WARNING"))
            else:
                yield from self._artifact(drawn | {"name": self._session.unique_name(name)})
                return
        self._links.append(write_markdown(value, self._session.files_url))

    def _flow_step(self, value: dict[str, Any]) -> Iterator[bytes]:
        if rows := flows.read_table(value):
            name = self._session.unique_name(artifacts.escape_markers(f"Table: {value.get('step', '')}"))
            yield from self._artifact(flows.write_artifact("table", name, rows, "The result of a step."))
        elif reported := flows.read_step(value):
            step, has_failed = reported
            yield from self._status(events.status(step, "WARNING" if has_failed else "INFO"))

    # Calls

    def _start_call(self, id: str, name: str) -> None:
        if self._response_ended:  # the first call of the next model response
            self._earlier_messages = self._all_messages()
            self._calls, self._results, self._response_ended = {}, {}, False
        self._calls[id] = (name, [])

    def _tool_returned(self, event: e.ToolCallReturned) -> Iterator[bytes]:
        self._results[event.call_id] = Result(event.call_id, event.name, event.content, event.error)
        if event.error:
            yield from self._status(
                events.status(StatusStep(f"{event.name} failed", [{"error": event.content}]), "WARNING")
            )
        elif event.name not in self._session.face_tools:
            yield from self._status(events.status(StatusStep(f"Used {event.name}")))

    def _model_responded(self, reason: str) -> Iterator[bytes]:
        self._model_responses += 1
        self._response_ended = bool(self._calls)
        if reason == "length":
            yield from self._status(
                events.status(StatusStep("The answer was cut off at the model's length limit"), "WARNING")
            )
        elif reason == "filtered":
            yield from self._status(
                events.status(StatusStep("The model provider's content filter cut off the answer"), "WARNING")
            )

    # The end

    def _finish(self, event: e.RunFinished) -> Iterator[bytes]:
        yield from self._end_message()
        if self._links:
            links = "\n\n".join(self._links)
            yield from self._write_text(f"\n\n{links}" if self._has_text else links)
        if event.outcome == "waiting":
            yield from self._finish_waiting(event)
            return
        if event.outcome == "cancelled":
            yield from self._write_text(f"\n\n{event.reason}" if event.reason else STOPPED)
        elif not self._has_text and not self._has_artifact:
            yield from self._write_text(NO_ANSWER)
        elif not self._is_plain:
            yield from self._pieces(self._citation_stream.end())
        yield from self._flush_statuses()
        yield self._suggestions

    def _finish_waiting(self, event: e.RunFinished) -> Iterator[bytes]:
        """Send a function call to the client, or a question to the user."""
        if event.interrupts and (text := self._question(event.interrupts)) is not None:
            yield from self._flush_statuses()
            yield from self._write_text(f"\n\n{text}" if self._has_text else text)
            return
        if questions := [interrupt.message for interrupt in event.interrupts if interrupt.call_id is None]:
            yield from self._flush_statuses()
            yield from self._write_text(UNANSWERABLE.format(message=" ".join(questions)))
            return
        calls = self._model_calls()
        unapproved = {interrupt.call_id for interrupt in event.interrupts}
        waiting = [call for call in calls if call.id not in self._results]
        known = [call for call in waiting if call.name in self._session.catalog.functions]
        if unapproved or not known:
            names = [call.name for call in waiting if call.id in unapproved or not unapproved]
            text = UNAPPROVED if unapproved else UNSUPPORTED
            yield from self._flush_statuses()
            yield from self._write_text(text.format(names=", ".join(names), permission=explain_permission(names)))
            return
        try:
            steps = [self._session.catalog.announce(call) for call in known]
            function_call = self._write_call(calls, known, self._messages_before_response(), self._model_responses)
        except RightseatError as error:  # external agents do not check arguments themselves
            yield from self._flush_statuses()
            yield from self._write_text(error.message)
            return
        for step in filter(None, steps):
            yield from self._status(events.status(step))
        yield from self._flush_statuses()
        yield function_call

    def _question(self, interrupts: Sequence[e.Interrupt]) -> str | None:
        """The question with the hint how to reply."""
        reply_hint = self._store_question(interrupts, self._all_messages()) if self._store_question else None
        if reply_hint is None:
            return None
        calls = {call.id: call for call in self._model_calls()}
        lines = [
            interrupt.message + preview_call(calls.get(interrupt.call_id or ""), interrupt) for interrupt in interrupts
        ]
        return "\n\n".join([*map(separate_list, lines), reply_hint])

    def _model_calls(self) -> list[CarriedCall]:
        return [CarriedCall(id, name, "".join(pieces)) for id, (name, pieces) in self._calls.items()]

    def _messages_before_response(self) -> list[Message]:
        return [*self._earlier_messages, *(Message("tool", (result,)) for result in self._results.values())]

    def _all_messages(self) -> list[Message]:
        """Calls and results, including those of the last model response."""
        calls: tuple[Part, ...] = tuple(
            Call(call.id, call.name, call.arguments or "{}") for call in self._model_calls()
        )
        response = [Message("assistant", calls)] if calls else []
        results = self._messages_before_response()[len(self._earlier_messages) :]
        return [*self._earlier_messages, *response, *results]

    def _fail(self, event: e.RunFailed) -> Iterator[bytes]:
        yield from self._end_message()
        level = self._level(event)
        message = "The model is unavailable" if event.code.startswith("model_") else "The answer failed"
        if self._has_text:
            yield from self._flush_statuses()
            yield from self._write_text(f"\n\n{event.message}")
        else:
            yield from self._status(events.status(StatusStep(message, [{"error": event.message}]), level))
            yield from self._write_text(event.message)

    def _level(self, event: e.RunFailed) -> events.Level:
        """On ERROR Workspace drops the newest result: right if it was too long, else only if there is none."""
        return "WARNING" if self._session.has_results and event.code != ContextTooLong.code else "ERROR"


def preview_call(call: CarriedCall | None, interrupt: e.Interrupt) -> str:
    """Preview the call, unless the question already does (`memo`)."""
    if call is None or interrupt.memo is not None:
        return ""
    return CALL_PREVIEW.format(name=call.name, arguments=call.arguments or "{}")


def separate_list(text: str) -> str:
    """Separate a list from the text before it: Markdown would join the lines."""
    return text.replace("\n- ", "\n\n- ", 1)
