"""Decodes the lines of a CopilotKit agent of type `crewai`: the events of CopilotKit's runtime."""

from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.core import events as e
from rightseat.core.ids import new_id
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.wire.copilotkit.langgraph import END, FAILED, KIND
from rightseat.wire.copilotkit.messages import text_of

Json = dict[str, Any]


class RuntimeLineDecoder:
    """Decodes the lines of one run. `interrupts` collects its interrupts."""

    def __init__(self) -> None:
        self._node: str | None = None
        self.interrupts: list[e.Interrupt] = []

    def read(self, line: Json) -> Iterator[e.Event]:
        match line:
            case {"type": "TextMessageStart", "messageId": str(id)}:
                yield e.TextStarted(id)
            case {"type": "TextMessageContent", "messageId": str(id), "content": str(text)}:
                yield e.TextDelta(id, text)
            case {"type": "TextMessageEnd", "messageId": str(id)}:
                yield e.TextEnded(id)
            case {"type": "ActionExecutionStart", "actionExecutionId": str(id), "actionName": str(name)}:
                yield e.ToolCallStarted(id, name, line.get("parentMessageId"))
            case {"type": "ActionExecutionArgs", "actionExecutionId": str(id), "args": str(text)}:
                yield e.ToolCallDelta(id, text)
            case {"type": "ActionExecutionEnd", "actionExecutionId": str(id)}:
                yield e.ToolCallEnded(id)
            case {"type": "ActionExecutionResult", "actionExecutionId": str(id)}:
                yield e.ToolCallReturned(id, str(line.get("actionName") or ""), text_of(line.get("result")))
            case {"type": "AgentStateMessage"}:
                yield from self._state(line)
            case {"type": "MetaEvent", "name": "LangGraphInterruptEvent"}:
                value = text_of(line.get("value"))
                memo: JsonValue = {"kind": KIND, "value": value}
                self.interrupts.append(e.Interrupt(new_id("interrupt"), "on_interrupt", value, memo=memo))
            case {"type": "MetaEvent", "name": str(name)}:
                yield e.Custom(name, line.get("value"))
            case {"type": "RunError"}:
                yield e.RunFailed(FAILED, text_of(line.get("error") or line.get("message")))

    def _state(self, line: Json) -> Iterator[e.Event]:
        node, is_active = str(line.get("nodeName") or ""), line.get("active") is not False
        if self._node is not None and self._node != node:
            yield e.StepEnded(self._node)
            self._node = None
        if node not in ("", END) and self._node is None and is_active:
            self._node = node
            yield e.StepStarted(node)
        yield e.StateReplaced(read_state(line.get("state")))
        if self._node is not None and not is_active:
            yield e.StepEnded(self._node)
            self._node = None


def read_state(raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    try:
        return msgspec.json.decode(raw)
    except JSON_ERRORS:
        return raw
