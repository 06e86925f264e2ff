"""Estimates the tokens of a model call from its bytes: an upper bound before it, and its usage if that is unknown."""

import math

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.model import Model, Prompt

RESERVED_BYTES_PER_TOKEN = 3
ESTIMATED_BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 1500
MESSAGE_BYTES = 40
"""The JSON around the content of one message: its role, and the tokens that a chat template adds."""
DEFAULT_RESERVE_TOKENS = 4096
"""The bound of an answer that is sent to the provider if neither the ask nor the configuration has one."""


class PromptSize(msgspec.Struct, frozen=True):
    size: int
    """Bytes of text, as JSON."""
    images: int

    @property
    def reserved_tokens(self) -> int:
        return math.ceil(self.size / RESERVED_BYTES_PER_TOKEN) + self.images * IMAGE_TOKENS

    @property
    def estimated_tokens(self) -> int:
        return max(1, math.ceil(self.size / ESTIMATED_BYTES_PER_TOKEN)) + self.images * IMAGE_TOKENS


def measure_prompt(prompt: Prompt) -> PromptSize:
    size = sum(map(_message_bytes, prompt.messages))
    for tool in prompt.tools:
        size += MESSAGE_BYTES + json_bytes(tool.name) + json_bytes(tool.description) + json_bytes(tool.parameters)
    if prompt.parameters.response_schema is not None:
        size += json_bytes(prompt.parameters.response_schema)
    images = sum(isinstance(part, Image) for message in prompt.messages for part in message.parts)
    return PromptSize(size, images)


def _message_bytes(message: Message) -> int:
    size = MESSAGE_BYTES
    for part in message.parts:
        match part:
            case Text(text=text):
                size += json_bytes(text)
            case Call(id=id, name=name, arguments=arguments):
                size += MESSAGE_BYTES + json_bytes(id) + json_bytes(name) + json_bytes(arguments)
            case Result(call_id=id, content=content):
                size += json_bytes(id) + json_bytes(content)
            case File(data=data, url=url):
                size += len(data) + len(url)
            case Image():
                pass  # counted by number
    return size + (json_bytes(message.extra) if message.extra is not None else 0)


def json_bytes(value: object) -> int:
    return len(msgspec.json.encode(value))


def output_bound(prompt: Prompt, model: Model, reserve: int = DEFAULT_RESERVE_TOKENS) -> int:
    """The most tokens of an answer: those of the ask, else `reserve`, and never more than the model's options allow."""
    own, asked = max_output_tokens(getattr(model, "options", None)), prompt.parameters.max_tokens
    wanted = asked if isinstance(asked, int) and asked > 0 else reserve
    return wanted if own is None else min(wanted, own)


def max_output_tokens(options: object) -> int | None:
    """The maximum that the options of a model have."""
    own = getattr(options, "max_tokens", None)
    return own if isinstance(own, int) and own > 0 else None
