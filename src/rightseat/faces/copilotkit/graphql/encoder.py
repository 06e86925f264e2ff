"""Encodes events as the incremental payloads of one GraphQL response.

A payload is `{"incremental": [patch, …], "hasNext": true}`; all patches of a batch of events share one. A patch either
appends items to a list, at the index that ends its path, or fills in the fields of a `@defer` fragment.

A message is sent as soon as all of its selected fields that are not deferred are known. With the clients' own document
that is at its start, and its text and status follow; without `@stream` on its text, or `@defer` on its status, at its
end. Messages are listed in the order in which they start, so a message waits until all earlier ones have been sent.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from msgspec import json

from rightseat.core import events as e
from rightseat.core.types import JsonValue
from rightseat.faces.copilotkit.graphql import values
from rightseat.faces.copilotkit.graphql.meta import Questions
from rightseat.faces.copilotkit.graphql.predicted_state import Predictions
from rightseat.faces.copilotkit.graphql.projection import Group, Pick, Picks, Selection, write_all
from rightseat.faces.copilotkit.graphql.values import States, Value

encode = json.Encoder().encode
PIECES = {"TextMessageOutput": "content", "ActionExecutionMessageOutput": "arguments"}
LAST = b'{"hasNext":false}'


@dataclass(slots=True)
class Shape:
    """The delivery of a response: which parts are sent first, which are streamed, and which are sent at the end."""

    key: str
    selection: Selection
    messages: Pick | None
    questions: Pick | None
    at_the_end: list[Group]

    @classmethod
    def of(cls, key: str, selection: Selection) -> "Shape | None":
        """Return None if the client did not request streaming; the response is then sent as one body.

        The same applies if streaming has no benefit: the status is not deferred, or all messages are.
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
        message_pick, question_pick = (next(iter(found), None) for found in (messages, questions))
        return cls(key, selection, message_pick, question_pick, groups_with(picks, "status"))


def groups_with(picks: Picks, name: str) -> list[Group]:
    return [group for group in picks.later if any(pick.name == name for pick in group.picks.values())]


class StreamedMessage:
    """A message of the response: its index in the list, and the state of its streaming."""

    __slots__ = ("at_the_end", "is_ready", "is_shown", "path", "pieces", "place", "streamed", "value")

    def __init__(self, value: Value, *, is_ready: bool) -> None:
        self.value = value
        self.is_ready = is_ready  # to be sent, once all earlier messages are
        self.is_shown = False
        self.streamed: Pick | None = None
        self.pieces = 0  # written so far
        self.place = -1
        self.path = b""
        self.at_the_end: list[Group] = []


