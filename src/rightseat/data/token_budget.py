"""Fits prompts and tool results into a model's context window.

Sizes are bytes of JSON, which need no tokenizer: 4 bytes are about one token in text and tables. A line break
or a quotation mark takes two bytes in JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool

BYTES_PER_TOKEN = 4
IMAGE_BYTES = 4 * 1500  # per image: models count pixels, not base64
OVERHEAD_BYTES = 96  # of JSON around one message or tool
MIN_BYTES = 400  # nothing is truncated below this


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The context window; `answer_tokens` of it are reserved for the answer."""

    tokens: int = 32_768
    answer_tokens: int = 2_048

    @property
    def bytes(self) -> int:
        return (self.tokens - self.answer_tokens) * BYTES_PER_TOKEN


def json_size(text: str) -> int:
    return len(msgspec.json.encode(text)) - 2


def truncate_middle(text: str, max_bytes: int, hint: str = "") -> str:
    """Replace the middle of a long text with a note; `hint` describes how to read the rest."""
    if json_size(text) <= max_bytes:
        return text
    kept_chars = max_bytes
    while True:
        note = f"\n[… {len(text) - kept_chars:,} characters omitted{f'; {hint}' if hint else ''} …]\n"
        head = kept_chars * 2 // 3
        shorter = text[:head] + note + text[len(text) - (kept_chars - head) :]
        excess = json_size(shorter) - max_bytes
        if excess <= 0 or kept_chars == 0:
            return shorter
        kept_chars = max(0, kept_chars - max(excess, kept_chars // 50))


class OutputBudget:
    """Bytes for all results of one turn: each may use half of the rest, so it never runs out."""

    def __init__(self, remaining: int) -> None:
        self.remaining = remaining

    @property
    def next_bytes(self) -> int:
        return max(self.remaining // 2, MIN_BYTES)

    def truncate(self, text: str, hint: str = "") -> str:
        """Truncate the text to the budget, and consume it."""
        truncated = truncate_middle(text, self.next_bytes, hint)
        self.remaining = max(self.remaining - json_size(truncated), 0)
        return truncated


class FittedPrompt(msgspec.Struct, frozen=True):
    """`notes` describe the shortened parts to the user."""

    prompt: Prompt
    notes: tuple[str, ...] = ()


def fit_prompt(prompt: Prompt, budget: TokenBudget) -> FittedPrompt:
    """Shorten a long prompt: the oldest results first, then old messages.

    Instructions and the messages from the last question on are shortened last, or not at all.
    """
    excess = prompt_size(prompt) - budget.bytes
    if excess <= 0:
        return FittedPrompt(prompt)
    messages, count = list(prompt.messages), 0
    for place in shortening_order(messages):
        if excess <= 0:
            break
        shorter = shorten_message(messages[place], excess)
        saved = message_size(messages[place]) - message_size(shorter)
        if saved > 0:
            messages[place], excess, count = shorter, excess - saved, count + 1
    note = f"The conversation is longer than the context window: {count} earlier results or messages were shortened."
    if excess > 0:
        note += f" It is still {excess:,} bytes too long, and the model may reject it."
    return FittedPrompt(msgspec.structs.replace(prompt, messages=tuple(messages)), (note,))


def shortening_order(messages: Sequence[Message]) -> list[int]:
    """Indexes of messages to shorten, in order: results, then old messages, instructions last."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=-1)
    places = range(len(messages))
    results = [place for place in places if messages[place].role == "tool"]
    texts = [place for place in places if messages[place].role in ("user", "assistant") and place < last]
    return [*results, *texts, *(place for place in places if messages[place].role == "system")]


def shorten_message(message: Message, excess: int) -> Message:
    """Truncate the longest texts of the message by `excess` bytes in total, as far as possible."""
    parts = list(message.parts)
    for place in sorted(range(len(parts)), key=lambda place: -part_size(parts[place])):
        before = part_size(parts[place])
        max_bytes = max(before - excess, MIN_BYTES)
        match parts[place]:
            case Text(text):
                parts[place] = Text(truncate_middle(text, max_bytes))
            case Result(content=content) as result:
                parts[place] = msgspec.structs.replace(result, content=truncate_middle(content, max_bytes))
            case _:
                continue
        excess -= before - part_size(parts[place])
        if excess <= 0:
            break
    return msgspec.structs.replace(message, parts=tuple(parts))


def prompt_size(prompt: Prompt) -> int:
    return sum(map(message_size, prompt.messages)) + sum(map(tool_size, prompt.tools))


def message_size(message: Message) -> int:
    return OVERHEAD_BYTES + sum(part_size(part) for part in message.parts)


def part_size(part: Part) -> int:
    match part:
        case Text(text):
            return json_size(text)
        case Result(content=content):
            return json_size(content)
        case Call(arguments=arguments):
            return OVERHEAD_BYTES + json_size(arguments)
        case Image():
            return IMAGE_BYTES
        case File(data=data):
            return len(data)


def tool_size(tool: Tool) -> int:
    return (
        OVERHEAD_BYTES + json_size(tool.name) + json_size(tool.description) + len(msgspec.json.encode(tool.parameters))
    )
