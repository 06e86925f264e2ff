"""A run → the one message of a completion, in pieces.

A run may be several answers of a model with tools of the server's own between them. The client sees the text of all of
them as one, and the calls of its own tools. What else is worth knowing becomes a warning.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from rightseat.core.errors import Denied
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    StopReason,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
    Usage,
)
from rightseat.core.values import JsonValue
from rightseat.faces.openai.failures import Failure

APART = "\n\n"
"""Between the texts of two answers."""

REASONS: dict[StopReason, str] = {"stop": "stop", "calls": "stop", "length": "length", "filtered": "content_filter"}

QUESTION = "The agent asks: {message} This protocol has no way to answer it; use a client that can show the question."
ASKS = (
    "A tool that the agent called waits for a person to agree, and this protocol cannot ask one. The call was not run. "
    "Use a client that can show the question, or change `approve` of the agent."
)


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    logprobs: JsonValue = None


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallGrown:
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """It is whole."""

    reason: str


Piece = Said | Thought | CallBegun | CallGrown | Ended | Failure


class Pieces:
    """Feed it events, take pieces. The last is `Ended` or a `Failure`; what it all cost is known then."""

    __slots__ = (
        "_answers",
        "_calls",
        "_logprobs",
        "_offered",
        "_reason",
        "_run_here",
        "_spoke_in",
        "_unknown",
        "_wants_logprobs",
        "flowing",
        "usage",
        "warnings",
    )

    def __init__(self, offered: Collection[str], warnings: list[str], *, wants_logprobs: bool = False) -> None:
        self.warnings = warnings
        self.usage: Usage | None = None  # None where the model does not say
        self.flowing: str | None = None
        """The message whose next piece is just its text."""
        self._offered = set(offered)
        self._calls: dict[str, int] = {}  # the client's, by id: their places
        self._run_here: dict[str, str] = {}  # the others, by id: their tools
        self._unknown: list[str] = []  # tools that were called in the last answer, and are not there
        self._answers = 0
        self._spoke_in: int | None = None  # the answer whose text was the last
        self._reason: StopReason = "stop"
        self._wants_logprobs = wants_logprobs
        self._logprobs: JsonValue = None

    def feed(self, events: Iterable[Event]) -> Iterator[Piece]:
        for event in events:
            yield from self._take(event)

    def _take(self, event: Event) -> Iterable[Piece]:
        match event:
            case TextDelta(message_id=id, text=text):
                return self._say(id, text)
            case ThoughtDelta(text=text):
                return (Thought(text),)
            case CallStarted():
                return self._begin_call(event)
            case CallDelta(call_id=id, text=text):
                return (CallGrown(self._calls[id], text),) if id in self._calls else ()
            case CallReturned(name=name, error="unknown_tool"):
                self._unknown.append(name)
            case AnswerEnded():
                self._end_answer(event)
            case Custom(name=name, value=value):
                self._note(name, value)
            case RunFinished():
                return (self._finish(event),)
            case RunFailed(code=Denied.code, message=message) if self._spoke_in is not None:
                self.warnings.append(message)
                return (Ended(REASONS["filtered"]),)
            case RunFailed(code=code, message=message):
                return (Failure.of_run(code, message),)
            case TextStarted() | TextEnded() | ThoughtStarted() | ThoughtEnded() | CallEnded() | RunStarted():
                self.flowing = None
            case CallReturned() | StateReplaced() | StateChanged() | StepStarted() | StepEnded():
                pass  # OpenAI has no word for these
            case MessagesReplaced():
                pass  # of durable runs alone; these are not
            case _:
                assert_never(event)
        return ()

    def _say(self, id: str, text: str) -> Iterable[Piece]:
        if self._spoke_in is not None and self._spoke_in < self._answers:
            text = APART + text
        self._spoke_in = self._answers
        self.flowing = None if self._wants_logprobs else id
        logprobs, self._logprobs = self._logprobs, None
        return (Said(text, logprobs),)

    def _begin_call(self, event: CallStarted) -> Iterable[Piece]:
        if event.name not in self._offered:
            self._run_here[event.call_id] = event.name
            return ()
        place = self._calls[event.call_id] = len(self._calls)
        return (CallBegun(place, event.call_id, event.name),)

    def _end_answer(self, event: AnswerEnded) -> None:
        self._answers += 1
        self._unknown.clear()  # the model was told, and has answered again
        self._reason = event.reason
        self.flowing = None
        if event.usage is not None:
            before, now = self.usage or Usage(0, 0), event.usage
            self.usage = Usage(
                before.input_tokens + now.input_tokens,
                before.output_tokens + now.output_tokens,
                before.cache_read_tokens + now.cache_read_tokens,
                before.cache_written_tokens + now.cache_written_tokens,
            )

    def _note(self, name: str, value: JsonValue) -> None:
        if name == "model.warning":
            self.warnings.append(str(value))
        elif name == "loop.missing":
            self.warnings.append(f"Some tools are missing from this answer. {value}")
        elif name == "guard.left_out" and isinstance(value, list):
            self.warnings.append(f"Of the earlier messages {len(value)} did not reach the model: a guard denies them.")
        elif name == "model.logprobs" and self._wants_logprobs:
            self._logprobs = value
        elif name == "loop.taken" and isinstance(value, list):
            self._offered.difference_update(map(str, value))
            listed = ", ".join(map(repr, value))
            self.warnings.append(f"Tools of these names are the agent's own, so the client's were left out: {listed}.")

    def _finish(self, event: RunFinished) -> Piece:
        if questions := [one.message for one in event.interrupts if one.call_id is None]:
            return Failure.of_run("answer_required", QUESTION.format(message=" ".join(questions)))
        if event.interrupts:
            return Failure.of_run("approval_required", ASKS)
        if event.outcome == "cancelled":
            return Failure.of_run("cancelled", "The answer was stopped before its end.")
        for name in self._unknown:
            self.warnings.append(f"The model called {name!r}, which is none of the tools; the call was left out.")
        if self._calls and self._run_here:
            listed = ", ".join(sorted(set(self._run_here.values())))
            self.warnings.append(
                f"The agent has run tools of its own as well, whose results it will not see: {listed}."
            )
        if self._calls and self._reason in ("stop", "calls"):
            return Ended("tool_calls")
        return Ended(REASONS[self._reason])
