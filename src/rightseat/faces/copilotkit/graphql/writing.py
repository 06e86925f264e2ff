"""Events → one response, in payloads as it grows (`Patches`) or as one body at its end (`Whole`).

A payload is `{"incremental": [patch, …], "hasNext": true}`; all patches of a batch of events share one. A patch either
appends items to a list, at the index that ends its path, or fills in the fields of a `@defer` fragment.

A message is shown as soon as all that was selected of it and not put off is known. With the clients' own document that
is at its start, and its text and status follow; without `@stream` on its text, or `@defer` on its status, at its end.
Messages are listed in the order in which they began, so those behind one that is not shown yet wait for it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from msgspec import json

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
from rightseat.core.values import JsonValue
from rightseat.faces.copilotkit.graphql import values
from rightseat.faces.copilotkit.graphql.meta import Questions
from rightseat.faces.copilotkit.graphql.predicting import Predictions
from rightseat.faces.copilotkit.graphql.projection import Group, Pick, Picks, Selection, write_all
from rightseat.faces.copilotkit.graphql.values import States, Value

encode = json.Encoder().encode
PIECES = {"TextMessageOutput": "content", "ActionExecutionMessageOutput": "arguments"}
LAST = b'{"hasNext":false}'


@dataclass(slots=True)
class Shape:
    """How a response is to be written: which parts go at once, which are streamed, which come at the end."""

    key: str
    selection: Selection
    messages: Pick | None
    questions: Pick | None
    at_the_end: list[Group]

    @classmethod
    def of(cls, key: str, selection: Selection) -> "Shape | None":
        """None where the client did not ask for pieces: then the response is written whole.

        So it is where its pieces would not be worth having: with the status not put off, or with all messages put off.
        """
        picks = selection.on("CopilotResponse")
        messages = [pick for pick in picks.now.values() if pick.name == "messages"]
        late = [pick for pick in picks.now.values() if pick.name == "status"] or groups_with(picks, "messages")
        questions = [pick for pick in picks.now.values() if pick.name == "metaEvents"]
        growing = (*messages, *questions)
        if late or max(len(messages), len(questions)) > 1 or not all(pick.is_streamed for pick in growing):
            return None
        if not messages and not picks.later:
            return None
        said, asked = (next(iter(found), None) for found in (messages, questions))
        return cls(key, selection, said, asked, groups_with(picks, "status"))


def groups_with(picks: Picks, name: str) -> list[Group]:
    return [group for group in picks.later if any(pick.name == name for pick in group.picks.values())]


class Message:
    """A message of the response: its place in the list, and how its pieces are written while it is being said."""

    __slots__ = ("at_the_end", "is_ready", "is_shown", "path", "pieces", "place", "streamed", "value")

    def __init__(self, value: Value, *, is_ready: bool) -> None:
        self.value = value
        self.is_ready = is_ready  # to be shown, when its turn comes
        self.is_shown = False
        self.streamed: Pick | None = None
        self.pieces = 0  # written so far
        self.place = -1
        self.path = b""
        self.at_the_end: list[Group] = []


class Patches:
    """Feed it events, take payloads: `begin` once, `feed` for each batch. `is_over` after the last."""

    def __init__(
        self,
        shape: Shape,
        thread_id: str,
        run_id: str,
        agent: str,
        state: JsonValue = None,
        echo: Value | None = None,
    ) -> None:
        self._shape = shape
        self._thread_id = thread_id
        self._echo = echo
        self._states = States(thread_id, run_id, agent, state)
        self._questions = Questions()
        self._predictions = Predictions()
        self._open: dict[str, Message] = {}
        self._waiting: deque[Message] = deque()
        self._shown = 0
        self._patches: list[bytes] = []
        self.is_over = False

    def begin(self) -> bytes:
        picks = self._shape.selection.on("CopilotResponse")
        now = write_now(picks, self._shape.at_the_end, new_response(self._thread_id, self._echo))
        return encode({"data": {self._shape.key: now}, "hasNext": True})

    def feed(self, events: Sequence[Event]) -> bytes | None:
        """One payload for all of them, or none where there is nothing to show."""
        if len(events) == 1 and type(event := events[0]) is TextDelta:  # nearly every batch of a flowing answer
            message = self._open.get(event.message_id)
            if message is not None and message.path:
                message.pieces += 1
                return b'{"incremental":[{"items":[%b],"path":%b%d]}],"hasNext":true}' % (
                    encode(event.text),
                    message.path,
                    message.pieces - 1,
                )
        for fact in joined(events):
            self._take(fact)
        patches, self._patches = self._patches, []
        if not patches:
            return LAST if self.is_over else None
        return b'{"incremental":[%b],"hasNext":%b}' % (b",".join(patches), b"false" if self.is_over else b"true")

    def _take(self, event: "Event | Run") -> None:
        match event:
            case Run(id=id, pieces=pieces):
                self._grow(self._open[id], pieces)
                self._show_all(self._states.predicted(self._predictions.grow(id, pieces)))
            case TextStarted(message_id=id):
                self._start(id, values.text_message(event))
            case CallStarted(call_id=id, name=name):
                self._predictions.begin(id, name)
                self._start(id, values.call_message(event))
            case TextEnded(message_id=id, whole=whole) | CallEnded(call_id=id, whole=whole):
                self._end(self._open.pop(id), values.SUCCESS if whole else values.BROKEN)
            case CallReturned():
                self._show(values.result_message(event))
            case StateReplaced(state=state):
                self._show_all(self._states.changed(state))
            case StateChanged(patch=patch):
                self._show_all(self._states.patched(patch))
            case StepStarted(name=name):
                self._show_all(self._states.entered(name))
            case StepEnded(name=name):
                self._states.left(name)
            case Custom(name=name, value=value):
                self._questions.note(name, value)
                self._predictions.note(name, value)
                self._show_all(self._states.handed(name, value))
            case RunFinished() | RunFailed():
                self._finish(event)
            case ThoughtStarted() | ThoughtDelta() | ThoughtEnded():
                pass  # these clients have no word for a thought
            case RunStarted() | AnswerEnded():
                pass  # the response itself begins; nothing else of it is shown
            case MessagesReplaced():
                pass  # what it takes back was ended before, as broken off: here it cannot be unsaid
            case TextDelta() | CallDelta():
                raise AssertionError("joined into runs")
            case _:
                assert_never(event)

    def _start(self, id: str, value: Value) -> None:
        message = self._open[id] = Message(value, is_ready=False)
        if self._shape.messages is None:
            message.is_shown = True  # as much of it as was asked for
            return
        picks = self._selection.on(value["__typename"])
        growing = PIECES[value["__typename"]]
        message.streamed = next((pick for pick in picks.now.values() if pick.name == growing), None)
        message.at_the_end = groups_with(picks, "status")
        message.is_ready = can_begin(picks, growing)
        self._add(message)

    def _grow(self, message: Message, pieces: list[str]) -> None:
        if message.path:
            items = b",".join(map(encode, pieces))
            self._patches.append(b'{"items":[%b],"path":%b%d]}' % (items, message.path, message.pieces))
            message.pieces += len(pieces)
        elif not message.is_shown:
            message.value[PIECES[message.value["__typename"]]] += pieces

    def _end(self, message: Message, status: Value) -> None:
        message.value["status"] = status
        message.is_ready = True
        if message.is_shown:
            for group in message.at_the_end:
                self._fill_in(group, message.value, self._path(message.place))
        else:
            self._show_waiting()

    def _show(self, value: Value) -> None:
        """A message that is whole from its beginning."""
        if self._shape.messages is not None:
            self._add(Message(value, is_ready=True))

    def _show_all(self, shown: Iterable[Value]) -> None:
        for value in shown:
            self._show(value)

    def _ask(self, questions: list[Value]) -> None:
        pick = self._shape.questions
        if pick is not None and pick.selection is not None and questions:
            items = [pick.selection.whole(one) for one in questions]
            self._patches.append(encode({"items": items, "path": [self._shape.key, pick.key, 0]}))

    def _finish(self, event: RunFinished | RunFailed) -> None:
        for message in self._open.values():  # none, unless the run broke off without a word
            self._end(message, values.BROKEN)
        self._show_all(self._states.last())
        if isinstance(event, RunFinished):
            self._ask(self._questions.asked(event))
        response = new_response(self._thread_id, self._echo) | {"status": values.response_status(event)}
        for group in self._shape.at_the_end:
            self._fill_in(group, response, [self._shape.key])
        self.is_over = True

    def _add(self, message: Message) -> None:
        self._waiting.append(message)
        self._show_waiting()

    def _show_waiting(self) -> None:
        while self._waiting and self._waiting[0].is_ready:
            self._append(self._waiting.popleft())

    def _append(self, message: Message) -> None:
        """Show it: whole if it has ended, else with what is known of it now."""
        value = message.value
        message.is_shown = True
        message.place = self._shown
        self._shown += 1
        path = self._path(message.place)
        if "status" in value:
            item = self._selection.whole(value)
        else:
            item = write_now(self._selection.on(value["__typename"]), message.at_the_end, value)
            if message.streamed:
                message.path = encode([*path, message.streamed.key])[:-1] + b","
                message.pieces = len(item[message.streamed.key])
        self._patches.append(encode({"items": [item], "path": path}))

    def _fill_in(self, group: Group, value: Value, path: list[str | int]) -> None:
        patch: dict[str, Any] = {"data": write_all(group.picks, value), "path": path}
        if group.label is not None:
            patch["label"] = group.label
        self._patches.append(encode(patch))

    @property
    def _selection(self) -> Selection:
        assert self._shape.messages is not None and self._shape.messages.selection is not None  # noqa: S101, PT018
        return self._shape.messages.selection

    def _path(self, place: int) -> list[str | int]:
        assert self._shape.messages is not None  # noqa: S101
        return [self._shape.key, self._shape.messages.key, place]


def can_begin(picks: Picks, growing: str) -> bool:
    """May a message be shown before its end? Not where its status is wanted at once, or its text whole or twice."""
    now = [pick for pick in picks.now.values() if pick.name in ("status", growing)]
    return len(now) <= 1 and all(pick.is_streamed for pick in now) and not groups_with(picks, growing)


def write_now(picks: Picks, at_the_end: list[Group], value: Value) -> dict[str, Any]:
    """What is selected of the value, but for the groups whose time has not come."""
    written = write_all(picks.now, value)
    for group in picks.later:
        if group not in at_the_end:
            written |= write_all(group.picks, value)
    return written


class Whole:
    """Feed it events, take the body when it `is_over`: for a client that did not ask for pieces."""

    def __init__(
        self,
        key: str,
        selection: Selection,
        thread_id: str,
        run_id: str,
        agent: str,
        state: JsonValue = None,
        echo: Value | None = None,
    ) -> None:
        self._key = key
        self._selection = selection
        self._response = new_response(thread_id, echo)
        self._states = States(thread_id, run_id, agent, state)
        self._questions = Questions()
        self._messages: dict[str, Value] = {}
        self.is_over = False

    def feed(self, events: Sequence[Event]) -> None:
        for event in events:
            self._take(event)

    def body(self) -> bytes:
        return encode({"data": {self._key: self._selection.whole(self._response)}})

    def _take(self, event: Event) -> None:
        match event:
            case TextStarted():
                self._add(values.text_message(event))
            case CallStarted():
                self._add(values.call_message(event))
            case TextDelta(message_id=id, text=text):
                self._messages[id]["content"].append(text)
            case CallDelta(call_id=id, text=text):
                self._messages[id]["arguments"].append(text)
            case TextEnded(message_id=id, whole=whole) | CallEnded(call_id=id, whole=whole):
                self._messages[id]["status"] = values.SUCCESS if whole else values.BROKEN
            case CallReturned():
                self._add(values.result_message(event))
            case StateReplaced(state=state):
                self._add_all(self._states.changed(state))
            case StateChanged(patch=patch):
                self._add_all(self._states.patched(patch))
            case StepStarted(name=name):
                self._add_all(self._states.entered(name))
            case StepEnded(name=name):
                self._states.left(name)
            case Custom(name=name, value=value):
                self._questions.note(name, value)
                self._add_all(self._states.handed(name, value))
            case RunFinished() | RunFailed():
                self._finish(event)
            case RunStarted() | AnswerEnded() | MessagesReplaced():
                pass
            case ThoughtStarted() | ThoughtDelta() | ThoughtEnded():
                pass
            case _:
                assert_never(event)

    def _add(self, value: Value) -> None:
        self._messages[value["id"]] = value

    def _add_all(self, shown: Iterable[Value]) -> None:
        for value in shown:
            self._add(value)

    def _finish(self, event: RunFinished | RunFailed) -> None:
        self._add_all(self._states.last())
        if isinstance(event, RunFinished):
            self._response["metaEvents"] = self._questions.asked(event)
        messages = [{"status": values.BROKEN} | message for message in self._messages.values()]
        self._response |= {"messages": messages, "status": values.response_status(event)}
        self.is_over = True


@dataclass(slots=True)
class Run:
    """Pieces of one message that came in a row."""

    id: str
    pieces: list[str]


def joined(events: Iterable[Event]) -> Iterable[Event | Run]:
    """Deltas of one message that follow each other become one patch with several items."""
    run: Run | None = None
    for event in events:
        if isinstance(event, TextDelta | CallDelta):
            id = event.message_id if isinstance(event, TextDelta) else event.call_id
            if run is not None and run.id == id:
                run.pieces.append(event.text)
                continue
            if run is not None:
                yield run
            run = Run(id, [event.text])
            continue
        if run is not None:
            yield run
            run = None
        yield event
    if run is not None:
        yield run


def new_response(thread_id: str, echo: Value | None = None) -> Value:
    """`echo` are fields that the client gets back as it sent them: `runId` and `extensions`."""
    return {
        "__typename": "CopilotResponse",
        "threadId": thread_id,
        "runId": None,
        "extensions": None,
        "messages": [],
        "metaEvents": [],
        **(echo or {}),
    }
