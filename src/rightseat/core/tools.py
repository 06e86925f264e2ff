"""Tools that a model may call, and the toolbox protocols that provide them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from rightseat.core.ask import Answer, Ask, ToolOffer
from rightseat.core.engine import Steps
from rightseat.core.events import ApprovalText, Event


def _nowhere(event: Event) -> None:
    """Discards the events of a tool that is called outside of a run."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One tool call, as the tool receives it.

    `key` stays the same if this call is repeated, for example after a crash: send it as `Idempotency-Key`, so that the
    effect happens once.
    """

    call_id: str
    arguments: Mapping[str, JsonValue]
    ask: Ask
    key: str
    approval: JsonValue = None
    """The person's answer, if the tool needs an approval."""
    emit: Callable[[Event], None] = _nowhere
    """Adds an event to the run before the tool's result, for example a new state."""
    answers: tuple[Answer, ...] = ()
    """The answers to the questions that a tool with a `stream` asked in its previous call."""


RunTool = Callable[[Invocation], Awaitable[str]]

StreamTool = Callable[[Invocation, Steps], AsyncIterator[Event]]
"""A streaming tool, such as a flow or another agent.

Its events are emitted as they come. It returns its result with `ToolCallReturned`, usually at its end. It may end with
`RunFinished("waiting")` and interrupts, and is called again with the answers; or, after its result, with
`RunFinished("done")`: then the model is not called again. Work that must not be repeated is done through the steps,
under names that begin with the id of the call.
"""


@dataclass(frozen=True, slots=True)
class Approval:
    """The question to a person before a tool runs. `expires_after` is in seconds.

    In `message`, `{name}` stands for an argument of the call. `title` says what the tool does, and `translations` has
    both in other languages, by language tag.
    """

    message: str
    schema: JsonValue = None
    expires_after: float | None = None
    title: str = ""
    translations: Mapping[str, ApprovalText] = field(default_factory=dict)

    def expires_at(self) -> str | None:
        """The expiry time, counted from now, in UTC."""
        if self.expires_after is None:
            return None
        end = datetime.now(UTC) + timedelta(seconds=self.expires_after)
        return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Effect = Literal["read", "unknown", "write", "idempotent_write"]
"""The effect of a call outside of the conversation.

read              no effect: the call may be repeated at any time
unknown           not declared: the policy `writes` requires no approval for it, and the call is not repeated
write             an effect, which happens twice if the call is repeated
idempotent_write  an effect, which happens once for all calls with the same `Invocation.key`
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call.

    A tool without `run` and `stream` runs on the client: the run ends as `waiting`, and the client sends the result in
    its next ask.
    """

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    run: RunTool | None = None
    stream: StreamTool | None = None
    """Instead of `run`, for a tool that emits more events than its result, or asks a person before it ends."""
    approval: Approval | Literal["exempt"] | None = None
    """The approval before it runs. None leaves it to the agent's policy (`core.loop.toolset`). A tool is exempt if it
    asks a person itself, or only reads or shows content that is already in the conversation."""
    effect: Effect = "read"
    strict: bool | None = None
    """Whether the model provider must enforce the schema of the arguments; None leaves it to the provider."""
    checks_arguments: bool = False
    """Whether `check` or `run` checks the arguments itself. Otherwise a call whose arguments do not match `parameters`
    is not run, and the model receives the reason."""
    check: Callable[[Mapping[str, JsonValue]], object] | None = None
    """Raises a `RightseatError` if the tool could not use the arguments. The model receives the error; neither the
    server nor the client runs the call, and no person is asked for an approval."""
    ends_turn: bool = False
    """Whether a message with text that calls only such tools is complete: the model is not called with the results."""

    @property
    def runs_on_server(self) -> bool:
        """Whether it runs on the server and not on the client."""
        return self.run is not None or self.stream is not None

    @property
    def writes(self) -> bool:
        return self.effect in ("write", "idempotent_write")

    @property
    def is_repeatable(self) -> bool:
        """Whether an interrupted call may be repeated with the same key. Otherwise a person decides what to do."""
        return self.effect in ("read", "idempotent_write")

    @classmethod
    def offered(cls, offer: ToolOffer) -> "Tool":
        return cls(offer.name, offer.description, offer.parameters, strict=offer.strict)


class Toolbox(Protocol):
    """Provides tools::

        class ClockToolbox:
            async def tools(self, ask: Ask) -> Sequence[Tool]:
                return [Tool("tell_time", "Return the time in UTC.", {"type": "object"}, self._tell_time)]

            async def _tell_time(self, invocation: Invocation) -> str:
                return datetime.now(UTC).isoformat()

    A toolbox with connections is an async context manager: the application opens it before the first run.
    """

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        """The tools for this ask, called once per run: they may depend on the user and on the ask's parameters.

        After an `AgentError` the run goes on without them, and the user receives its message; other errors end the run.
        """
        ...


@runtime_checkable
class HasStaticTools(Toolbox, Protocol):
    """A toolbox whose tools do not depend on the ask. `label` is its name in messages."""

    label: str

    @property
    def names(self) -> Collection[str]: ...


@runtime_checkable
class EmitsEvents(Toolbox, Protocol):
    """A toolbox with events for the client, which are emitted once its tools are known."""

    def initial_events(self, ask: Ask) -> Sequence[Event]: ...


@runtime_checkable
class HasInstructions(Toolbox, Protocol):
    """A toolbox with instructions for the model, which are added once its tools are known."""

    def instructions(self, ask: Ask) -> Sequence[str]: ...


@runtime_checkable
class InterceptsAsk(Toolbox, Protocol):
    """A toolbox that handles some asks in place of the model, such as those from a page that a tool has shown."""

    def intercept(self, ask: Ask) -> AsyncIterator[Event] | None:
        """Return the response, which may end with `RunFinished("done", result=…)`; None if the ask is for the model.

        Raises `RightseatError` if the ask is for a toolbox, but not for this one.
        """
        ...
