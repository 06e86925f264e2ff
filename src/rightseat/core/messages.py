"""What has been said: messages and their parts."""

from typing import Literal

import msgspec

from rightseat.core.ids import new_id

Role = Literal["system", "user", "assistant", "tool"]


class Text(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    text: str


class Image(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="image"):
    """A picture, as base64 in `data`."""

    media_type: str
    data: str


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


Part = Text | Image | Call | Result


class Message(msgspec.Struct, frozen=True):
    role: Role
    parts: tuple[Part, ...]
    id: str = msgspec.field(default_factory=lambda: new_id("msg"))

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def assistant(text: str) -> Message:
    return Message("assistant", (Text(text),))


def system(text: str) -> Message:
    return Message("system", (Text(text),))
