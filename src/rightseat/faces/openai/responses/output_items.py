"""The output items of a response while they grow."""

from typing import Any

from msgspec import json

from rightseat.core.types import JsonValue
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.response_record import SERVER_LABEL


class OutputItem:
    """`where` has the fields that name the item in its events."""

    def __init__(self) -> None:
        self.index = 0
        self.is_placed = False
        self.is_done = False
        self.pieces: list[str] = []
        self.where: dict[str, Any] = {}

    def place(self, index: int, id: str) -> None:
        self.index = index
        self.is_placed = True
        self.where = {"item_id": id, "output_index": index}

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class MessageOutput(OutputItem):
    """A message with one part. `delta_head` is a text delta as far as it is the same for all of them."""

    delta_head = b""

    def __init__(self) -> None:
        super().__init__()
        self.logprobs: list[JsonValue] = []

    def place(self, index: int, id: str) -> None:
        super().place(index, id)
        self.where["content_index"] = 0
        same = {"type": "response.output_text.delta", **self.where, "logprobs": []}
        head = b"event: response.output_text.delta\ndata: %b" % json.encode(same)
        self.delta_head = head[:-1] + b',"sequence_number":'

    def part(self, text: str) -> Item:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": self.logprobs}

    def item(self, status: str) -> Item:
        content = [] if status == "in_progress" else [self.part(self.text)]
        return {"type": "message", "role": "assistant", "status": status, "content": content}


class ReasoningOutput(OutputItem):
    """Reasoning, which is also its own summary if the client asks for one: some clients only show the summary."""

    def __init__(self, *, has_summary: bool) -> None:
        super().__init__()
        self.has_summary = has_summary
        self.summary_where: dict[str, Any] = {}

    def place(self, index: int, id: str) -> None:
        super().place(index, id)
        self.summary_where = {**self.where, "summary_index": 0}
        self.where["content_index"] = 0

    def item(self, status: str, sealed: str | None) -> Item:
        summary = [{"type": "summary_text", "text": self.text}] if self.has_summary else []
        content = [{"type": "reasoning_text", "text": self.text}]
        item: Item = {"type": "reasoning", "summary": summary, "content": content, "status": status}
        return item if sealed is None else item | {"encrypted_content": sealed}


class FunctionCallOutput(OutputItem):
    """A call of one of the client's tools."""

    def __init__(self, call_id: str, name: str, namespace: str | None) -> None:
        super().__init__()
        self.name = name
        self._call_id = call_id
        self._namespace = namespace

    def item(self, status: str) -> Item:
        item: Item = {"type": "function_call", "call_id": self._call_id, "name": self.name}
        item |= {"arguments": self.text, "status": status}
        return item if self._namespace is None else item | {"namespace": self._namespace}


class McpCallOutput(OutputItem):
    """A call of one of the agent's own tools, which runs on the server. `request_id` is that of its approval."""

    def __init__(self, name: str, request_id: str | None = None) -> None:
        super().__init__()
        self.name = name
        self.arguments = self.pieces
        self.output: str | None = None
        self.error: str | None = None
        self._request_id = request_id

    def item(self, status: str) -> Item:
        return {
            "type": "mcp_call",
            "name": self.name,
            "arguments": "" if status == "in_progress" else self.text,
            "server_label": SERVER_LABEL,
            "status": status,
            "output": self.output,
            "error": None if self.error is None else write_tool_error(self.error),
            "approval_request_id": self._request_id,
        }


def write_tool_error(text: str) -> dict[str, Any]:
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
