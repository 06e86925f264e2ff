"""Resumes a run whose process died without writing events a second time that its log already has.

The run restarts from the beginning, and finished steps return their saved results. The log has all of those events, or
all but the last ones. An unfinished response continues under its ids if its model can do that
(`core.loop.continuation`). Otherwise the model generates a new response under new ids, and the partial one is ended and
retracted: two responses are never spliced together.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import msgspec

from rightseat.core import events as e
from rightseat.core.engine import PartialResponse
from rightseat.core.json_patch import apply_patch
from rightseat.core.messages import Call, Message, Result
from rightseat.core.stream.reducer import Reducer

EventKey = tuple[Literal["text", "reasoning", "call", "result"], str]
ENDS = (e.TextEnded, e.ReasoningEnded, e.ToolCallEnded)


@dataclass(slots=True)
class _Thing:
    """A text, reasoning, call or result in the log: its logged length, and the length that the run has repeated."""

    answer: int
    length: int = 0
    is_ended: bool = False
    repeated: int = 0


class Replay:
    """Feed it all events of the restarted run; it returns the events that are not in the log yet.

    The constructor adds the logged events to `reducer`. The caller adds each returned event to it before the next feed.
    """

    def __init__(self, events: Iterable[e.Event], reducer: Reducer, earlier: tuple[Message, ...]) -> None:
        self._reducer = reducer
        self._state = reducer.state
        self._earlier = earlier
        self._answers = 0
        self._was_lost = False
        self._things: dict[EventKey, _Thing] = {}
        self._others: dict[EventKey | None, deque[e.Event]] = {}  # events without an id, by the key of the event before
        self._place: EventKey | None = None
        self._reasoning: dict[str, list[str]] = {}  # reasoning of a response that has not ended
        self.is_first = True
        """The log is empty: not even `RunStarted` is in it."""
        self.last: e.RunFinished | e.RunFailed | None = None
        for event in events:
            self.is_first = False
            if isinstance(event, e.RunFinished | e.RunFailed):
                self.last = event
            self._track(event)
            reducer.add(event)
        self._unrepeated = set(self._things)  # in the log, and not repeated by the run yet
        self._place = None

    def feed(self, event: e.Event) -> Iterator[e.Event]:
        key = key_of(event)
        if key is None:
            yield from self._feed_other(event)
            return
        self._place = key
        self._unrepeated.discard(key)
        if thing := self._things.get(key):
            yield from unwritten_part(thing, event)
            return
        if self._unrepeated and self._was_lost and key[0] == "reasoning":
            return  # it was emitted before the log was lost; only the messages of that time are known
        if self._unrepeated:  # the log has a different event at this point
            yield from self._retract()
        yield event

    def _feed_other(self, event: e.Event) -> Iterator[e.Event]:
        if isinstance(event, e.StateReplaced):
            self._state = event.state
        elif isinstance(event, e.StateChanged):
            self._state = apply_patch(self._state, event.patch)
        others = self._others.get(self._place)
        if others and others[0] == event:
            others.popleft()
        else:
            yield event

    def partial_response(self) -> PartialResponse | None:
        """The logged events that the run has not repeated, if they form a response that can be continued."""
        keys = [key for key in self._things if key in self._unrepeated]
        if self._was_lost or not is_open([(kind, self._things[kind, id].is_ended) for kind, id in keys]):
            return None
        events: list[e.Event] = [*self._others.get(self._place, ())]
        for key in keys:
            events += (*self._repeat(key), *self._others.get(key, ()))
        is_complete = sum(len(event.text) for event in events if isinstance(event, e.Delta)) == sum(
            self._things[key].length for key in keys
        )
        is_alone = all(is_beside(event) for event in events if key_of(event) is None)
        return PartialResponse(tuple(events)) if is_complete and is_alone else None

    def _repeat(self, key: EventKey) -> tuple[e.Event, ...]:
        kind, id = key
        if kind == "text":
            text = next(message.text for message in self._reducer.messages() if message.id == id)
            return e.TextStarted(id), e.TextDelta(id, text)
        reasoning = "".join(self._reasoning.get(id, ()))
        events = (e.ReasoningStarted(id), e.ReasoningDelta(id, reasoning), e.ReasoningEnded(id))
        return events if self._things[key].is_ended else events[:2]

    def _retract(self) -> Iterator[e.Event]:
        yield from tuple(self._reducer.endings())
        remaining = (remove_unrepeated(message, self._unrepeated) for message in self._reducer.messages())
        yield e.MessagesReplaced(self._earlier, tuple(message for message in remaining if message is not None))
        if self._reducer.state != self._state:
            yield e.StateReplaced(self._state)
        for key in self._unrepeated:
            del self._things[key]
        self._unrepeated.clear()
        self._others.clear()

    def _track(self, event: e.Event) -> None:
        key = key_of(event)
        if isinstance(event, e.MessagesReplaced):
            self._replace(event.messages)
        elif key is not None:
            self._place = key
            thing = self._things.setdefault(key, _Thing(self._answers))
            thing.length += len(event.text) if isinstance(event, e.Delta) else 0
            thing.is_ended = isinstance(event, ENDS)
            if isinstance(event, e.ReasoningDelta):
                self._reasoning.setdefault(event.message_id, []).append(event.text)
        elif not isinstance(event, e.RunStarted | e.SpanStarted | e.SpanEnded):  # the run does not repeat these
            self._others.setdefault(self._place, deque()).append(event)
            if isinstance(event, e.ModelResponseEnded):
                self._answers += 1
                self._reasoning.clear()

    def _replace(self, messages: tuple[Message, ...]) -> None:
        """Keep only the parts of these messages, and the reasoning before them. A recreated log begins with them."""
        known, alive = self._things, {key for message in messages for key in keys_in(message)}
        answers = {thing.answer for key, thing in known.items() if key in alive and key[0] != "result"}
        self._answers += 1
        self._things = {
            key: thing
            for key, thing in known.items()
            if key in alive or (key[0] == "reasoning" and thing.answer in answers)
        }
        for message in messages:
            for key, length in lengths_in(message):
                self._was_lost |= key not in self._things
                self._things.setdefault(key, _Thing(self._answers, length, is_ended=True))


def key_of(event: e.Event) -> EventKey | None:
    """The kind and id of the text, reasoning, call or result that the event belongs to, or None."""
    match event:
        case e.TextStarted(message_id=id) | e.TextDelta(message_id=id) | e.TextEnded(message_id=id):
            return "text", id
        case e.ReasoningStarted(message_id=id) | e.ReasoningDelta(message_id=id) | e.ReasoningEnded(message_id=id):
            return "reasoning", id
        case e.ToolCallStarted(call_id=id) | e.ToolCallDelta(call_id=id) | e.ToolCallEnded(call_id=id):
            return "call", id
        case e.ToolCallReturned(call_id=id):
            return "result", id
        case (
            e.RunStarted() | e.ModelResponseEnded() | e.StepStarted() | e.StepEnded() | e.RunFinished() | e.RunFailed()
        ):
            return None
        case e.StateReplaced() | e.StateChanged() | e.Custom() | e.MessagesReplaced() | e.SpanStarted() | e.SpanEnded():
            return None
        case _:
            assert_never(event)


def is_open(things: list[tuple[str, bool]]) -> bool:
    """Whether a response with these parts (kind, ended) is unfinished. After a call, this cannot be determined."""
    match things:
        case [("reasoning", _)] | [("text", False)] | [("reasoning", True), ("text", False)]:
            return True
    return False


def is_beside(event: e.Event) -> bool:
    """Whether the event is a model's note within a response. `model.kept` is not: it comes at the response's end."""
    return isinstance(event, e.Custom) and event.name.startswith("model.") and event.name != "model.kept"


def unwritten_part(thing: _Thing, event: e.Event) -> Iterator[e.Event]:
    """Return the part of the event that is not in the log."""
    if isinstance(event, e.Delta):
        known = thing.length - thing.repeated
        thing.repeated += len(event.text)
        if thing.repeated > thing.length:
            thing.length = thing.repeated
            yield msgspec.structs.replace(event, text=event.text[max(known, 0) :])
    elif isinstance(event, ENDS) and not thing.is_ended:
        thing.is_ended = True
        yield event


def remove_unrepeated(message: Message, unrepeated: set[EventKey]) -> Message | None:
    """Remove the parts that the run has not repeated from a message; None if nothing is left.

    Two processes may have continued one response under the same text id, each with its own calls. The text of the
    message is then kept, and only the calls are removed.
    """
    if not unrepeated.intersection(keys_in(message)):
        return message
    if message.role != "assistant" or ("text", message.id) in unrepeated or not message.text:
        return None
    parts = (part for part in message.parts if not (isinstance(part, Call) and ("call", part.id) in unrepeated))
    return msgspec.structs.replace(message, parts=tuple(parts))


def lengths_in(message: Message) -> Iterator[tuple[EventKey, int]]:
    if message.role == "assistant" and message.text:
        yield ("text", message.id), len(message.text)
    for part in message.parts:
        if isinstance(part, Call):
            yield ("call", part.id), len(part.arguments)
        elif isinstance(part, Result):
            yield ("result", part.call_id), 0


def keys_in(message: Message) -> set[EventKey]:
    found = {key for key, _ in lengths_in(message)}
    return found | {("text", message.id)} if message.role == "assistant" else found
