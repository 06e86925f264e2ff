"""Encodes events as one GraphQL response body, for a client that did not request streaming."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from msgspec import json

from rightseat.core import events as e
from rightseat.core.types import JsonValue
from rightseat.faces.copilotkit.graphql import values
from rightseat.faces.copilotkit.graphql.meta import Questions
from rightseat.faces.copilotkit.graphql.projection import Selection
from rightseat.faces.copilotkit.graphql.values import States, Value

encode = json.Encoder().encode


class GraphQLBodyEncoder:
    """Takes events and returns the body once it `is_over`."""

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
        self._response = values.new_response(thread_id, echo)
        self._states = States(thread_id, run_id, agent, state)
        self._questions = Questions()
        self._messages: dict[str, Value] = {}
        self.is_over = False

    def feed(self, events: Sequence[e.Event]) -> None:
        for event in events:
            self._take(event)

    def body(self) -> bytes:
        return encode({"data": {self._key: self._selection.project(self._response)}})

    def _take(self, event: e.Event) -> None:
        match event:
            case e.TextStarted():
                self._add(values.text_message(event))
            case e.ToolCallStarted():
                self._add(values.call_message(event))
            case e.TextDelta(message_id=id, text=text):
                self._messages[id]["content"].append(text)
            case e.ToolCallDelta(call_id=id, text=text):
                self._messages[id]["arguments"].append(text)
            case e.TextEnded(message_id=id, complete=is_complete) | e.ToolCallEnded(call_id=id, complete=is_complete):
                self._messages[id]["status"] = values.SUCCESS if is_complete else values.BROKEN
            case e.ToolCallReturned():
                self._add(values.result_message(event))
            case e.StateReplaced(state=state):
                self._add_all(self._states.replace_state(state))
            case e.StateChanged(patch=patch):
                self._add_all(self._states.apply_patch(patch))
            case e.StepStarted(name=name):
                self._add_all(self._states.enter_step(name))
            case e.StepEnded(name=name):
                self._states.leave_step(name)
            case e.Custom(name=name, value=value):
                self._questions.note(name, value)
                self._add_all(self._states.hand_over(name, value))
            case e.RunFinished() | e.RunFailed():
                self._finish(event)
            case e.RunStarted() | e.ModelResponseEnded() | e.MessagesReplaced() | e.SpanStarted() | e.SpanEnded():
                pass
            case e.ReasoningStarted() | e.ReasoningDelta() | e.ReasoningEnded():
                pass
            case _:
                assert_never(event)

    def _add(self, value: Value) -> None:
        self._messages[value["id"]] = value

    def _add_all(self, shown: Iterable[Value]) -> None:
        for value in shown:
            self._add(value)

    def _finish(self, event: e.RunFinished | e.RunFailed) -> None:
        self._add_all(self._states.final())
        if isinstance(event, e.RunFinished):
            self._response["metaEvents"] = self._questions.write_interrupts(event)
        messages = [{"status": values.BROKEN} | message for message in self._messages.values()]
        self._response |= {"messages": messages, "status": values.response_status(event)}
        self.is_over = True
