"""Reduces the events of a run to the current messages and state of its thread."""

from collections.abc import Callable, Iterator
from typing import assert_never

from pydantic import JsonValue

from rightseat.core import events as e
from rightseat.core.json_patch import apply_patch
from rightseat.core.messages import Call, Message, Part, Result, Text


class Reducer:
    """Turns events into messages: one for each text with its calls, and one for each result.

    `state` is the state at the start of the run until an event changes it. `on_first_text` is called once, when the
    first text starts.
    """

    def __init__(self, state: JsonValue = None, on_first_text: Callable[[], None] | None = None) -> None:
        self.state = state
        self._on_first_text = on_first_text
        self.is_denied = False
        """Whether a guard denied the question."""
        self.cut_calls: set[str] = set()
        """Calls that ended inside their arguments."""
        self.agents: list[str] = []
        """Agents that another agent called and that have not returned, the innermost last."""
        self.step = ""
        """The innermost step that is running, or the last one that ran."""
        self._order: list[_Draft | Message] = []
        self._texts: dict[str, _Draft] = {}
        self._calls: dict[str, list[str]] = {}
        self._open: list[e.Event] = []  # the end events of everything that has started and not ended

    def add(self, event: e.Event) -> None:
        # A chain of checks instead of a `match`, the frequent ones first: this runs for every delta of every response.
        # Checks by `type` take a third of the time.
        if type(event) is e.TextDelta:
            self._texts[event.message_id].pieces.append(event.text)
        elif type(event) is e.ToolCallDelta:
            self._calls[event.call_id].append(event.text)
        elif type(event) is e.ReasoningDelta:
            pass  # reasoning is not part of a message
        elif type(event) is e.TextStarted:
            if self._on_first_text is not None:
                self._on_first_text()
                self._on_first_text = None
            if event.message_id not in self._texts:
                self._texts[event.message_id] = draft = _Draft(event.message_id)
                self._order.append(draft)
            self._open.append(e.TextEnded(event.message_id, complete=False))
        elif type(event) is e.ToolCallStarted:
            self._start_call(event)
            self._open.append(e.ToolCallEnded(event.call_id, complete=False))
        elif type(event) is e.ReasoningStarted:
            self._open.append(e.ReasoningEnded(event.message_id, complete=False))
        elif type(event) is e.TextEnded:
            self._end(e.TextEnded(event.message_id, complete=False))
        elif type(event) is e.ReasoningEnded:
            self._end(e.ReasoningEnded(event.message_id, complete=False))
        elif type(event) is e.ToolCallEnded:
            self._end(e.ToolCallEnded(event.call_id, complete=False))
            if not event.complete:
                self.cut_calls.add(event.call_id)
        elif type(event) is e.ToolCallReturned:
            result = Result(event.call_id, event.name, event.content, event.error)
            message = Message("tool", (result,), id=event.message_id or f"result-{event.call_id}")
            self._order.insert(self._place(event.call_id), message)
        elif type(event) is e.StateReplaced:
            self.state = event.state
        elif type(event) is e.StateChanged:
            self.state = apply_patch(self.state, event.patch)
        elif type(event) is e.StepStarted:
            self._open.append(e.StepEnded(event.name))
            self.step = event.name
        elif type(event) is e.StepEnded:
            self._end(event)
            self.step = next((one.name for one in reversed(self._open) if isinstance(one, e.StepEnded)), self.step)
        elif type(event) is e.MessagesReplaced:
            self._replace(event.messages)
        elif type(event) is e.Custom:
            self._add_custom(event)
        elif isinstance(event, e.RunStarted | e.ModelResponseEnded | e.SpanEvent | e.RunFinished | e.RunFailed):
            pass  # neither a message nor state
        else:
            assert_never(event)

    def endings(self) -> Iterator[e.Event]:
        """The events that end everything still open, for a run that stops early. The last started ends first."""
        return reversed(self._open.copy())

    @property
    def is_calling(self) -> bool:
        """Whether a tool call is open."""
        return any(isinstance(ending, e.ToolCallEnded) for ending in self._open)

    def messages(self) -> tuple[Message, ...]:
        return tuple(draft.message() if isinstance(draft, _Draft) else draft for draft in self._order)

    def _add_custom(self, event: e.Custom) -> None:
        if event.name == "model.kept":
            self._keep(event.value)
        elif event.name == "agent.entered":
            self.agents.append(str(event.value))
        elif event.name == "agent.left":
            del self.agents[-1:]
        elif event.name == "guard.denied":
            self.is_denied = isinstance(event.value, dict) and event.value.get("at") == "question"

    def _place(self, call_id: str) -> int:
        """The index after the message with the call and after its existing results: models require them together."""
        for place, draft in enumerate(self._order):
            if isinstance(draft, _Draft) and any(id == call_id for id, _, _ in draft.calls):
                place += 1
                while place < len(self._order) and isinstance(self._order[place], Message):
                    place += 1
                return place
        return len(self._order)

    def _replace(self, messages: tuple[Message, ...]) -> None:
        """Keep the known drafts of these messages, without ended calls that are left out, and drop all others."""
        known = self._texts
        self._order, self._texts, self._calls = [], {}, {}
        for message in messages:
            if message.role != "assistant":
                self._order.append(message)
                continue
            draft = known.get(message.id) or _Draft.of(message)
            kept = {part.id for part in message.parts if isinstance(part, Call)}
            draft.calls = [call for call in draft.calls if call[0] in kept or self._is_open(call[0])]
            self._order.append(draft)
            self._texts[message.id] = draft
            self._calls |= {id: arguments for id, _, arguments in draft.calls}

    def _keep(self, value: JsonValue) -> None:
        """Store provider data with the latest message. A response without text and calls has no message for it."""
        if self._order and isinstance(draft := self._order[-1], _Draft):
            draft.extra = value

    def _is_open(self, call_id: str) -> bool:
        return e.ToolCallEnded(call_id, complete=False) in self._open

    def _end(self, ending: e.Event) -> None:
        if ending in self._open:
            self._open.remove(ending)

    def _start_call(self, event: e.ToolCallStarted) -> None:
        last = self._order[-1] if self._order else None
        draft = self._texts.get(event.message_id) if event.message_id else last
        if not isinstance(draft, _Draft):
            id = event.message_id or event.call_id
            self._texts[id] = draft = _Draft(id)
            self._order.append(draft)
        arguments: list[str] = []
        draft.calls.append((event.call_id, event.name, arguments))
        self._calls[event.call_id] = arguments


class _Draft:
    """An assistant's message that may still grow."""

    __slots__ = ("calls", "extra", "id", "pieces")

    def __init__(self, id: str) -> None:
        self.id = id
        self.extra: JsonValue = None
        self.pieces: list[str] = []
        self.calls: list[tuple[str, str, list[str]]] = []

    @classmethod
    def of(cls, message: Message) -> "_Draft":
        draft = cls(message.id)
        draft.extra = message.extra
        draft.pieces += [part.text for part in message.parts if isinstance(part, Text)]
        draft.calls += [(part.id, part.name, [part.arguments]) for part in message.parts if isinstance(part, Call)]
        return draft

    def message(self) -> Message:
        parts: list[Part] = [Text("".join(self.pieces))] if self.pieces else []
        parts += [Call(id, name, "".join(arguments)) for id, name, arguments in self.calls]
        return Message("assistant", tuple(parts), id=self.id, extra=self.extra)
