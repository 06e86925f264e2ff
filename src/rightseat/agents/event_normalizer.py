"""Normalizes the events of external agents, so that they follow the rules of `core.events`.

An external agent may start a text twice, or end a text that it never started. Clients rely on the rules, and the log
stores events permanently, so ambiguous sequences are corrected here and invalid ones are rejected.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from rightseat.core.errors import AgentError
from rightseat.core.events import (
    Delta,
    Event,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)

logger = logging.getLogger(__name__)

Started = TextStarted | ReasoningStarted | ToolCallStarted
Ended = TextEnded | ReasoningEnded | ToolCallEnded
KINDS = {
    TextStarted: "text", TextDelta: "text", TextEnded: "text",
    ReasoningStarted: "reasoning", ReasoningDelta: "reasoning", ReasoningEnded: "reasoning",
    ToolCallStarted: "call", ToolCallDelta: "call", ToolCallEnded: "call",
}  # fmt: skip
ENDS: dict[str, type[TextEnded | ReasoningEnded | ToolCallEnded]] = {
    "text": TextEnded,
    "reasoning": ReasoningEnded,
    "call": ToolCallEnded,
}
StreamKey = tuple[str, str]


class InvalidAgentEvent(AgentError):
    """An event of an agent is invalid, or invalid at its position."""

    code = "invalid_agent_event"


@contextmanager
def decoding() -> Iterator[None]:
    """Raises `InvalidAgentEvent` for values of the wrong type. Decoders do not check the type of each field, so such
    values raise other exceptions in them."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        logger.warning("the agent sent an event with values of the wrong type", exc_info=error)
        raise InvalidAgentEvent(
            "The agent sent an event with values of the wrong type. The server's log has the details."
        ) from error


class EventNormalizer:
    """Takes the events of one run, and returns events that follow the rules."""

    def __init__(self) -> None:
        self._open: dict[StreamKey, str] = {}  # open items, and the ids that clients receive for them
        self._used: set[StreamKey] = set()
        self._returned: set[str] = set()
        self._steps: list[str] = []

    def normalize(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Delta):
            yield replace_id(event, self._find_id(event))
        elif isinstance(event, Started):
            yield from self._start(event)
        elif isinstance(event, Ended):
            if (name := self._open.pop(key_of(event), None)) is not None:
                yield replace_id(event, name)
        elif isinstance(event, ToolCallReturned):
            yield from self._return(event)
        elif isinstance(event, StepStarted):
            self._steps.append(event.name)
            yield event
        elif isinstance(event, StepEnded):
            if event.name in self._steps:
                self._steps.remove(event.name)
                yield event
        else:
            yield event

    def close(self) -> Iterator[Event]:
        """End all open items, because further events come from another source."""
        for (kind, _), name in self._open.items():
            yield ENDS[kind](name, complete=False)
        for step in reversed(self._steps):
            yield StepEnded(step)
        self._open.clear()
        self._steps.clear()

    def _find_id(self, event: Delta) -> str:
        name = self._open.get(key_of(event))
        if name is None:
            kind, id = key_of(event)
            raise InvalidAgentEvent(f"The agent sent a delta of the {kind} {id!r} before its start event.")
        return name

    def _start(self, event: Started) -> Iterator[Event]:
        """An item that starts again after its end gets a new id."""
        kind, id = key_of(event)
        if (kind, id) in self._open:
            return
        name, number = id, 2
        while (kind, name) in self._used:
            name, number = f"{id}-{number}", number + 1
        self._used.add((kind, name))
        self._open[kind, id] = name
        yield replace_id(event, name)

    def _return(self, event: ToolCallReturned) -> Iterator[Event]:
        """One result per call, after the end of the call. The call may belong to an earlier run that waited."""
        if event.call_id in self._returned:
            return
        self._returned.add(event.call_id)
        self._used.add(("call", event.call_id))  # a later start with this id is another call
        if (name := self._open.pop(("call", event.call_id), None)) is not None:
            yield ToolCallEnded(name)
        yield event


def key_of(event: Started | Delta | Ended) -> StreamKey:
    id = event.call_id if isinstance(event, ToolCallStarted | ToolCallDelta | ToolCallEnded) else event.message_id
    return KINDS[type(event)], id


def replace_id(event: Started | Delta | Ended, name: str) -> Event:
    field = "call_id" if isinstance(event, ToolCallStarted | ToolCallDelta | ToolCallEnded) else "message_id"
    if getattr(event, field) == name:
        return event
    return msgspec.structs.replace(event, **{field: name})
