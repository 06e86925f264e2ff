"""A run that goes on after its process died: what its log has already is not said again.

The run begins anew, and steps that had finished give what they gave before. Of that the log has all, or not yet the
end. An answer that had not finished goes on under its ids if its model can do that (`core.continuing`). Else it is
given anew, under new ids, and what the log has of the old one is ended and taken back: two answers are not spliced.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import msgspec

from rightseat.core.engine import PartialAnswer
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
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.folding import Fold
from rightseat.core.messages import Call, Message, Result
from rightseat.core.patching import patched

Key = tuple[Literal["text", "thought", "call", "result"], str]
Delta = TextDelta | ThoughtDelta | CallDelta
ENDS = (TextEnded, ThoughtEnded, CallEnded)


@dataclass(slots=True)
class _Thing:
    """A text, a thought, a call or a result that the log has: how much of it, and how much was said again by now."""

    answer: int
    length: int = 0
    is_ended: bool = False
    repeated: int = 0


class Resumption:
    """Feed it all that the run says, from its beginning on; take what of it is still to be written.

    `fold` gets what the log has. What is taken has to be added to it, too, before more is fed.
    """

    def __init__(self, said: Iterable[Event], fold: Fold, earlier: tuple[Message, ...]) -> None:
        self._fold = fold
        self._state = fold.state
        self._earlier = earlier
        self._answers = 0
        self._was_lost = False
        self._things: dict[Key, _Thing] = {}
        self._others: dict[Key | None, deque[Event]] = {}  # events without an id, by the thing that they come after
        self._place: Key | None = None
        self._thoughts: dict[str, list[str]] = {}  # of an answer that has not ended
        self.is_first = True
        """The log has nothing yet, not even the run's beginning."""
        self.last: RunFinished | RunFailed | None = None
        for event in said:
            self.is_first = False
            if isinstance(event, RunFinished | RunFailed):
                self.last = event
            self._note(event)
            fold.add(event)
        self._unsaid = set(self._things)  # what the log has and the run has not said again
        self._place = None

    def feed(self, event: Event) -> Iterator[Event]:
        key = key_of(event)
        if key is None:
            yield from self._feed_other(event)
            return
        self._place = key
        self._unsaid.discard(key)
        if thing := self._things.get(key):
            yield from rest(thing, event)
            return
        if self._unsaid and self._was_lost and key[0] == "thought":
            return  # it was said before the log was lost, of which only messages are known
        if self._unsaid:  # the log has something else in this place
            yield from self._take_back()
        yield event

    def _feed_other(self, event: Event) -> Iterator[Event]:
        if isinstance(event, StateReplaced):
            self._state = event.state
        elif isinstance(event, StateChanged):
            self._state = patched(self._state, event.patch)
        others = self._others.get(self._place)
        if others and others[0] == event:
            others.popleft()
        else:
            yield event

    def partial_answer(self) -> PartialAnswer | None:
        """What the log has and the run has not said again, if it is an answer that can go on."""
        keys = [key for key in self._things if key in self._unsaid]
        if self._was_lost or not is_open([(kind, self._things[kind, id].is_ended) for kind, id in keys]):
            return None
        events: list[Event] = [*self._others.get(self._place, ())]
        for key in keys:
            events += (*self._again(key), *self._others.get(key, ()))
        is_whole = sum(len(event.text) for event in events if isinstance(event, Delta)) == sum(
            self._things[key].length for key in keys
        )
        is_alone = all(is_beside(event) for event in events if key_of(event) is None)
        return PartialAnswer(tuple(events)) if is_whole and is_alone else None

    def _again(self, key: Key) -> tuple[Event, ...]:
        kind, id = key
        if kind == "text":
            text = next(message.text for message in self._fold.messages() if message.id == id)
            return TextStarted(id), TextDelta(id, text)
        thought = "".join(self._thoughts.get(id, ()))
        said = (ThoughtStarted(id), ThoughtDelta(id, thought), ThoughtEnded(id))
        return said if self._things[key].is_ended else said[:2]

    def _take_back(self) -> Iterator[Event]:
        yield from tuple(self._fold.endings())
        kept = (said_again(message, self._unsaid) for message in self._fold.messages())
        yield MessagesReplaced(self._earlier, tuple(message for message in kept if message is not None))
        if self._fold.state != self._state:
            yield StateReplaced(self._state)
        for key in self._unsaid:
            del self._things[key]
        self._unsaid.clear()
        self._others.clear()

    def _note(self, event: Event) -> None:
        key = key_of(event)
        if isinstance(event, MessagesReplaced):
            self._replace(event.messages)
        elif key is not None:
            self._place = key
            thing = self._things.setdefault(key, _Thing(self._answers))
            thing.length += len(event.text) if isinstance(event, Delta) else 0
            thing.is_ended = isinstance(event, ENDS)
            if isinstance(event, ThoughtDelta):
                self._thoughts.setdefault(event.message_id, []).append(event.text)
        elif not isinstance(event, RunStarted):
            self._others.setdefault(self._place, deque()).append(event)
            if isinstance(event, AnswerEnded):
                self._answers += 1
                self._thoughts.clear()

    def _replace(self, messages: tuple[Message, ...]) -> None:
        """Only what is in them was said, and the thoughts before it. A log that was lost begins with them."""
        known, alive = self._things, {key for message in messages for key in keys_in(message)}
        answers = {thing.answer for key, thing in known.items() if key in alive and key[0] != "result"}
        self._answers += 1
        self._things = {
            key: thing
            for key, thing in known.items()
            if key in alive or (key[0] == "thought" and thing.answer in answers)
        }
        for message in messages:
            for key, length in lengths_in(message):
                self._was_lost |= key not in self._things
                self._things.setdefault(key, _Thing(self._answers, length, is_ended=True))


