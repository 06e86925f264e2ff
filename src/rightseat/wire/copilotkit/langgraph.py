"""Lines of an agent of the type `langgraph`: LangChain's events, and CopilotKit's own among them.

The model's pieces come as `on_chat_model_stream`; the state, and the node that the graph is in, as
`on_copilotkit_state_sync`, at the end with all messages. A node says in its metadata what of its model is for nobody.
"""

from collections.abc import Iterator
from typing import Any

from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Custom,
    Event,
    Interrupt,
    RunFailed,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
)
from rightseat.core.ids import new_id
from rightseat.wire.copilotkit.messages import text_of, unsaid
from rightseat.wire.langchain import Pieces

Json = dict[str, Any]
END = "__end__"
KIND = "copilotkit"
FAILED = "agent_failed"


class Reader:
    """Reads the lines of one run. `asked` are the questions that it has to people by now."""

    def __init__(self, sent: set[str]) -> None:
        self._sent = sent
        self._pieces = Pieces()
        self._node: str | None = None
        self.asked: list[Interrupt] = []

    def read(self, line: Json) -> Iterator[Event]:
        match line.get("event"):
            case "on_chat_model_stream":
                yield from self._pieces.chunk(unpacked(line.get("data"), "chunk"), line.get("metadata") or {})
            case "on_chat_model_end":
                yield from self._pieces.close()
            case "on_copilotkit_state_sync":
                yield from self._state(line)
            case "on_tool_end":
                output = unpacked(line.get("data"), "output")
                if isinstance(call_id := output.get("tool_call_id"), str):
                    yield from self._pieces.result(call_id, output)
            case "on_custom_event":
                yield from self._custom(str(line.get("name")), line.get("data"))
            case "on_interrupt":
                self._ask(text_of(line.get("value")))
            case "on_copilotkit_interrupt":
                data = line.get("data") or {}
                asked = self._ask(text_of(data.get("value")))
                messages = data.get("messages") or []
                yield Custom("copilotkit.interrupt", {"id": asked.id, "value": asked.message, "messages": messages})
            case "on_copilotkit_error" | "error":
                yield RunFailed(FAILED, read_error(line.get("data")))

    def _ask(self, value: str) -> Interrupt:
        asked = Interrupt(new_id("interrupt"), "on_interrupt", value, memo={"kind": KIND, "value": value})
        self.asked.append(asked)
        return asked

    def _state(self, line: Json) -> Iterator[Event]:
        yield from self._pieces.close()
        state, node = line.get("state"), str(line.get("node_name") or "")
        if self._node is not None and self._node != node:
            yield StepEnded(self._node)
            self._node = None
        if node != END and self._node is None and line.get("active") is not False:
            self._node = node
            yield StepStarted(node)
        if isinstance(state, dict):
            for event in unsaid(state.get("messages"), self._sent, self._pieces.said):
                yield from self._pieces.noted(event)
        yield StateReplaced(state)
        if self._node is not None and line.get("active") is False:
            yield StepEnded(self._node)
            self._node = None

    def _custom(self, name: str, data: Any) -> Iterator[Event]:
        match name, data:
            case "copilotkit_manually_emit_message", {"message_id": str(id), "message": str(text)}:
                yield from self._pieces.close()
                yield from self._pieces.noted(TextStarted(id), TextDelta(id, text), TextEnded(id))
            case "copilotkit_manually_emit_tool_call", {"id": str(id), "name": str(called), "args": arguments}:
                yield from self._pieces.close()
                yield from self._pieces.noted(CallStarted(id, called), CallDelta(id, text_of(arguments)), CallEnded(id))
            case "copilotkit_manually_emit_intermediate_state", _:
                pass  # its state follows
            case "copilotkit_exit", _:
                yield Custom("Exit", value=True)
            case _:
                yield Custom(name, data)


def unpacked(data: Any, field: str) -> Json:
    """LangChain writes its objects as `{"lc": 1, "kwargs": …}`."""
    value = data.get(field) if isinstance(data, dict) else None
    if isinstance(value, dict) and isinstance(value.get("kwargs"), dict):
        return dict(value["kwargs"])
    return value if isinstance(value, dict) else {}


def read_error(data: Any) -> str:
    match data:
        case {"error": {"message": str(message)}} | {"message": str(message)}:
            return message
    return text_of(data)
