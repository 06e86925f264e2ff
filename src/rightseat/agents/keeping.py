"""Holds what an agent that is not ours says to the rules of `core.events`.

Such an agent may begin a text twice, or end what it never began. Clients take the rules for granted, and the log keeps
what was said for ever; so what can be understood is put in order here, and what cannot is refused.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from rightseat.core.errors import AgentError
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)

logger = logging.getLogger(__name__)

Started = TextStarted | ThoughtStarted | CallStarted
Delta = TextDelta | ThoughtDelta | CallDelta
Ended = TextEnded | ThoughtEnded | CallEnded
KINDS = {
    TextStarted: "text", TextDelta: "text", TextEnded: "text",
    ThoughtStarted: "thought", ThoughtDelta: "thought", ThoughtEnded: "thought",
    CallStarted: "call", CallDelta: "call", CallEnded: "call",
}  # fmt: skip
ENDS: dict[str, type[TextEnded | ThoughtEnded | CallEnded]] = {
    "text": TextEnded,
    "thought": ThoughtEnded,
    "call": CallEnded,
}
Key = tuple[str, str]


class Confused(AgentError):
    """An agent said what makes no sense where it said it."""

    code = "bad_agent_event"


@contextmanager
def decoding() -> Iterator[None]:
    """Around the reading of what an agent sends. Values of other types than its protocol has are the agent's fault:
    readers take events apart without checking the type of each field."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        logger.warning("an event of the agent has values of the wrong type", exc_info=error)
        raise Confused("An event of the agent has values of the wrong type. The server's log says where.") from error


class Keeper:
    """Feed it the events of one run, take events that keep the rules."""

    def __init__(self) -> None:
        self._open: dict[Key, str] = {}  # what is open, and the id under which it is said
        self._used: set[Key] = set()
        self._returned: set[str] = set()
        self._steps: list[str] = []

    def keep(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Delta):
            yield renamed(event, self._name(event))
        elif isinstance(event, Started):
            yield from self._start(event)
        elif isinstance(event, Ended):
            if (name := self._open.pop(key_of(event), None)) is not None:
                yield renamed(event, name)
        elif isinstance(event, CallReturned):
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

    def endings(self) -> Iterator[Event]:
        """Of what is open, where more follows from elsewhere."""
        for (kind, _), name in self._open.items():
            yield ENDS[kind](name, whole=False)
        for step in reversed(self._steps):
            yield StepEnded(step)
        self._open.clear()
        self._steps.clear()

    def _name(self, event: Delta) -> str:
        name = self._open.get(key_of(event))
        if name is None:
            kind, id = key_of(event)
            raise Confused(f"The agent went on with the {kind} {id!r}, which it had not begun.")
        return name

    def _start(self, event: Started) -> Iterator[Event]:
        """One that begins again after its end is another: it gets a name of its own."""
        kind, id = key_of(event)
        if (kind, id) in self._open:
            return
        name, number = id, 2
        while (kind, name) in self._used:
            name, number = f"{id}-{number}", number + 1
        self._used.add((kind, name))
        self._open[kind, id] = name
        yield renamed(event, name)

    def _return(self, event: CallReturned) -> Iterator[Event]:
        """Once for each call, and after its end. It may be one of an earlier run that waited."""
        if event.call_id in self._returned:
            return
        self._returned.add(event.call_id)
        self._used.add(("call", event.call_id))  # one that begins later under the same id is another call
        if (name := self._open.pop(("call", event.call_id), None)) is not None:
            yield CallEnded(name)
        yield event


def key_of(event: Started | Delta | Ended) -> Key:
    id = event.call_id if isinstance(event, CallStarted | CallDelta | CallEnded) else event.message_id
    return KINDS[type(event)], id


def renamed(event: Started | Delta | Ended, name: str) -> Event:
    field = "call_id" if isinstance(event, CallStarted | CallDelta | CallEnded) else "message_id"
    if getattr(event, field) == name:
        return event
    return msgspec.structs.replace(event, **{field: name})
