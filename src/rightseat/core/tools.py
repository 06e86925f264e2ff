"""What a model may call."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from rightseat.core.ask import Ask, ToolOffer


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


Run = Callable[[Invocation], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call.

    A tool without `run` is run by the client: the run ends as `waiting`, and the client comes back with the result
    in its next ask.
    """

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    run: Run | None = None

    @classmethod
    def offered(cls, offer: ToolOffer) -> "Tool":
        return cls(offer.name, offer.description, offer.parameters)


class Toolbox(Protocol):
    """Where tools come from. Asked once a run, so the answer may differ from one ask to the next."""

    async def tools(self, ask: Ask) -> Sequence[Tool]: ...
