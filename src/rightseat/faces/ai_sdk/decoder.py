"""Decodes the request body of an AI SDK client: its messages, the page's tools and the answers to questions."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import unquote_to_bytes

import msgspec

from rightseat.core.ask import Answer, ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.core.messages import File, Image, Message, Part, Text, build_media, media_kind
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces._shared.responses import repair_surrogates

MAX_CHAT_ID_CHARS = 256
EXTRA_KEY = "ai_sdk"
"""The key of this protocol's data in `Message.extra`."""
ANY_PARAMETERS: Mapping[str, JsonValue] = {"type": "object", "properties": {}}

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CHAT_ID_CHARS, pattern="^[^\\x00]*$")]
Json = dict[str, Any]


class UIMessage(msgspec.Struct):
    """A message as the client has it. Parts of unknown types are allowed."""

    id: Id
    role: Literal["system", "user", "assistant"]
    parts: list[Json]
    metadata: Any = None


class PageTool(msgspec.Struct):
    """A tool that the page runs, in the form in which assistant-ui sends it."""

    description: str | None = None
    parameters: Any = None


class PageAnswer(msgspec.Struct):
    """The answer to a question that is not an approval of a tool call (`data-interrupt`)."""

    id: Id
    payload: Any = None
    status: Literal["resolved", "cancelled"] = "resolved"


class UIChatBody(msgspec.Struct):
    id: Id
    messages: list[UIMessage] | None = None
    message: UIMessage | None = None
    trigger: str | None = None
    messageId: str | None = None
    tools: dict[str, PageTool] | None = None
    system: str | None = None
    answers: list[PageAnswer] | None = None

    @property
    def listed(self) -> Sequence[UIMessage]:
        """The client's messages; some clients send only the last one, as `message`."""
        return self.messages or ([self.message] if self.message else [])


BODY_FIELDS = frozenset(UIChatBody.__struct_fields__)


def decode_chat(body: bytes) -> tuple[UIChatBody, dict[str, JsonValue]]:
    """Return the request, and the other fields of the body, which the page's own code added. Raises `BadRequest`."""
    try:
        raw = msgspec.json.decode(repair_surrogates(body))
        chat = msgspec.convert(raw, UIChatBody)
    except JSON_ERRORS as error:
        raise BadRequest(f"The request cannot be understood: {error}. It has an `id` and `messages`.") from error
    if not chat.listed:
        raise BadRequest("The request has no message. Send at least one in `messages`.")
    return chat, {name: value for name, value in raw.items() if name not in BODY_FIELDS}


def read_tools(tools: Mapping[str, PageTool] | None) -> tuple[ToolOffer, ...]:
    offers: list[ToolOffer] = []
    for name, tool in (tools or {}).items():
        if tool.parameters is not None and not isinstance(tool.parameters, dict):
            raise BadRequest(f"The parameters of the tool {name!r} are not a JSON Schema object.")
        offers.append(ToolOffer(name, tool.description or "", tool.parameters or ANY_PARAMETERS))
    return tuple(offers)


def read_answer(answer: PageAnswer) -> Answer:
    return Answer(answer.id, answer.status, answer.payload)


def read_user_message(message: UIMessage, reply_id: str | None = None) -> Message:
    """`reply_id` is the id of the assistant's message that will answer it. Raises `BadRequest`."""
    parts = tuple(part for raw in message.parts if (part := read_part(raw)) is not None)
    if not parts:
        raise BadRequest(f"The message {message.id!r} has neither text nor a file.")
    others = [raw for raw in message.parts if raw.get("type") not in ("text", "file")]
    fields = {"reply": reply_id, "metadata": message.metadata, "parts": others or None}
    extra: JsonValue = {name: value for name, value in fields.items() if value is not None}
    return Message(
        "system" if message.role == "system" else "user",
        parts,
        id=message.id,
        extra={EXTRA_KEY: extra} if extra else None,
    )


def read_assistant_text(message: UIMessage) -> Message | None:
    """The text of an assistant's message from before the thread began; None without text."""
    texts = [part for raw in message.parts if isinstance(part := read_part(raw), Text)]
    return Message("assistant", tuple(texts), id=message.id) if texts else None


def read_part(raw: Json) -> Part | None:
    """A text or a file; None for parts that no model receives."""
    match raw:
        case {"type": "text", "text": str(text)}:
            return Text(text) if text else None
        case {"type": "file", "url": str(url), "mediaType": str(media_type)}:
            return read_file(url, media_type, str(raw.get("filename") or ""))
        case {"type": "text" | "file" as kind}:
            raise BadRequest(f"A part of the type {kind!r} lacks a field.")
    return None


def read_file(url: str, media_type: str, name: str) -> Image | File:
    kind = media_kind(media_type)
    if url.startswith(("http://", "https://")):
        return build_media(kind, media_type, "", url, name)
    if not url.startswith("data:"):
        raise BadRequest(f"The file {name!r} has neither a data URL nor an https URL.")
    head, comma, data = url[len("data:") :].partition(",")
    if not comma:
        raise BadRequest(f"The data URL of the file {name!r} is not valid.")
    return build_media(kind, media_type, read_data(head, data, name), name=name)


def read_data(head: str, data: str, name: str) -> str:
    """The base64 text of a data URL."""
    content = unquote_to_bytes(data)
    if not head.endswith(";base64"):
        return base64.b64encode(content).decode()
    try:
        return base64.b64encode(base64.b64decode(content, validate=True)).decode()
    except binascii.Error:
        raise BadRequest(f"The data URL of the file {name!r} is not valid base64.") from None
