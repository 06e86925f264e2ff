"""Estimates the tokens of a model call from its text: what to reserve before it, and its usage if that is unknown.

Tokenizers differ most in what they do with digits and with scripts other than Latin. So each kind of byte has a weight,
which is at least what the least efficient of ten measured tokenizers needs for real text of that kind
(docs/decisions/0021-tokens-by-kind-of-byte.md has the numbers). Both estimates are the same one: a budget that is
counted with a lower number than it was reserved with could be passed by answers that break off.
"""

import math
import string
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Result, Text
from rightseat.core.model import Model, Prompt
from rightseat.core.tools import Tool

WEIGHT_PER_TOKEN = 100
"""Weights are in hundredths of a token, as integers: sums of parts are then exact."""
IMAGE_TOKENS = 1500
MESSAGE_WEIGHT = 1000
"""The JSON around the content of one message: its role, and the tokens that a chat template adds."""
FILE_BYTE_WEIGHT = 33
DEFAULT_RESERVE_TOKENS = 4096
"""The bound of an answer that is sent to the provider if neither the ask nor the configuration has one."""

_KINDS: tuple[tuple[bytes, int], ...] = (
    ((string.ascii_lowercase + string.whitespace).encode(), 26),
    (string.punctuation.encode(), 70),
    ((string.ascii_uppercase + string.digits).encode(), 100),  # base64; some tokenizers split numbers into digits
    (bytes(range(0xC2, 0xE0)), 110),  # leads two bytes: Cyrillic, Arabic, letters with accents
    (bytes([*range(0xE0, 0xE3), *range(0xEA, 0xF0)]), 200),  # leads three bytes: Korean, Thai, Hindi
    (bytes(range(0xE3, 0xEA)), 150),  # leads three bytes: Chinese, Japanese
    (bytes(range(0xF0, 0xF5)), 400),  # leads four bytes: emoji, rare Chinese characters
)
"""Kinds of bytes in UTF-8, with their weight. Every other byte (a continuation, a control character) has none."""
_WEIGHTS = [weight for _, weight in _KINDS]
_ASCII_KINDS = 3
"""The first ones."""
_KIND_OF_BYTE = bytes(
    next((number for number, (members, _) in enumerate(_KINDS) if byte in members), len(_KINDS)) for byte in range(256)
)


def weigh(data: bytes) -> int:
    """The weight of UTF-8 text. One pass over the bytes and one over each kind, in C: 16 MB take 60 ms, ASCII 30."""
    kinds = data.translate(_KIND_OF_BYTE)
    weights = _WEIGHTS[:_ASCII_KINDS] if data.isascii() else _WEIGHTS
    return sum(kinds.count(number) * weight for number, weight in enumerate(weights))


def weigh_text(text: str) -> int:
    return weigh(text.encode("utf-8", "surrogatepass"))


def count_tokens(weight: int) -> int:
    return math.ceil(weight / WEIGHT_PER_TOKEN)


def estimate_tokens(text: str) -> int:
    return count_tokens(weigh_text(text))


class PromptSize(msgspec.Struct, frozen=True):
    weight: int
    """Of the text, as JSON."""
    images: int

    @property
    def tokens(self) -> int:
        return max(1, count_tokens(self.weight)) + self.images * IMAGE_TOKENS


def weigh_messages(messages: Sequence[Message]) -> dict[int, int]:
    """The weight of each message, by its `id()`: while these messages are kept, nothing else has it."""
    return {id(message): weigh_message(message) for message in messages}


def measure_prompt(prompt: Prompt, known: Mapping[int, int] = MappingProxyType({})) -> PromptSize:
    """`known` has weights of some of the messages and tools, by their `id()`: 16 MB take 60 ms each time."""
    weight = sum(known[id(one)] if id(one) in known else weigh_message(one) for one in prompt.messages)
    weight += sum(known[id(tool)] if id(tool) in known else weigh_tool(tool) for tool in prompt.tools)
    if prompt.parameters.response_schema is not None:
        weight += weigh_json(prompt.parameters.response_schema)
    images = sum(isinstance(part, Image) for message in prompt.messages for part in message.parts)
    return PromptSize(weight, images)


def weigh_message(message: Message) -> int:
    weight = MESSAGE_WEIGHT
    for part in message.parts:
        match part:
            case Text(text=text):
                weight += weigh_json(text)
            case Call(id=id, name=name, arguments=arguments):
                weight += MESSAGE_WEIGHT + weigh_json(id) + weigh_json(name) + weigh_json(arguments)
            case Result(call_id=id, content=content):
                weight += weigh_json(id) + weigh_json(content)
            case File(data=data, url=url):
                weight += (len(data) + len(url)) * FILE_BYTE_WEIGHT
            case Image():
                pass  # counted by number
    return weight + (weigh_json(message.extra) if message.extra is not None else 0)


def weigh_tool(tool: Tool) -> int:
    return MESSAGE_WEIGHT + weigh_json(tool.name) + weigh_json(tool.description) + weigh_json(tool.parameters)


def weigh_json(value: object) -> int:
    return weigh(msgspec.json.encode(value))


def output_bound(prompt: Prompt, model: Model, reserve: int = DEFAULT_RESERVE_TOKENS) -> int:
    """The most tokens of an answer: those of the ask, else `reserve`, and never more than the model's options allow."""
    own, asked = max_output_tokens(getattr(model, "options", None)), prompt.parameters.max_tokens
    wanted = asked if isinstance(asked, int) and asked > 0 else reserve
    return wanted if own is None else min(wanted, own)


def max_output_tokens(options: object) -> int | None:
    """The maximum that the options of a model have."""
    own = getattr(options, "max_tokens", None)
    return own if isinstance(own, int) and own > 0 else None
