"""LangChain's messages, as its servers write them in JSON: pieces of an answer, calls and results → events."""

import json
from collections.abc import Iterator
from typing import Any

from rightseat.core.calling import read_arguments
from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    TextDelta,
    TextEnded,
    TextStarted,
)
from rightseat.core.messages import Call, Image, Message, Result, Text

Json = dict[str, Any]


class Pieces:
    """Feed it chunks, take events. `said` are the ids of what has begun, and `result-…` of what has a result."""

    def __init__(self) -> None:
        self.said: set[str] = set()
        self._text: str | None = None  # that is open
        self._call: str | None = None
        self._calls: dict[tuple[str, int], str] = {}  # by message and place in it

    def chunk(self, chunk: Json, metadata: Json) -> Iterator[Event]:
        """A piece of a model's answer. `metadata` may say that texts or calls of this model are for nobody."""
        id = chunk.get("id")
        if not isinstance(id, str):
            return
        if metadata.get("copilotkit:emit-messages") is not False and (text := content_of(chunk.get("content"))):
            if self._text != id:
                yield from self.close()
                self._text = id
                self.said.add(id)
                yield TextStarted(id)
            yield TextDelta(id, text)
        for piece in chunk.get("tool_call_chunks") or ():
            yield from self._piece(id, piece, metadata.get("copilotkit:emit-tool-calls"))

    def _piece(self, message_id: str, piece: Json, wanted: Any) -> Iterator[Event]:
        place = (message_id, piece.get("index") or 0)
        id, name, text = piece.get("id"), piece.get("name"), piece.get("args")
        if isinstance(id, str) and isinstance(name, str) and name:
            self.said.add(id)
            if not is_wanted(name, wanted):
                return
            yield from self.close()
            self._call = self._calls[place] = id
            yield CallStarted(id, name, message_id)
        known = self._calls.get(place)
        if known is not None and known == self._call and isinstance(text, str) and text:
            yield CallDelta(known, text)

    def close(self) -> Iterator[Event]:
        if self._text is not None:
            yield TextEnded(self._text)
        if self._call is not None:
            yield CallEnded(self._call)
        self._text = self._call = None

    def whole(self, message: Json, metadata: Json | None = None) -> Iterator[Event]:
        """A message that was not streamed, or was: then only what is new of it."""
        wanted, id = metadata or {}, message.get("id")
        match message.get("type"):
            case "ai" | "AIMessageChunk" if isinstance(id, str):
                text = content_of(message.get("content"))
                if text and id not in self.said and wanted.get("copilotkit:emit-messages") is not False:
                    yield from self.close()
                    yield from self.noted(TextStarted(id), TextDelta(id, text), TextEnded(id))
                for call in message.get("tool_calls") or ():
                    if call.get("id") in self.said or not is_wanted(
                        call["name"], wanted.get("copilotkit:emit-tool-calls")
                    ):
                        continue
                    yield from self.close()
                    arguments = encode(call.get("args") or {})
                    made = CallStarted(call["id"], call["name"], id)
                    yield from self.noted(made, CallDelta(call["id"], arguments), CallEnded(call["id"]))
            case "tool" if isinstance(call_id := message.get("tool_call_id"), str):
                yield from self.result(call_id, message)

    def result(self, call_id: str, message: Json) -> Iterator[Event]:
        if f"result-{call_id}" in self.said:
            return
        yield from self.close()
        name, failed = message.get("name"), message.get("status") == "error"
        content = content_of(message.get("content"))
        error = "tool_failed" if failed else None
        yield from self.noted(CallReturned(call_id, name if isinstance(name, str) else "", content, error))

    def noted(self, *events: Event) -> Iterator[Event]:
        for event in events:
            match event:
                case TextStarted(message_id=id) | CallStarted(call_id=id):
                    self.said.add(id)
                case CallReturned(call_id=id):
                    self.said.add(f"result-{id}")
            yield event


def is_wanted(name: str, wanted: Any) -> bool:
    """`False` is none, a name or a list of names is these, anything else is all."""
    if wanted is False:
        return False
    return not isinstance(wanted, str | list) or name in ([wanted] if isinstance(wanted, str) else wanted)


def content_of(content: Any) -> str:
    """The text of content that is a string or blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "".join(one if isinstance(one, str) else str(one.get("text") or "") for one in blocks)


def encode(value: Any) -> str:
    """As LangChain itself writes arguments."""
    return json.dumps(value, ensure_ascii=False)


def write_message(message: Message) -> list[Json]:
    """A message as LangChain reads it. Each result is a message of its own."""
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
