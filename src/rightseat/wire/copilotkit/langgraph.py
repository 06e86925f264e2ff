"""Decodes the lines of a CopilotKit agent of type `langgraph`: LangChain's events and CopilotKit's own.

`on_chat_model_stream` holds the model's chunks. `on_copilotkit_state_sync` holds the state and the current node, and at
the end all messages. A node's metadata determines which of its model's texts and tool calls are hidden.
"""

from collections.abc import Iterator
from typing import Any

from rightseat.core import events as e
from rightseat.core.ids import new_id
from rightseat.wire.copilotkit.messages import find_unstreamed, text_of
from rightseat.wire.langchain import ChunkDecoder

Json = dict[str, Any]
END = "__end__"
KIND = "copilotkit"
FAILED = "agent_failed"


class LangGraphLineDecoder:
    """Decodes the lines of one run. `interrupts` collects its interrupts."""

    def __init__(self, sent: set[str]) -> None:
        self._sent = sent
        self._chunks = ChunkDecoder()
        self._node: str | None = None
        self.interrupts: list[e.Interrupt] = []

    def read(self, line: Json) -> Iterator[e.Event]:
        match line.get("event"):
            case "on_chat_model_stream":
                yield from self._chunks.read_chunk(unpack_field(line.get("data"), "chunk"), line.get("metadata") or {})
            case "on_chat_model_end":
                yield from self._chunks.close()
            case "on_copilotkit_state_sync":
                yield from self._state(line)
            case "on_tool_end":
                output = unpack_field(line.get("data"), "output")
                if isinstance(call_id := output.get("tool_call_id"), str):
                    yield from self._chunks.read_result(call_id, output)
            case "on_custom_event":
                yield from self._custom(str(line.get("name")), line.get("data"))
            case "on_interrupt":
                self._add_interrupt(text_of(line.get("value")))
            case "on_copilotkit_interrupt":
                data = line.get("data") or {}
                interrupt = self._add_interrupt(text_of(data.get("value")))
                messages = data.get("messages") or []
                yield e.Custom(
                    "copilotkit.interrupt", {"id": interrupt.id, "value": interrupt.message, "messages": messages}
                )
            case "on_copilotkit_error" | "error":
                yield e.RunFailed(FAILED, read_error(line.get("data")))

    def _add_interrupt(self, value: str) -> e.Interrupt:
        interrupt = e.Interrupt(new_id("interrupt"), "on_interrupt", value, memo={"kind": KIND, "value": value})
        self.interrupts.append(interrupt)
        return interrupt

    def _state(self, line: Json) -> Iterator[e.Event]:
        yield from self._chunks.close()
        state, node = line.get("state"), str(line.get("node_name") or "")
        if self._node is not None and self._node != node:
            yield e.StepEnded(self._node)
            self._node = None
        if node != END and self._node is None and line.get("active") is not False:
            self._node = node
            yield e.StepStarted(node)
        if isinstance(state, dict):
            for event in find_unstreamed(state.get("messages"), self._sent, self._chunks.emitted_ids):
                yield from self._chunks.record(event)
        yield e.StateReplaced(state)
        if self._node is not None and line.get("active") is False:
            yield e.StepEnded(self._node)
            self._node = None

    def _custom(self, name: str, data: Any) -> Iterator[e.Event]:
        match name, data:
            case "copilotkit_manually_emit_message", {"message_id": str(id), "message": str(text)}:
                yield from self._chunks.close()
                yield from self._chunks.record(e.TextStarted(id), e.TextDelta(id, text), e.TextEnded(id))
            case "copilotkit_manually_emit_tool_call", {"id": str(id), "name": str(called), "args": arguments}:
                yield from self._chunks.close()
                yield from self._chunks.record(
                    e.ToolCallStarted(id, called), e.ToolCallDelta(id, text_of(arguments)), e.ToolCallEnded(id)
                )
            case "copilotkit_manually_emit_intermediate_state", _:
                pass  # the state follows in a line of its own
            case "copilotkit_exit", _:
                yield e.Custom("Exit", value=True)
            case _:
                yield e.Custom(name, data)


def unpack_field(data: Any, field: str) -> Json:
    """LangChain serializes its objects as `{"lc": 1, "kwargs": …}`."""
    value = data.get(field) if isinstance(data, dict) else None
    if isinstance(value, dict) and isinstance(value.get("kwargs"), dict):
        return dict(value["kwargs"])
    return value if isinstance(value, dict) else {}


def read_error(data: Any) -> str:
    match data:
        case {"error": {"message": str(message)}} | {"message": str(message)}:
            return message
    return text_of(data)
