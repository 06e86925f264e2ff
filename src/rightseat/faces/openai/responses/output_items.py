"""The output items of a response while they grow. Each one writes its events to the stream of the response."""

from typing import Any

from msgspec import json

from rightseat.core.types import JsonValue
from rightseat.faces._shared.sealed_reasoning import Seal
from rightseat.faces.openai.responses.event_stream import ResponseEventStream
from rightseat.faces.openai.responses.input_items import Item
from rightseat.faces.openai.responses.response_record import SERVER_LABEL


class OutputItem:
    """`where` has the fields that name the item in its events."""

    def __init__(self, stream: ResponseEventStream) -> None:
        self.index = 0
        self.is_placed = False
        self.is_done = False
        self.pieces: list[str] = []
        self.where: dict[str, Any] = {}
        self._stream = stream

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def _place(self, prefix: str, item: Item) -> None:
        self.index, id = self._stream.add_item(prefix, item)
        self.is_placed = True
        self.where = {"item_id": id, "output_index": self.index}

    def _end(self, item: Item) -> None:
        self._stream.end_item(self.index, item)


class MessageOutput(OutputItem):
    """A message with one part. `delta_head` is a text delta as far as it is the same for all of them."""

    def __init__(self, stream: ResponseEventStream) -> None:
        super().__init__(stream)
        self._logprobs: list[JsonValue] = []
        self._place("msg", self._item("in_progress"))
        self.where["content_index"] = 0
        same = {"type": "response.output_text.delta", **self.where, "logprobs": []}
        head = b"event: response.output_text.delta\ndata: %b" % json.encode(same)
        self.delta_head = head[:-1] + b',"sequence_number":'
        stream.emit("response.content_part.added", **self.where, part=self._part(""))

    def add(self, delta: str, logprobs: JsonValue) -> None:
        self.pieces.append(delta)
        probabilities = logprobs if isinstance(logprobs, list) else []
        self._logprobs += probabilities
        self._stream.emit("response.output_text.delta", **self.where, delta=delta, logprobs=probabilities)

    def end(self, complete: bool) -> None:
        if self.is_done:
            return
        self.is_done = True
        text = self.text
        self._stream.emit("response.output_text.done", **self.where, text=text, logprobs=self._logprobs)
        self._stream.emit("response.content_part.done", **self.where, part=self._part(text))
        self._end(self._item("completed" if complete else "incomplete"))

    def _part(self, text: str) -> Item:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": self._logprobs}

    def _item(self, status: str) -> Item:
        content = [] if status == "in_progress" else [self._part(self.text)]
        return {"type": "message", "role": "assistant", "status": status, "content": content}


class ReasoningOutput(OutputItem):
    """Reasoning, which is also its own summary if the client asks for one: some clients only show the summary.

    The summary then grows, and the reasoning text follows as a whole. With `seal`, the item has sealed content too.
    """

    def __init__(self, stream: ResponseEventStream, *, has_summary: bool, seal: Seal | None) -> None:
        super().__init__(stream)
        self._has_summary = has_summary
        self._seal = seal
        self._place("rs", {"type": "reasoning", "summary": [], "content": [], "status": "in_progress"})
        self._summary_where = {**self.where, "summary_index": 0}
        self.where["content_index"] = 0
        if has_summary:
            part = {"type": "summary_text", "text": ""}
            stream.emit("response.reasoning_summary_part.added", **self._summary_where, part=part)
        else:
            stream.emit("response.content_part.added", **self.where, part={"type": "reasoning_text", "text": ""})

    def add(self, delta: str) -> None:
        self.pieces.append(delta)
        if self._has_summary:
            self._stream.emit("response.reasoning_summary_text.delta", **self._summary_where, delta=delta)
        else:
            self._stream.emit("response.reasoning_text.delta", **self.where, delta=delta)

    def end(self, complete: bool) -> None:
        if self.is_done:
            return
        self.is_done = True
        emit, text = self._stream.emit, self.text
        if self._has_summary:
            part = {"type": "summary_text", "text": text}
            emit("response.reasoning_summary_text.done", **self._summary_where, text=text)
            emit("response.reasoning_summary_part.done", **self._summary_where, part=part)
            emit("response.content_part.added", **self.where, part={"type": "reasoning_text", "text": ""})
            emit("response.reasoning_text.delta", **self.where, delta=text)
        emit("response.reasoning_text.done", **self.where, text=text)
        emit("response.content_part.done", **self.where, part={"type": "reasoning_text", "text": text})
        self._end(self._item("completed" if complete else "incomplete"))

    def _item(self, status: str) -> Item:
        text = self.text
        summary = [{"type": "summary_text", "text": text}] if self._has_summary else []
        content = [{"type": "reasoning_text", "text": text}]
        item: Item = {"type": "reasoning", "summary": summary, "content": content, "status": status}
        return item if self._seal is None else item | {"encrypted_content": self._seal({"reasoning": text})}


class FunctionCallOutput(OutputItem):
    """A call of one of the client's tools."""

    def __init__(self, stream: ResponseEventStream, call_id: str, name: str, namespace: str | None) -> None:
        super().__init__(stream)
        self._name = name
        self._call_id = call_id
        self._namespace = namespace
        self._place("fc", self._item("in_progress"))

    def add(self, delta: str) -> None:
        self.pieces.append(delta)
        self._stream.emit("response.function_call_arguments.delta", **self.where, delta=delta)

    def end(self, complete: bool) -> None:
        if self.is_done:
            return
        self.is_done = True
        done = "response.function_call_arguments.done"
        self._stream.emit(done, **self.where, name=self._name, arguments=self.text)
        self._end(self._item("completed" if complete else "incomplete"))

    def _item(self, status: str) -> Item:
        item: Item = {"type": "function_call", "call_id": self._call_id, "name": self._name}
        item |= {"arguments": self.text, "status": status}
        return item if self._namespace is None else item | {"namespace": self._namespace}


class McpCallOutput(OutputItem):
    """A call of one of the agent's own tools, which runs on the server. `request_id` is that of its approval.

    It becomes an item when it runs: until then a person may have to approve it.
    """

    def __init__(self, stream: ResponseEventStream, name: str, request_id: str | None = None) -> None:
        super().__init__(stream)
        self.name = name
        self._request_id = request_id

    def begin(self) -> None:
        if self.is_placed:
            return
        self._place("mcp", self._item("in_progress"))
        arguments = self.text
        self._stream.emit("response.mcp_call.in_progress", **self.where)
        self._stream.emit("response.mcp_call_arguments.delta", **self.where, delta=arguments)
        self._stream.emit("response.mcp_call_arguments.done", **self.where, arguments=arguments)

    def end(self, *, output: str | None = None, error: str | None = None) -> None:
        if self.is_done:
            return
        self.begin()
        self.is_done = True
        status = "completed" if error is None else "failed"
        self._stream.emit(f"response.mcp_call.{status}", **self.where)
        self._end(self._item(status, output, error))

    def _item(self, status: str, output: str | None = None, error: str | None = None) -> Item:
        return {
            "type": "mcp_call",
            "name": self.name,
            "arguments": "" if status == "in_progress" else self.text,
            "server_label": SERVER_LABEL,
            "status": status,
            "output": output,
            "error": None if error is None else write_tool_error(error),
            "approval_request_id": self._request_id,
        }


def write_tool_error(text: str) -> dict[str, Any]:
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
