"""Converts messages to the turns that a chat template prints."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from rightseat.core.errors import BadRequest
from rightseat.core.messages import Call, File, Image, Message, Result
from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.models.completion.backend import Description
from rightseat.models.completion.styles.style import Style, TemplateTurn

OBJECT_ARGUMENTS = re.compile(r"arguments\s*\|\s*(?:tojson|items|dictsort)|arguments\.items\(")
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def write_turns(messages: Iterable[Message], style: Style, description: Description) -> list[TemplateTurn]:
    """Raises `BadRequest` for a message with anything but text."""
    turns = merge_turns([turn for message in messages for turn in write_message(message)])
    if style.history is not None:
        turns = merge_turns(style.history(turns))
    elif expects_objects(description):
        decode_arguments(turns)
    if style.id_length is not None:
        shorten_ids(turns, style.id_length)
    return turns


def order_roles(turns: Sequence[TemplateTurn], description: Description) -> list[TemplateTurn]:
    """Move system messages into user turns where the template rejects them or insists on alternating roles."""
    template = description.template
    if template and not description.caps.get("supports_system_role", "system" in template):
        return move_system_turns(turns, keep_first=False)
    if "alternate" in template:
        return move_system_turns(turns, keep_first=True)
    return list(turns)


def write_message(message: Message) -> Iterator[TemplateTurn]:
    for part in message.parts:
        if isinstance(part, Image | File):
            kind = "an image" if isinstance(part, Image) else f"a file ({part.kind})"
            named = f" {part.name!r}" if part.name else ""
            raise BadRequest(
                f"A message contains {kind}{named} of the type {part.media_type}. This model reads text only."
            )
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, Result):
                yield {"role": "tool", "name": part.name, "tool_call_id": part.call_id, "content": part.content}
        return
    turn: TemplateTurn = {"role": message.role, "content": message.text}
    if calls := [part for part in message.parts if isinstance(part, Call)]:
        turn["tool_calls"] = [write_call(call) for call in calls]
    yield turn


def write_call(call: Call) -> TemplateTurn:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}


def merge_turns(turns: Sequence[TemplateTurn]) -> list[TemplateTurn]:
    """Join consecutive turns of the system or the user."""
    written: list[TemplateTurn] = []
    for turn in turns:
        last = written[-1] if written else None
        if last is not None and last["role"] == turn["role"] and turn["role"] in ("system", "user"):
            written[-1] = {**last, "content": f"{last['content']}\n\n{turn['content']}"}
        else:
            written.append(turn)
    return written


def move_system_turns(turns: Sequence[TemplateTurn], *, keep_first: bool) -> list[TemplateTurn]:
    """Put system messages at the head of the next user turn."""
    written: list[TemplateTurn] = []
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
    return merge_turns(written)


def expects_objects(description: Description) -> bool:
    supported = description.caps.get("supports_object_arguments")
    return OBJECT_ARGUMENTS.search(description.template) is not None if supported is None else supported


def decode_arguments(turns: Sequence[TemplateTurn]) -> None:
    """Replace the JSON text of arguments by the object. Text that is no JSON object stays."""
    for turn in turns:
        for call in turn.get("tool_calls", ()):
            function = call["function"]
            try:
                value: JsonValue = msgspec.json.decode(function["arguments"])
            except JSON_ERRORS:
                continue
            if isinstance(value, dict):
                function["arguments"] = value


def shorten_ids(turns: Sequence[TemplateTurn], length: int) -> None:
    """Replace ids by hashes of exactly that many letters and digits."""
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
