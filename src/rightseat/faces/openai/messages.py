"""Decodes the messages of a chat completion request."""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Part, Result, Role, Text
from rightseat.faces.openai.errors import InvalidRequest

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


class RequestFunctionCall(msgspec.Struct, gc=False):
    name: str
    arguments: str = ""


class ToolCall(msgspec.Struct):
    id: str
    function: RequestFunctionCall | None = None
    type: str = "function"


class ContentPart(msgspec.Struct):
    """A part of a message's content; its fields depend on its type."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: dict[str, Any] | str | None = None
    input_audio: dict[str, Any] | None = None
    file: dict[str, Any] | None = None


class RequestMessage(msgspec.Struct):
    role: str
    content: str | list[ContentPart] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    function_call: Any = None


def read_messages(given: Sequence[RequestMessage], warnings: list[str]) -> tuple[Message, ...]:
    if not given:
        raise InvalidRequest("`messages` is empty.", "messages")
    reader = MessageDecoder(warnings)
    return tuple(reader.read(message, f"messages[{number}]") for number, message in enumerate(given))


class MessageDecoder:
    """Reads messages in order: a tool result refers to an earlier call."""

    def __init__(self, warnings: list[str]) -> None:
        self._calls: dict[str, str] = {}  # the names of the tools, by the ids of their calls
        self._warnings = warnings

    def read(self, given: RequestMessage, where: str) -> Message:
        if given.role not in ROLES:
            listed = ", ".join(ROLES)
            raise InvalidRequest(
                f"{where}.role is {given.role[:100]!r}, which is not one of {listed}.", f"{where}.role"
            )
        if given.function_call is not None:
            raise InvalidRequest(
                f"{where}.function_call is not supported: send `tool_calls`.", f"{where}.function_call"
            )
        role = ROLES[given.role]
        if role == "tool":
            return Message("tool", (self._result(given, where),))
        if given.name is not None:
            self._warn(f"The `name` of messages is ignored ({where}).")
        parts = (*self._content(given, where), *self._made(given, where))
        return Message(role, parts)

    def _warn(self, warning: str) -> None:
        if warning not in self._warnings:
            self._warnings.append(warning)

    def _result(self, given: RequestMessage, where: str) -> Result:
        id = given.tool_call_id
        if id is None or id not in self._calls:
            text = f"{where}.tool_call_id is {id!r}: no message before it has a call with that id."
            raise InvalidRequest(text, f"{where}.tool_call_id")
        return Result(id, self._calls[id], "".join(texts(given, where)))

    def _made(self, given: RequestMessage, where: str) -> Iterator[Call]:
        if given.tool_calls and given.role != "assistant":
            raise InvalidRequest(f"{where}.tool_calls: only the assistant calls tools.", f"{where}.tool_calls")
        for call in given.tool_calls or ():
            if call.function is None:
                text = f"{where}.tool_calls: calls of type {call.type[:100]!r} are not supported, only 'function'."
                raise InvalidRequest(text, f"{where}.tool_calls")
            self._calls[call.id] = call.function.name
            yield Call(call.id, call.function.name, call.function.arguments)

    def _content(self, given: RequestMessage, where: str) -> Iterator[Part]:
        if given.role != "user":
            yield from map(Text, texts(given, where))
        elif isinstance(given.content, str):
            yield Text(given.content)
        elif given.content is None:
            raise InvalidRequest(f"{where}.content is missing.", f"{where}.content")
        else:
            for number, part in enumerate(given.content):
                yield self._part(part, f"{where}.content[{number}]")

    def _part(self, part: ContentPart, where: str) -> Part:
        match part.type, part.image_url, part.input_audio, part.file:
            case "text", *_ if part.text is not None:
                return Text(part.text)
            case "image_url", {"url": str(url), **more}, _, _:
                if more.get("detail", "auto") != "auto":
                    self._warn(f"The `detail` of images is ignored ({where}).")
                return read_image(url, where)
            case "input_audio", _, {"data": str(data), "format": str(kind)}, _:
                return File("audio", f"audio/{kind}", checked(data, where))
            case "file", _, _, {"file_data": str(data), **more}:
                media_type, content = read_data(data, where)
                return File("document", media_type, content, name=str(more.get("filename") or ""))
        known = "text, image_url (with a url), input_audio (with data and format) or file (with file_data)"
        raise InvalidRequest(f"{where} of type {part.type[:100]!r} cannot be read: send {known}.", where)


def texts(given: RequestMessage, where: str) -> Iterator[str]:
    """The text of a message that may only contain text."""
    if isinstance(given.content, str):
        yield given.content
    for number, part in enumerate(given.content if isinstance(given.content, list) else ()):
        text = part.text if part.type == "text" else part.refusal if part.type == "refusal" else None
        if text is None:
            message = f"{where}.content[{number}]: a message of the role {given.role!r} holds text only."
            raise InvalidRequest(message, f"{where}.content")
        yield text
    if given.refusal:
        yield given.refusal


def read_image(url: str, where: str) -> Image:
    if url.startswith("data:"):
        return Image(*read_data(url, where))
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise InvalidRequest(f"{where}: the URL of an image cannot be read ({error}).", where) from None
    if scheme not in ("http", "https"):
        raise InvalidRequest(f"{where}: the URL of an image must begin with data:, http:// or https://.", where)
    return Image("", "", url)


def read_data(url: str, where: str) -> tuple[str, str]:
    """`data:image/png;base64,iVBOR…` → media type and base64."""
    head, comma, data = url.removeprefix("data:").partition(",")
    kind, _, coding = head.rpartition(";")
    if not comma or coding != "base64" or not url.startswith("data:"):
        raise InvalidRequest(f"{where}: a file is sent as data:<type>;base64,<data>.", where)
    return kind or "application/octet-stream", checked(data, where)


def checked(data: str, where: str) -> str:
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(f"{where}: the data is not valid base64 ({error}).", where) from error
    return data