class PatchEncoder:
    """Takes events and returns payloads: `begin` once, `feed` for each batch. `is_over` is set after the last."""

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
        self._open: dict[str, StreamedMessage] = {}
        self._waiting: deque[StreamedMessage] = deque()
        self._shown = 0
        self._patches: list[bytes] = []
        self.is_over = False

    def begin(self) -> bytes:
        picks = self._shape.selection.on("CopilotResponse")
        now = write_now(picks, self._shape.at_the_end, values.new_response(self._thread_id, self._echo))
        return encode({"data": {self._shape.key: now}, "hasNext": True})

    def feed(self, events: Sequence[e.Event]) -> bytes | None:
        """Return one payload for all events, or None if they change nothing in the response."""
        if len(events) == 1 and type(event := events[0]) is e.TextDelta:  # nearly every batch
            message = self._open.get(event.message_id)
            if message is not None and message.path:
                message.pieces += 1
                return b'{"incremental":[{"items":[%b],"path":%b%d]}],"hasNext":true}' % (
                    encode(event.text),
                    message.path,
                    message.pieces - 1,
                )
        for change in join_deltas(events):
            self._take(change)
        patches, self._patches = self._patches, []
        if not patches:
            return LAST if self.is_over else None
        return b'{"incremental":[%b],"hasNext":%b}' % (b",".join(patches), b"false" if self.is_over else b"true")

    def _take(self, event: "e.Event | JoinedDeltas") -> None:
        match event:
            case JoinedDeltas(id=id, pieces=pieces):
                self._grow(self._open[id], pieces)
                self._show_all(self._states.predict_state(self._predictions.grow(id, pieces)))
            case e.TextStarted(message_id=id):
                self._start(id, values.text_message(event))
            case e.ToolCallStarted(call_id=id, name=name):
                self._predictions.begin(id, name)
                self._start(id, values.call_message(event))
            case e.TextEnded(message_id=id, complete=is_complete) | e.ToolCallEnded(call_id=id, complete=is_complete):
                self._end(self._open.pop(id), values.SUCCESS if is_complete else values.BROKEN)
            case e.ToolCallReturned():
                self._show(values.result_message(event))
            case e.StateReplaced(state=state):
                self._show_all(self._states.replace_state(state))
            case e.StateChanged(patch=patch):
                self._show_all(self._states.apply_patch(patch))
            case e.StepStarted(name=name):
                self._show_all(self._states.enter_step(name))
            case e.StepEnded(name=name):
                self._states.leave_step(name)
            case e.Custom(name=name, value=value):
                self._questions.note(name, value)
                self._predictions.note(name, value)
                self._show_all(self._states.hand_over(name, value))
            case e.RunFinished() | e.RunFailed():
                self._finish(event)
            case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
                pass  # GraphQL clients have no reasoning messages
            case e.RunStarted() | e.ModelResponseEnded() | e.SpanStarted() | e.SpanEnded():
                pass  # `begin` has started the response; these add nothing to it
            case e.MessagesReplaced():
                pass  # retracted messages have already ended as failed; this protocol cannot remove them
            case e.TextDelta() | e.ToolCallDelta():
                raise AssertionError("joined deltas")
            case _:
                assert_never(event)

    def _start(self, id: str, value: Value) -> None:
        message = self._open[id] = StreamedMessage(value, is_ready=False)
        if self._shape.messages is None:
            message.is_shown = True  # messages were not selected
            return
        picks = self._selection.on(value["__typename"])
        growing = PIECES[value["__typename"]]
        message.streamed = next((pick for pick in picks.now.values() if pick.name == growing), None)
        message.at_the_end = groups_with(picks, "status")
        message.is_ready = can_begin(picks, growing)
        self._add(message)

    def _grow(self, message: StreamedMessage, pieces: list[str]) -> None:
        if message.path:
            items = b",".join(map(encode, pieces))
            self._patches.append(b'{"items":[%b],"path":%b%d]}' % (items, message.path, message.pieces))
            message.pieces += len(pieces)
        elif not message.is_shown:
            message.value[PIECES[message.value["__typename"]]] += pieces

    def _end(self, message: StreamedMessage, status: Value) -> None:
        message.value["status"] = status
        message.is_ready = True
        if message.is_shown:
            for group in message.at_the_end:
                self._fill_in(group, message.value, self._path(message.place))
        else:
            self._show_waiting()

    def _show(self, value: Value) -> None:
        """Add a message that is complete from the start."""
        if self._shape.messages is not None:
            self._add(StreamedMessage(value, is_ready=True))

    def _show_all(self, shown: Iterable[Value]) -> None:
        for value in shown:
            self._show(value)

    def _ask(self, questions: list[Value]) -> None:
        pick = self._shape.questions
        if pick is not None and pick.selection is not None and questions:
            items = [pick.selection.project(one) for one in questions]
            self._patches.append(encode({"items": items, "path": [self._shape.key, pick.key, 0]}))

    def _finish(self, event: e.RunFinished | e.RunFailed) -> None:
        for message in self._open.values():  # none, unless the run ended without closing them
            self._end(message, values.BROKEN)
        self._show_all(self._states.final())
        if isinstance(event, e.RunFinished):
            self._ask(self._questions.write_interrupts(event))
        response = values.new_response(self._thread_id, self._echo) | {"status": values.response_status(event)}
        for group in self._shape.at_the_end:
            self._fill_in(group, response, [self._shape.key])
        self.is_over = True

    def _add(self, message: StreamedMessage) -> None:
        self._waiting.append(message)
        self._show_waiting()

    def _show_waiting(self) -> None:
        while self._waiting and self._waiting[0].is_ready:
            self._append(self._waiting.popleft())

    def _append(self, message: StreamedMessage) -> None:
        """Send a message: completely if it has ended, otherwise with the fields that are known now."""
        value = message.value
        message.is_shown = True
        message.place = self._shown
        self._shown += 1
        path = self._path(message.place)
        if "status" in value:
            item = self._selection.project(value)
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
    """Return whether a message may be sent before its end: not if its status is selected without `@defer`, or its
    text without `@stream` or twice."""
    now = [pick for pick in picks.now.values() if pick.name in ("status", growing)]
    return len(now) <= 1 and all(pick.is_streamed for pick in now) and not groups_with(picks, growing)


def write_now(picks: Picks, at_the_end: list[Group], value: Value) -> dict[str, Any]:
    """Return the selected fields of the value, without the groups that are sent at the end."""
    written = write_all(picks.now, value)
    for group in picks.later:
        if group not in at_the_end:
            written |= write_all(group.picks, value)
    return written


@dataclass(slots=True)
class JoinedDeltas:
    """Consecutive deltas of one message."""

    id: str
    pieces: list[str]


def join_deltas(events: Iterable[e.Event]) -> Iterable[e.Event | JoinedDeltas]:
    """Join consecutive deltas of one message, so that they become one patch with several items."""
    run: JoinedDeltas | None = None
    for event in events:
        if isinstance(event, e.TextDelta | e.ToolCallDelta):
            id = event.message_id if isinstance(event, e.TextDelta) else event.call_id
            if run is not None and run.id == id:
                run.pieces.append(event.text)
                continue
            if run is not None:
                yield run
            run = JoinedDeltas(id, [event.text])
            continue
        if run is not None:
            yield run
            run = None
        yield event
    if run is not None:
        yield run
