"""A prompt → the body of a request.

System messages, wherever they stand, are joined in front: this wire has one place for them. Results of calls are the
user's words here, and what one side says in a row is one message.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from typing import assert_never

from rightseat.core.calling import read_arguments
from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue

Block = dict[str, object]

BEGINS = "(The assistant begins.)"
"""This wire wants a user to speak first."""


def write_tool(tool: Tool) -> Block:
    written: Block = {"name": tool.name, "description": tool.description, "input_schema": write_schema(tool.parameters)}
    if tool.strict is not None:
        written["strict"] = tool.strict
    return written


def write_schema(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Of a tool's arguments, which are an object whether a schema says so or not."""
    return schema if "type" in schema else {"type": "object", **schema}


def write_system(messages: Iterable[Message]) -> list[Block]:
    return [text_block(message.text) for message in messages if message.role == "system" and message.text.strip()]


def write_messages(messages: Iterable[Message], model: str, unsent: list[str]) -> list[Block]:
    """The conversation without its system messages. `unsent` gets a sentence for each attachment that has no form."""
    written: list[tuple[str, list[Block]]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = write_thoughtful(message, model, unsent)
        if written and written[-1][0] == role:
            written[-1][1].extend(blocks)
        elif blocks:
            written.append((role, blocks))
    if written and written[0][0] == "assistant":
        written.insert(0, ("user", [text_block(BEGINS)]))
    return [{"role": role, "content": content} for role, content in written]


def write_thoughtful(message: Message, model: str, unsent: list[str]) -> list[Block]:
    """The parts of a message, with the model's signed thoughts back at their places."""
    blocks = [block for part in message.parts for block in write_part(part, message.role, unsent)]
    for place, thought in thoughts_of(message, model):
        blocks.insert(max(0, min(place, len(blocks))), thought)  # the place is the server's, and may be any number
    return blocks


def thoughts_of(message: Message, model: str) -> list[tuple[int, Block]]:
    """Those that were kept of an answer of this model: another one's signatures are refused."""
    match message.extra:
        case {"anthropic": {"model": str(signer), "thoughts": list(kept)}} if signer == model:
            return [(place, dict(block)) for place, block in _pairs(kept)]
    return []


def _pairs(kept: Iterable[JsonValue]) -> Iterable[tuple[int, Mapping[str, JsonValue]]]:
    for pair in kept:
        match pair:
            case [int(place), dict(block)]:
                yield place, block


def write_part(part: Part, role: str, unsent: list[str]) -> Iterable[Block]:
    match part:
        case Text(text=text):
            if text.strip():  # blank ones are refused
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
    """PDFs and texts are documents here. The model is told of what cannot be sent, and so is whoever asked."""
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
        unsent.append(f"Claude cannot read this attachment, so it was left out: {named}.")
        yield text_block(f"[An attachment could not be passed on: {named}]")


def read_text(file: File) -> str | None:
    try:
        return base64.b64decode(file.data, validate=True).decode() or None
    except (binascii.Error, UnicodeDecodeError):
        return None


def write_id(id: str) -> str:
    """Calls that another model or a client named may have ids that this wire refuses."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)


def write_input(arguments: str) -> object:
    """An object is a must. Of broken JSON the model gets back what it wrote; its result says what was wrong with it."""
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
