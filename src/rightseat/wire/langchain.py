"""Converts between LangChain's JSON messages and rightseat's messages and events."""

import json
from collections.abc import Iterator
from typing import Any

from rightseat.core import events as e
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, Image, Message, Result, Role, Text

Json = dict[str, Any]


class ChunkDecoder:
    """Takes chunks and returns events. `emitted_ids`: started messages and calls, and `result-…` of results."""

    def __init__(self) -> None:
        self.emitted_ids: set[str] = set()
        self._text: str | None = None  # open message
        self._call: str | None = None
        self._calls: dict[tuple[str, int], str] = {}  # by message and index

    def read_chunk(self, chunk: Json, metadata: Json) -> Iterator[e.Event]:
        """Decode a chunk of a model's message. `metadata` may hide the texts or calls of this model."""
        id = chunk.get("id")
        if not isinstance(id, str):
            return
        if metadata.get("copilotkit:emit-messages") is not False and (text := content_of(chunk.get("content"))):
            if self._text != id:
                yield from self.close()
                self._text = id
                self.emitted_ids.add(id)
                yield e.TextStarted(id)
            yield e.TextDelta(id, text)
        for piece in chunk.get("tool_call_chunks") or ():
            yield from self._read_call_chunk(id, piece, metadata.get("copilotkit:emit-tool-calls"))

    def _read_call_chunk(self, message_id: str, piece: Json, wanted: Any) -> Iterator[e.Event]:
        place = (message_id, piece.get("index") or 0)
        id, name, text = piece.get("id"), piece.get("name"), piece.get("args")
        if isinstance(id, str) and isinstance(name, str) and name:
            self.emitted_ids.add(id)
            if not is_wanted(name, wanted):
                return
            yield from self.close()
            self._call = self._calls[place] = id
            yield e.ToolCallStarted(id, name, message_id)
        known = self._calls.get(place)
        if known is not None and known == self._call and isinstance(text, str) and text:
            yield e.ToolCallDelta(known, text)

    def close(self) -> Iterator[e.Event]:
        if self._text is not None:
            yield e.TextEnded(self._text)
        if self._call is not None:
            yield e.ToolCallEnded(self._call)
        self._text = self._call = None

    def read_message(self, message: Json, metadata: Json | None = None) -> Iterator[e.Event]:
        """Decode a complete message, without the parts that were streamed before."""
        wanted, id = metadata or {}, message.get("id")
        match message.get("type"):
            case "ai" | "AIMessageChunk" if isinstance(id, str):
                text = content_of(message.get("content"))
                if text and id not in self.emitted_ids and wanted.get("copilotkit:emit-messages") is not False:
                    yield from self.close()
                    yield from self.record(e.TextStarted(id), e.TextDelta(id, text), e.TextEnded(id))
                for call in message.get("tool_calls") or ():
                    if call.get("id") in self.emitted_ids or not is_wanted(
                        call["name"], wanted.get("copilotkit:emit-tool-calls")
                    ):
                        continue
                    yield from self.close()
                    arguments = encode(call.get("args") or {})
                    made = e.ToolCallStarted(call["id"], call["name"], id)
                    yield from self.record(made, e.ToolCallDelta(call["id"], arguments), e.ToolCallEnded(call["id"]))
            case "tool" if isinstance(call_id := message.get("tool_call_id"), str):
                yield from self.read_result(call_id, message)

    def read_result(self, call_id: str, message: Json) -> Iterator[e.Event]:
        if f"result-{call_id}" in self.emitted_ids:
            return
        yield from self.close()
        name, failed = message.get("name"), message.get("status") == "error"
        content = content_of(message.get("content"))
        error = "tool_failed" if failed else None
        yield from self.record(e.ToolCallReturned(call_id, name if isinstance(name, str) else "", content, error))

    def record(self, *events: e.Event) -> Iterator[e.Event]:
        for event in events:
            match event:
                case e.TextStarted(message_id=id) | e.ToolCallStarted(call_id=id):
                    self.emitted_ids.add(id)
                case e.ToolCallReturned(call_id=id):
                    self.emitted_ids.add(f"result-{id}")
            yield event


def read_messages(messages: Any) -> Iterator[Message]:
    """Decode the messages that a graph stores. Those of unknown types are omitted."""
    for message in messages if isinstance(messages, list) else ():
        match message:
            case {"type": "ai" | "AIMessageChunk", "id": str(id)}:
                text = content_of(message.get("content"))
                calls = [
                    Call(str(call.get("id")), str(call.get("name")), encode(call.get("args") or {}))
                    for call in message.get("tool_calls") or ()
                    if isinstance(call, dict)
                ]
                yield Message("assistant", (*([Text(text)] if text else []), *calls), id=id)
            case {"type": "tool", "tool_call_id": str(call_id)}:
                error = "tool_failed" if message.get("status") == "error" else None
                result = Result(call_id, str(message.get("name") or ""), content_of(message.get("content")), error)
                yield Message("tool", (result,), id=str(message.get("id") or f"result-{call_id}"))
            case {"type": "human" | "system" as kind, "id": str(id)}:
                role: Role = "user" if kind == "human" else "system"
                yield Message(role, (Text(content_of(message.get("content"))),), id=id)


def is_wanted(name: str, wanted: Any) -> bool:
    """`False` selects no tools, a name or a list of names selects these, and any other value selects all."""
    if wanted is False:
        return False
    return not isinstance(wanted, str | list) or name in ([wanted] if isinstance(wanted, str) else wanted)


def content_of(content: Any) -> str:
    """Return the text of a string or of content blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(one if isinstance(one, str) else str(one.get("text") or "") for one in blocks)


def encode(value: Any) -> str:
    """Encode arguments in the same way as LangChain."""
    return json.dumps(value, ensure_ascii=False)


def write_message(message: Message) -> list[Json]:
    """Encode a message for LangChain. Each result becomes a separate message."""
    match message.role:
        case "tool":
            results = [part for part in message.parts if isinstance(part, Result)]
            return [write_result(message.id, result) for result in results]
        case "assistant":
            calls = [
                {"id": part.id, "name": part.name, "args": read_arguments(part.arguments) or {}, "type": "tool_call"}
                for part in message.parts
                if isinstance(part, Call)
            ]
            return [{"type": "ai", "id": message.id, "content": message.text, "tool_calls": calls}]
        case "system":
            return [{"type": "system", "id": message.id, "content": message.text}]
    return [{"type": "human", "id": message.id, "content": write_content(message)}]


def write_result(id: str, result: Result) -> Json:
    written = {"type": "tool", "id": id, "tool_call_id": result.call_id, "name": result.name, "content": result.content}
    return written | {"status": "success" if result.error is None else "error"}


def write_content(message: Message) -> str | list[Json]:
    if all(isinstance(part, Text) for part in message.parts):
        return message.text
    blocks: list[Json] = []
    for part in message.parts:
        if isinstance(part, Text):
            blocks.append({"type": "text", "text": part.text})
        elif isinstance(part, Image):
            url = part.url or f"data:{part.media_type};base64,{part.data}"
            blocks.append({"type": "image_url", "image_url": {"url": url}})
    return blocks
