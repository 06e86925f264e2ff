"""What a model may call."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from rightseat.core.ask import Answer, Ask, ToolOffer
from rightseat.core.engine import Steps
from rightseat.core.events import Event


def _nowhere(event: Event) -> None:
    """For a tool that is run outside of a run."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of a tool, as the tool sees it.

    `key` is the same whenever this very call is made again (after a crash, say): pass it on as `Idempotency-Key`,
    so that the effect happens once.
    """

    call_id: str
    arguments: Mapping[str, JsonValue]
    ask: Ask
    key: str
    approval: JsonValue = None
    """What the person answered, where the tool needs an approval."""
    emit: Callable[[Event], None] = _nowhere
    """Adds an event to the run, before the tool's result: a new state, say."""
    answers: tuple[Answer, ...] = ()
    """What people answered to the questions that a tool with a `stream` asked when it was called before."""


Run = Callable[[Invocation], Awaitable[str]]

Stream = Callable[[Invocation, Steps], AsyncIterator[Event]]
"""A tool that is a run of its own: a flow, another agent.

What it says is said as it comes. It gives its result with `CallReturned`, as a rule at its end. It may end with
`RunFinished("waiting")`, the questions that it has to people, and is called again with their answers; or, after its
result, with `RunFinished("done")`: the model is not asked again. What must not be done twice it does through the steps,
under names that begin with the id of the call.
"""


@dataclass(frozen=True, slots=True)
class Approval:
    """What a person is asked before a tool runs. `expires_after` is in seconds."""

    message: str
    schema: JsonValue = None
    expires_after: float | None = None

    def expires_at(self) -> str | None:
        """The time from now, in UTC."""
        if self.expires_after is None:
            return None
        end = datetime.now(UTC) + timedelta(seconds=self.expires_after)
        return end.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Effect = Literal["read", "unknown", "write", "idempotent_write"]
"""What a call changes outside of the conversation.

read              nothing: it may be made again at any time
unknown           nothing is declared: no policy `write` asks for it, and it is not made again
write             something, and twice if it is made twice
idempotent_write  something, and once however often it is made with the same `Invocation.key`
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call.

    A tool without `run` and `stream` is run by the client: the run ends as `waiting`, and the client comes back with
    the result in its next ask.
    """

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    run: Run | None = None
    stream: Stream | None = None
    """In place of `run`, for a tool that says more than its result, or asks people in the middle."""
    approval: Approval | Literal["exempt"] | None = None
    """What a person is asked before it runs. None leaves it to the agent's policy (`core.approving`). A tool is exempt
    if it asks people itself, or only looks at or shows what the conversation has already."""
    effect: Effect = "read"
    strict: bool | None = None
    """Whether the model's server must hold the arguments to the schema; None leaves it to that server."""
    checks_arguments: bool = False
    """Whether `run` checks the arguments itself. Else a call whose arguments do not fit `parameters` is not run, and
    the model is told why."""
    check: Callable[[Mapping[str, JsonValue]], object] | None = None
    """For a tool that the client runs: raises a `RightseatError` where the client could not use the arguments. The
    model is told, and the client never sees the call."""
    ends_turn: bool = False
    """Whether a message with text that calls nothing else is complete: the model is not called again for its result."""

    @property
    def is_ours(self) -> bool:
        """Is it run here, and not by the client?"""
        return self.run is not None or self.stream is not None

    @property
    def writes(self) -> bool:
        return self.effect in ("write", "idempotent_write")

    @property
    def is_repeatable(self) -> bool:
        """May a call that was cut off be made again, with the same key? Else a person is asked what became of it."""
        return self.effect in ("read", "idempotent_write")

    @classmethod
    def offered(cls, offer: ToolOffer) -> "Tool":
        return cls(offer.name, offer.description, offer.parameters, strict=offer.strict)


class Toolbox(Protocol):
    """Where tools come from. Asked once a run, so the answer may differ from one ask to the next."""

    async def tools(self, ask: Ask) -> Sequence[Tool]: ...


@runtime_checkable
class Fixed(Toolbox, Protocol):
    """A toolbox whose tools are known before anybody asks. `label` is what people call it."""

    label: str

    @property
    def names(self) -> Collection[str]: ...


@runtime_checkable
class Remarking(Toolbox, Protocol):
    """A toolbox with something to say of its tools to the client, once they are known."""

    def remarks(self, ask: Ask) -> Sequence[Event]: ...


@runtime_checkable
class Instructing(Toolbox, Protocol):
    """A toolbox with something to say of its tools to the model, once they are known."""

    def instructions(self, ask: Ask) -> Sequence[str]: ...


@runtime_checkable
class Taking(Toolbox, Protocol):
    """A toolbox that some asks are for, and not for the model: those of a page that a tool has shown, say."""

    def take(self, ask: Ask) -> AsyncIterator[Event] | None:
        """The answer, which may end with `RunFinished("done", result=…)`; None if the ask is for the model.

        Raises `RightseatError` where the ask is for a toolbox, and not for this one.
        """
        ...
