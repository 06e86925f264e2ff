"""Our messages → turns as a model's chat template knows them."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from rightseat.core.errors import BadAsk
from rightseat.core.messages import Call, File, Image, Message, Result
from rightseat.core.values import JSON_ERRORS, JsonValue
from rightseat.models.completion.engine import Description
from rightseat.models.completion.styles.style import Style, Turn

OBJECTS = re.compile(r"arguments\s*\|\s*(?:tojson|items|dictsort)|arguments\.items\(")
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def write(messages: Iterable[Message], style: Style, description: Description) -> list[Turn]:
    """Turns that this model's template can print. Raises `BadAsk` for a message that is no text."""
    turns = merged([turn for message in messages for turn in write_message(message)])
    if style.history is not None:
        turns = merged(style.history(turns))
    elif takes_objects(description):
        read_arguments(turns)
    if style.id_length is not None:
        shorten_ids(turns, style.id_length)
    return turns


def ordered(turns: Sequence[Turn], description: Description) -> list[Turn]:
    """What a template that insists on an order of roles would refuse is put into the turns of the user."""
    template = description.template
    if template and not description.caps.get("supports_system_role", "system" in template):
        return without_system(turns, keep_first=False)
    if "alternate" in template:
        return without_system(turns, keep_first=True)
    return list(turns)


def write_message(message: Message) -> Iterator[Turn]:
    for part in message.parts:
        if isinstance(part, Image | File):
            kind = "an image" if isinstance(part, Image) else f"a file ({part.kind})"
            named = f" {part.name!r}" if part.name else ""
            raise BadAsk(f"A message holds {kind}{named} of the type {part.media_type}. This model reads text only.")
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, Result):
                yield {"role": "tool", "name": part.name, "tool_call_id": part.call_id, "content": part.content}
        return
    turn: Turn = {"role": message.role, "content": message.text}
    if calls := [part for part in message.parts if isinstance(part, Call)]:
        turn["tool_calls"] = [write_call(call) for call in calls]
    yield turn


def write_call(call: Call) -> Turn:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}


def merged(turns: Sequence[Turn]) -> list[Turn]:
    """Turns of the same speaker as one, and all that is said by the system before anybody speaks."""
    written: list[Turn] = []
    for turn in turns:
        last = written[-1] if written else None
        if last is not None and last["role"] == turn["role"] and turn["role"] in ("system", "user"):
            written[-1] = {**last, "content": f"{last['content']}\n\n{turn['content']}"}
        else:
            written.append(turn)
    return written


def without_system(turns: Sequence[Turn], *, keep_first: bool) -> list[Turn]:
    """What the system says, at the head of what the user says next."""
    written: list[Turn] = []
    pending = ""
    for at, turn in enumerate(turns):
        if turn["role"] == "system" and not (keep_first and at == 0):
            pending += f"{turn['content']}\n\n"
        elif turn["role"] == "user":
            written.append({**turn, "content": pending + turn["content"]})
            pending = ""
        else:
            written.append(turn)
    if pending:
        written.append({"role": "user", "content": pending.strip()})
    return merged(written)


def takes_objects(description: Description) -> bool:
    known = description.caps.get("supports_object_arguments")
    return OBJECTS.search(description.template) is not None if known is None else known


def read_arguments(turns: Sequence[Turn]) -> None:
    """The arguments as what they say. A text that is no object stays as it is."""
    for turn in turns:
        for call in turn.get("tool_calls", ()):
            function = call["function"]
            try:
                value: JsonValue = msgspec.json.decode(function["arguments"])
            except JSON_ERRORS:
                continue
            if isinstance(value, dict):
                function["arguments"] = value


def shorten_ids(turns: Sequence[Turn], length: int) -> None:
    """Ids of just that many letters and digits; the same id always becomes the same."""
    for turn in turns:
        if "tool_call_id" in turn:
            turn["tool_call_id"] = short_id(turn["tool_call_id"], length)
        for call in turn.get("tool_calls", ()):
            call["id"] = short_id(call["id"], length)


def short_id(id: str, length: int) -> str:
    if len(id) == length and id.isascii() and id.isalnum():
        return id
    number = int.from_bytes(hashlib.sha256(id.encode()).digest())
    return "".join(BASE62[number // 62**place % 62] for place in range(length))
