"""Messages of a conversation and their parts: text, images, files, tool calls and results."""

from typing import Literal, cast

import msgspec

from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue

Role = Literal["system", "user", "assistant", "tool"]


class Text(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    text: str


class Image(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="image"):
    """An image, as base64 in `data` or at a `url` that the model provider may fetch."""

    media_type: str
    data: str
    url: str = ""
    name: str = ""


class File(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="file"):
    """An attached recording or document, as base64 in `data` or at a `url`."""

    kind: Literal["audio", "video", "document"]
    media_type: str
    data: str
    url: str = ""
    name: str = ""


class Call(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="call"):
    """A tool call. `arguments` is the JSON text as the model wrote it, which may be invalid."""

    id: str
    name: str
    arguments: str


class Result(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="result"):
    """A tool's result. If the tool failed, `error` is the error code and `content` the description."""

    call_id: str
    name: str
    content: str
    error: str | None = None


Part = Text | Image | File | Call | Result


def media_kind(media_type: str) -> str:
    """`image`, `audio` or `video`; `document` for everything else."""
    family = media_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def build_media(kind: str, media_type: str, data: str, url: str = "", name: str = "") -> Image | File:
    """The part of an attachment. `kind` is one of those of `media_kind`."""
    if kind == "image":
        return Image(media_type, data, url, name)
    return File(cast(Literal["audio", "video", "document"], kind), media_type, data, url, name)


class Message(msgspec.Struct, frozen=True):
    """`extra` holds data specific to one protocol or provider, under its name: `{"agui": …}`."""

    role: Role
    parts: tuple[Part, ...]
    id: str = msgspec.field(default_factory=lambda: new_id("msg"))
    extra: JsonValue = None

    @property
    def only_text(self) -> str | None:
        """The text of a message that has no other part, as nearly all messages; None for others."""
        parts = self.parts
        if len(parts) == 1 and type(part := parts[0]) is Text:
            return part.text
        return None

    @property
    def text(self) -> str:
        if (text := self.only_text) is not None:
            return text
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def truncate_messages(messages: tuple[Message, ...], at: str | None) -> tuple[Message, ...]:
    """The messages before the one with the id `at`; all of them if there is none."""
    for place, message in enumerate(messages):
        if message.id == at:
            return messages[:place]
    return messages


def continue_messages(messages: tuple[Message, ...], at: str | None, new: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages before the one with the id `at`, and the new ones: a store may have begun to write those."""
    kept, ids = truncate_messages(messages, at), {message.id for message in new}
    return (*(message for message in kept if message.id not in ids), *new)


def user(text: str) -> Message:
    """A message of the user."""
    return Message("user", (Text(text),))


def assistant(text: str) -> Message:
    """A message of a model."""
    return Message("assistant", (Text(text),))


def system(text: str) -> Message:
    """Instructions for a model."""
    return Message("system", (Text(text),))
