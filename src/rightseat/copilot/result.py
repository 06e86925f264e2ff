"""What an agent has answered in a program without a client: the text, the calls, the cost, and how to go on."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, Literal, Protocol, TypeVar, assert_never

import msgspec
from pydantic import JsonValue

from rightseat.core import events as e
from rightseat.core.ask import Answer
from rightseat.core.errors import RightseatError
from rightseat.core.messages import Call, Message
from rightseat.core.stream.reducer import Reducer
from rightseat.core.usage import ModelUsage, add_usage
from rightseat.limits.prices import Prices

T_co = TypeVar("T_co", covariant=True)
NO_USAGE = e.Usage(0, 0)
COST_DIGITS = 12
"""Decimal places of a cost, which is computed in binary fractions."""


class AskFailed(RightseatError):
    """A run has failed. `code` is that of the error, one of `rightseat.errors`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class AskCancelled(RightseatError):
    """A run was cancelled before it had an answer."""

    code = "cancelled"
    status = 409


class WrongStatus(RightseatError):
    """A result without questions cannot be approved."""

    code = "not_waiting"
    status = 409


@dataclass(frozen=True, slots=True)
class ToolCallSummary:
    """One call of a tool. `result` is None if the call waits for a person; `error` is the code of a failure."""

    name: str
    arguments: Mapping[str, JsonValue]
    result: str | None = None
    error: str | None = None


class Resume(Protocol):
    """Goes on with a run that waits for a person."""

    def __call__(self, answers: tuple[Answer, ...]) -> Awaitable[Any]: ...


@dataclass(frozen=True)
class AskResult(Generic[T_co]):
    """The answer of an agent. `rightseat.Result` is this class.

    `status` is `waiting` if people have to answer `questions`; `approve`, `reject` and `answer` go on. `output` is the
    text, or an object of the type that was asked for. `cost` is None if a model has no price.
    """

    text: str
    status: Literal["done", "waiting"]
    output: T_co
    tool_calls: Sequence[ToolCallSummary]
    questions: Sequence[e.Interrupt]
    usage: e.Usage
    cost: Decimal | None
    messages: Sequence[Message]
    thread_id: str
    run_id: str
    resume: Resume

    async def approve(self) -> "AskResult[T_co]":
        """Allow every call that waits, and go on."""
        return await self._go_on("resolved", {"approved": True})

    async def reject(self, reason: str = "") -> "AskResult[T_co]":
        """Deny every call that waits, and go on. The model receives that the user denied it."""
        return await self._go_on("resolved", {"approved": False, "reason": reason})

    async def answer(self, value: JsonValue) -> "AskResult[T_co]":
        """Answer every question with this value, and go on."""
        return await self._go_on("resolved", value)

    async def _go_on(self, status: Literal["resolved", "cancelled"], payload: JsonValue) -> "AskResult[T_co]":
        if not self.questions:
            raise WrongStatus("This result has no questions: its `status` is 'done'.")
        found: AskResult[T_co] = await self.resume(tuple(Answer(one.id, status, payload) for one in self.questions))
        return found


class RunSummary:
    """Reads the events of a run. `earlier` are the messages of the thread, whose calls it may go on with."""

    def __init__(self, earlier: Sequence[Message] = ()) -> None:
        self._earlier = earlier
        self._reducer = Reducer()
        self._returned: dict[str, e.ToolCallReturned] = {}
        self._spans: dict[str, e.SpanStarted] = {}
        self._models: list[ModelUsage] = []
        self.last: e.RunFinished | e.RunFailed | None = None

    def add(self, event: e.Event) -> None:
        self._reducer.add(event)
        match event:
            case e.ToolCallReturned(call_id=id):
                self._returned[id] = event
            case e.SpanStarted(span=id, kind="model"):
                self._spans[id] = event
            case e.SpanEnded(span=id, usage=usage) if (span := self._spans.pop(id, None)) is not None:
                model = (span.about or {}).get("model")
                self._models.append(ModelUsage(span.name, 1, usage, None if model is None else str(model)))
            case e.RunFinished() | e.RunFailed():
                self.last = event
            case e.RunStarted() | e.ModelResponseEnded() | e.SpanStarted() | e.SpanEnded() | e.Custom():
                pass  # the reducer has what it needs
            case e.TextStarted() | e.TextDelta() | e.TextEnded() | e.MessagesReplaced():
                pass
            case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded() | e.StepStarted() | e.StepEnded():
                pass
            case e.ToolCallStarted() | e.ToolCallDelta() | e.ToolCallEnded() | e.StateReplaced() | e.StateChanged():
                pass
            case _:
                assert_never(event)

    @property
    def messages(self) -> tuple[Message, ...]:
        return self._reducer.messages()

    @property
    def text(self) -> str:
        """The last text of the agent."""
        return next((one.text for one in reversed(self.messages) if one.role == "assistant" and one.text), "")

    @property
    def tool_calls(self) -> list[ToolCallSummary]:
        """Those that a person has answered since the run before, then those of this run."""
        answered = [call for call in find_calls(self._earlier) if call.id in self._returned]
        return [self._describe(call) for call in (*answered, *find_calls(self.messages))]

    def _describe(self, call: Call) -> ToolCallSummary:
        returned = self._returned.get(call.id)
        result, error = (None, None) if returned is None else (returned.content, returned.error)
        return ToolCallSummary(call.name, read_arguments(call.arguments), result, error)

    @property
    def usage(self) -> e.Usage:
        known = [one.usage for one in self._models if one.usage is not None]
        return add_usage(*known) if known else NO_USAGE

    def cost(self, prices: Prices) -> Decimal | None:
        cost = prices.cost(self._models)
        return None if cost is None else Decimal(repr(round(cost, COST_DIGITS)))


def find_calls(messages: Sequence[Message]) -> list[Call]:
    return [part for message in messages for part in message.parts if isinstance(part, Call)]


def read_arguments(text: str) -> dict[str, JsonValue]:
    """Empty if a model wrote something else than a JSON object."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError):
        return {}
