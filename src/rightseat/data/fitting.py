"""What goes into a model's window, and what has to stay outside.

The measure is bytes on the wire to the model, because that is what can be counted without knowing the model: four of
them make about one token, in English text and in tables alike. Text is counted as it stands in JSON, where a line break
takes two bytes and a quotation mark too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from rightseat.core.messages import Call, File, Image, Message, Part, Result, Text
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool

BYTES_PER_TOKEN = 4
IMAGE = 4 * 1500  # bytes that a picture counts for: models count it by its size on the screen, not in base64
AROUND = 96  # bytes of JSON around one message or one tool
SHORTEST = 400  # bytes below which nothing is cut any further


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be sent to a model at once; `answer` of it stays free for what it says."""

    tokens: int = 32_768
    answer: int = 2_048

    @property
    def bytes(self) -> int:
        return (self.tokens - self.answer) * BYTES_PER_TOKEN


def size(text: str) -> int:
    return len(msgspec.json.encode(text)) - 2


def cut(text: str, room: int, more: str = "") -> str:
    """The text, or its beginning and its end with a word between them; `more` says how to get the rest."""
    if size(text) <= room:
        return text
    keep = room
    while True:
        word = f"\n[… {len(text) - keep:,} characters are left out here{f'; {more}' if more else ''} …]\n"
        head = keep * 2 // 3
        shorter = text[:head] + word + text[len(text) - (keep - head) :]
        over = size(shorter) - room
        if over <= 0 or keep == 0:
            return shorter
        keep = max(0, keep - max(over, keep // 50))


class Room:
    """What the results of one turn may take together: each up to half of what is left, so that it never runs out."""

    def __init__(self, left: int) -> None:
        self.left = left

    @property
    def next(self) -> int:
        return max(self.left // 2, SHORTEST)

    def take(self, text: str, more: str = "") -> str:
        """The text as far as there is room, which it takes."""
        shown = cut(text, self.next, more)
        self.left = max(self.left - size(shown), 0)
        return shown


class Fitted(msgspec.Struct, frozen=True):
    """`notes` say what was shortened, for whoever asked."""

    prompt: Prompt
    notes: tuple[str, ...] = ()


def fit_prompt(prompt: Prompt, budget: Budget) -> Fitted:
    """The prompt, with the oldest results shortened first where it is too long; then what was said long ago.

    The instructions, the last question and what follows it stay whole as long as anything else can be cut.
    """
    over = prompt_size(prompt) - budget.bytes
    if over <= 0:
        return Fitted(prompt)
    messages, cuts = list(prompt.messages), 0
    for place in order(messages):
        if over <= 0:
            break
        shorter = shortened(messages[place], over)
        saved = message_size(messages[place]) - message_size(shorter)
        if saved > 0:
            messages[place], over, cuts = shorter, over - saved, cuts + 1
    note = f"The conversation is longer than the model can read: {cuts} earlier results or messages were shortened."
    if over > 0:
        note += f" It is still {over:,} bytes too long, and the model may refuse it."
    return Fitted(msgspec.structs.replace(prompt, messages=tuple(messages)), (note,))


def order(messages: Sequence[Message]) -> list[int]:
    """Which message is to be shortened first: results before words, the old before the new, instructions last."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=-1)
    places = range(len(messages))
    results = [place for place in places if messages[place].role == "tool"]
    spoken = [place for place in places if messages[place].role in ("user", "assistant") and place < last]
    return [*results, *spoken, *(place for place in places if messages[place].role == "system")]


def shortened(message: Message, over: int) -> Message:
    """The same with its longest texts cut by `over` bytes in all, or as far as they can be."""
    parts = list(message.parts)
    for place in sorted(range(len(parts)), key=lambda place: -part_size(parts[place])):
        before = part_size(parts[place])
        room = max(before - over, SHORTEST)
        match parts[place]:
            case Text(text):
                parts[place] = Text(cut(text, room))
            case Result(content=content) as result:
                parts[place] = msgspec.structs.replace(result, content=cut(content, room))
            case _:
                continue
        over -= before - part_size(parts[place])
        if over <= 0:
            break
    return msgspec.structs.replace(message, parts=tuple(parts))


def prompt_size(prompt: Prompt) -> int:
    return sum(map(message_size, prompt.messages)) + sum(map(tool_size, prompt.tools))


def message_size(message: Message) -> int:
    return AROUND + sum(part_size(part) for part in message.parts)


def part_size(part: Part) -> int:
    match part:
        case Text(text):
            return size(text)
        case Result(content=content):
            return size(content)
        case Call(arguments=arguments):
            return AROUND + size(arguments)
        case Image():
            return IMAGE
        case File(data=data):
            return len(data)


def tool_size(tool: Tool) -> int:
    return AROUND + size(tool.name) + size(tool.description) + len(msgspec.json.encode(tool.parameters))
