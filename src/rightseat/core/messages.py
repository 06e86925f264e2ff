"""What has been said: messages and their parts."""

from typing import Literal

import msgspec

from rightseat.core.ids import new_id
from rightseat.core.values import JsonValue

Role = Literal["system", "user", "assistant", "tool"]


class Text(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    text: str


class Image(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="image"):
    """A picture, as base64 in `data`, or at a `url` that the model's own server may fetch."""

    media_type: str
    data: str
    url: str = ""
    name: str = ""


class File(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="file"):
    """A recording or a document that was attached, as base64 in `data` or at a `url`."""

    kind: Literal["audio", "video", "document"]
    media_type: str
    data: str
    url: str = ""
    name: str = ""


class Call(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="call"):
    """A model's call of a tool. `arguments` is the JSON text as the model wrote it, which may be broken."""

    id: str
    name: str
    arguments: str


class Result(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="result"):
    """What a tool gave back. `error` is a code where it failed; `content` then says how."""

    call_id: str
    name: str
    content: str
    error: str | None = None


Part = Text | Image | File | Call | Result


class Message(msgspec.Struct, frozen=True):
    """`extra` is what one protocol says of it and no other has a word for, under whose it is: `{"agui": …}`."""

    role: Role
    parts: tuple[Part, ...]
    id: str = msgspec.field(default_factory=lambda: new_id("msg"))
    extra: JsonValue = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def assistant(text: str) -> Message:
    return Message("assistant", (Text(text),))


def system(text: str) -> Message:
    return Message("system", (Text(text),))