def key_of(event: Event) -> Key | None:
    """What an event is about, if that has an id."""
    match event:
        case TextStarted(message_id=id) | TextDelta(message_id=id) | TextEnded(message_id=id):
            return "text", id
        case ThoughtStarted(message_id=id) | ThoughtDelta(message_id=id) | ThoughtEnded(message_id=id):
            return "thought", id
        case CallStarted(call_id=id) | CallDelta(call_id=id) | CallEnded(call_id=id):
            return "call", id
        case CallReturned(call_id=id):
            return "result", id
        case RunStarted() | AnswerEnded() | StepStarted() | StepEnded() | RunFinished() | RunFailed():
            return None
        case StateReplaced() | StateChanged() | Custom() | MessagesReplaced():
            return None
        case _:
            assert_never(event)


def is_open(things: list[tuple[str, bool]]) -> bool:
    """Is there more to come of an answer of these kinds, of which some have ended? Behind a call, nobody can tell."""
    match things:
        case [("thought", _)] | [("text", False)] | [("thought", True), ("text", False)]:
            return True
    return False


def is_beside(event: Event) -> bool:
    """Is it what a model notes while it answers? What it wants kept comes when it has ended."""
    return isinstance(event, Custom) and event.name.startswith("model.") and event.name != "model.kept"


def rest(thing: _Thing, event: Event) -> Iterator[Event]:
    """What the log does not have of it."""
    if isinstance(event, Delta):
        known = thing.length - thing.repeated
        thing.repeated += len(event.text)
        if thing.repeated > thing.length:
            thing.length = thing.repeated
            yield msgspec.structs.replace(event, text=event.text[max(known, 0) :])
    elif isinstance(event, ENDS) and not thing.is_ended:
        thing.is_ended = True
        yield event


def said_again(message: Message, unsaid: set[Key]) -> Message | None:
    """What is left of the message without what was not said again; None where that is nothing.

    Two processes may have continued one answer, under the id of its text and each with calls of its own. The text of
    the message then stays, and only the calls go.
    """
    if not unsaid.intersection(keys_in(message)):
        return message
    if message.role != "assistant" or ("text", message.id) in unsaid or not message.text:
        return None
    parts = (part for part in message.parts if not (isinstance(part, Call) and ("call", part.id) in unsaid))
    return msgspec.structs.replace(message, parts=tuple(parts))


def lengths_in(message: Message) -> Iterator[tuple[Key, int]]:
    if message.role == "assistant" and message.text:
        yield ("text", message.id), len(message.text)
    for part in message.parts:
        if isinstance(part, Call):
            yield ("call", part.id), len(part.arguments)
        elif isinstance(part, Result):
            yield ("result", part.call_id), 0


def keys_in(message: Message) -> set[Key]:
    found = {key for key, _ in lengths_in(message)}
    return found | {("text", message.id)} if message.role == "assistant" else found
