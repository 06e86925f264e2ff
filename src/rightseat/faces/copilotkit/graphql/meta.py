"""Encodes interrupts as meta events of a GraphQL response, and decodes answers from the meta events of a request."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json
from pydantic import JsonValue

from rightseat.core.ask import Answer
from rightseat.core.errors import BadRequest
from rightseat.core.events import RunFinished
from rightseat.core.threads import Pending
from rightseat.core.types import JSON_ERRORS
from rightseat.faces.copilotkit.graphql import values
from rightseat.faces.copilotkit.graphql.inputs import MetaEventInput
from rightseat.faces.copilotkit.graphql.values import Value


class Questions:
    """The interrupts of one run. The messages of an interrupt come in an event before the end of the run."""

    def __init__(self) -> None:
        self._messages: dict[str, Any] = {}  # by the id of the interrupt

    def note(self, name: str, value: JsonValue) -> None:
        if name == "copilotkit.interrupt" and isinstance(value, dict):
            self._messages[str(value.get("id"))] = value.get("messages")

    def write_interrupts(self, event: RunFinished) -> list[Value]:
        return [self._write_interrupt(one.id, one.message) for one in event.interrupts]

    def _write_interrupt(self, id: str, value: str) -> Value:
        if id not in self._messages:
            kind = "LangGraphInterruptEvent"
            return {"__typename": kind, "type": "MetaEvent", "name": kind, "value": value, "response": None}
        kind = "CopilotKitLangGraphInterruptEvent"
        messages = [written for one in self._messages[id] or () for written in write_message(one)]
        data = {"__typename": f"{kind}Data", "value": value, "messages": messages}
        return {"__typename": kind, "type": "MetaEvent", "name": kind, "data": data, "response": None}


def write_message(message: Any) -> list[Value]:
    head = {"createdAt": values.now(), "status": values.SUCCESS, "parentMessageId": None}
    match message:
        case {"id": str(id), "name": str(name), "arguments": arguments}:
            text = arguments if isinstance(arguments, str) else json.encode(arguments).decode()
            call = {"__typename": "ActionExecutionMessageOutput", "id": id, "name": name, "scope": None}
            return [head | call | {"arguments": [text]}]
        case {"id": str(id), "content": str(content)}:
            role = message.get("role") or "assistant"
            return [head | {"__typename": "TextMessageOutput", "id": id, "content": [content], "role": role}]
    return []


def read_answers(events: Iterable[MetaEventInput] | None, pending: Sequence[Pending]) -> tuple[Answer, ...]:
    """Match each event with a response to the open interrupt with the same text, or to the only open one."""
    answers: list[Answer] = []
    open = list(pending)
    for event in events or ():
        if event.response is None:
            continue
        known = [one for one in open if one.interrupt.message == event.value] or open
        if not known or (len(known) > 1 and known[0].interrupt.message != event.value):
            raise BadRequest(f"No open question has the text {event.value!r}: it was answered or has expired.")
        answered = known[0]
        open.remove(answered)
        answers.append(read_answer(answered, event.response))
    return tuple(answers)


def read_answer(pending: Pending, response: str) -> Answer:
    """Decode a response as JSON, or else as text. `core.approvals` decides whether it approves a call."""
    try:
        payload = json.decode(response)
    except JSON_ERRORS:
        payload = response
    return Answer(pending.interrupt.id, "resolved", payload)
