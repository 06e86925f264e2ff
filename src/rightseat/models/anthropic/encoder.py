"""Encodes messages and tools for Anthropic's Messages API.

System messages, wherever they stand, move to the front: the API has one field for them. Tool results belong to the
user, and consecutive messages of one role are merged.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import assert_never

from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue

Block = dict[str, object]

OPENING = "(The assistant begins.)"
"""Inserted where the assistant has the first message: the API requires a user message."""


def write_tool(tool: Tool) -> Block:
    written: Block = {"name": tool.name, "description": tool.description, "input_schema": write_schema(tool.parameters)}
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


def write_schema(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the schema of a tool's arguments with `type: object`, which the API requires."""
    return schema if "type" in schema else {"type": "object", **schema}


def write_system(messages: Iterable[Message]) -> list[Block]:
    return [text_block(message.text) for message in messages if message.role == "system" and message.text.strip()]


def write_messages(messages: Iterable[Message], model: str, unsent: list[str]) -> list[Block]:
    """Encode all messages but system messages. Each attachment that cannot be sent adds a sentence to `unsent`."""
    written: list[tuple[str, list[Block]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = write_blocks(message, model, unsent)
        if written and written[-1][0] == role:
            written[-1][1].extend(blocks)
        elif blocks:
            written.append((role, blocks))
    if written and written[0][0] == "assistant":
        written.insert(0, ("user", [text_block(OPENING)]))
    return [{"role": role, "content": content} for role, content in written]


def write_blocks(message: Message, model: str, unsent: list[str]) -> list[Block]:
    """Encode the parts of a message and insert the model's signed reasoning at its places."""
    blocks = [block for part in message.parts for block in write_part(part, message.role, unsent)]
    for index, block in signed_reasoning(message, model):
        blocks.insert(max(0, min(index, len(blocks))), block)  # the provider sent the index: it may be any number
    return blocks


def signed_reasoning(message: Message, model: str) -> list[tuple[int, Block]]:
    """Return the reasoning kept of a response of this model: the provider rejects another model's signatures."""
    match message.extra:
        case {"anthropic": {"model": str(signer), "thoughts": list(kept)}} if signer == model:
            return [(index, dict(block)) for index, block in _pairs(kept)]
    return []


def _pairs(kept: Iterable[JsonValue]) -> Iterable[tuple[int, Mapping[str, JsonValue]]]:
    for pair in kept:
        match pair:
            case [int(index), dict(block)]:
                yield index, block


def write_part(part: Part, role: str, unsent: list[str]) -> Iterable[Block]:
    match part:
        case Text(text=text):
            if text.strip():  # the API rejects blank texts
                yield text_block(text)
        case Image(media_type=kind, data=data, url=url):
            source = {"type": "url", "url": url} if url else {"type": "base64", "media_type": kind, "data": data}
            yield {"type": "image", "source": source}
        case File():
            yield from write_file(part, unsent)
        case Call(id=id, name=name, arguments=arguments):
            yield {"type": "tool_use", "id": write_id(id), "name": name, "input": write_input(arguments)}
        case Result(call_id=id, content=content, error=error):
            failed = {"is_error": True} if error is not None else {}
            yield {"type": "tool_result", "tool_use_id": write_id(id), "content": content, **failed}
        case _:
            assert_never(part)


def write_file(file: File, unsent: list[str]) -> Iterable[Block]:
    """Encode PDFs and texts as documents. Both the model and the client learn of a file that cannot be sent."""
    title = {"title": file.name} if file.name else {}
    kind = file.media_type.partition(";")[0]
    text = read_text(file) if kind.startswith("text/") or kind == "application/json" else None
    if file.kind == "document" and file.url and kind in ("", "application/pdf"):
        yield {"type": "document", "source": {"type": "url", "url": file.url}, **title}
    elif file.kind == "document" and file.data and kind == "application/pdf":
        yield {"type": "document", "source": {"type": "base64", "media_type": kind, "data": file.data}, **title}
    elif text is not None:
        yield {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **title}
    else:
        named = f"{file.kind} {file.name or file.url or kind}".strip()
        unsent.append(f"Claude cannot read this attachment, so it was not sent: {named}.")
        yield text_block(f"[An attachment could not be passed on: {named}]")


def read_text(file: File) -> str | None:
    try:
        return base64.b64decode(file.data, validate=True).decode() or None
    except (binascii.Error, UnicodeDecodeError):
        return None


def write_id(id: str) -> str:
    """Replace characters that the API rejects: ids may come from another model or a client."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)


def write_input(arguments: str) -> object:
    """Return an object, as the API requires. Invalid JSON is sent back as text; the tool result has the error."""
    read = read_arguments(arguments)
    return {"broken_json": arguments} if read is None else read


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def closed(schema: JsonValue) -> JsonValue:
    """A schema for an answer, with every object closed: the provider takes no other."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(value) for name, value in schema.items() if name not in ("enum", "const", "default")}
    whole = {name: inner.get(name, value) for name, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        whole.setdefault("additionalProperties", False)
    return whole
