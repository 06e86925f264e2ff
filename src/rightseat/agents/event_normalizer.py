"""Normalizes the events of external agents, so that they follow the rules of `core.events`.

An external agent may start a text twice, or end a text that it never started. Clients rely on the rules, and the log
stores events permanently, so ambiguous sequences are corrected here and invalid ones are rejected.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from rightseat.core import events as e
from rightseat.core.errors import AgentError

logger = logging.getLogger(__name__)

Started = e.TextStarted | e.ReasoningStarted | e.ToolCallStarted
Ended = e.TextEnded | e.ReasoningEnded | e.ToolCallEnded
KINDS = {
    e.TextStarted: "text", e.TextDelta: "text", e.TextEnded: "text",
    e.ReasoningStarted: "reasoning", e.ReasoningDelta: "reasoning", e.ReasoningEnded: "reasoning",
    e.ToolCallStarted: "call", e.ToolCallDelta: "call", e.ToolCallEnded: "call",
}  # fmt: skip
ENDS: dict[str, type[e.TextEnded | e.ReasoningEnded | e.ToolCallEnded]] = {
    "text": e.TextEnded,
    "reasoning": e.ReasoningEnded,
    "call": e.ToolCallEnded,
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

    def normalize(self, event: e.Event) -> Iterator[e.Event]:
        if isinstance(event, e.Delta):
            yield replace_id(event, self._find_id(event))
        elif isinstance(event, Started):
            yield from self._start(event)
        elif isinstance(event, Ended):
            if (name := self._open.pop(key_of(event), None)) is not None:
                yield replace_id(event, name)
        elif isinstance(event, e.ToolCallReturned):
            yield from self._return(event)
        elif isinstance(event, e.StepStarted):
            self._steps.append(event.name)
            yield event
        elif isinstance(event, e.StepEnded):
            if event.name in self._steps:
                self._steps.remove(event.name)
                yield event
        else:
            yield event

    def close(self) -> Iterator[e.Event]:
        """End all open items, because further events come from another source."""
        for (kind, _), name in self._open.items():
            yield ENDS[kind](name, complete=False)
        for step in reversed(self._steps):
            yield e.StepEnded(step)
        self._open.clear()
        self._steps.clear()

    def _find_id(self, event: e.Delta) -> str:
        name = self._open.get(key_of(event))
        if name is None:
            kind, id = key_of(event)
            raise InvalidAgentEvent(f"The agent sent a delta of the {kind} {id!r} before its start event.")
        return name

    def _start(self, event: Started) -> Iterator[e.Event]:
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

    def _return(self, event: e.ToolCallReturned) -> Iterator[e.Event]:
        """One result per call, after the end of the call. The call may belong to an earlier run that waited."""
        if event.call_id in self._returned:
            return
        self._returned.add(event.call_id)
        self._used.add(("call", event.call_id))  # a later start with this id is another call
        if (name := self._open.pop(("call", event.call_id), None)) is not None:
            yield e.ToolCallEnded(name)
        yield event


def key_of(event: Started | e.Delta | Ended) -> StreamKey:
    id = event.call_id if isinstance(event, e.ToolCallStarted | e.ToolCallDelta | e.ToolCallEnded) else event.message_id
    return KINDS[type(event)], id


def replace_id(event: Started | e.Delta | Ended, name: str) -> e.Event:
    field = "call_id" if isinstance(event, e.ToolCallStarted | e.ToolCallDelta | e.ToolCallEnded) else "message_id"
    if getattr(event, field) == name:
        return event
    return msgspec.structs.replace(event, **{field: name})
