"""What a client asks → what a flow can see of it."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rightseat.core.ask import Ask
from rightseat.core.messages import File, Image, Message
from rightseat.core.text import one_line, truncate
from rightseat.plugins import shortening
from rightseat.plugins.scene import Scene, Upload

TURNS = 10
"""How many of the last messages a flow sees."""
LINE = 200
"""Characters of a message in the summary of a conversation."""
SUMMARY = 2000
"""Bytes of that summary."""

SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}


def scene_of(ask: Ask, starter: str = "") -> Scene:
    """`starter` is the question where the user sends none."""
    last = next((at for at, one in reversed(list(enumerate(ask.messages))) if one.role == "user"), None)
    question = (ask.messages[last].text.strip() if last is not None else "") or starter
    return Scene(
        question,
        files=tuple(uploads(ask.messages)),
        summary=summary(ask.messages[: last or 0]),
        history=tuple(turns(ask.messages[: last or 0])),
        time=now(ask),
        language=language(ask, question),
        user=ask.principal,
        is_attended=ask.attended or not ask.transient,
    )


def uploads(messages: Sequence[Message]) -> Iterator[Upload]:
    """The files of this conversation, and of no other."""
    for message in messages:
        if message.role != "user":
            continue
        for number, part in enumerate(message.parts):
            if isinstance(part, Image | File) and part.data:
                id = f"{message.id}:{number}"
                yield Upload(id, part.name or f"file-{number}", part.media_type, part.data)


def turns(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for message in messages[-TURNS:]:
        if is_said(message):
            yield message.role, message.text


def summary(messages: Sequence[Message]) -> str:
    """A line for each message, without a model's help. Of a long conversation it has the end, and says so."""
    lines = [f"{one.role}: {truncate(one_line(one.text), LINE)}" for one in messages if is_said(one)]
    left = SUMMARY
    for number, line in enumerate(reversed(lines)):
        left -= shortening.size(line) + 1
        if left < 0:
            return "\n".join([f"… ({len(lines) - number} earlier messages)", *lines[len(lines) - number :]])
    return "\n".join(lines)


def is_said(message: Message) -> bool:
    return message.role in ("user", "assistant") and bool(message.text.strip())


def now(ask: Ask) -> datetime:
    """In the user's time zone where the client says which (`properties.timezone`), else in the server's."""
    zone = ask.properties.get("timezone")
    if isinstance(zone, str):
        try:
            return datetime.now(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # no such zone here
    return datetime.now().astimezone()


def language(ask: Ask, question: str) -> str:
    """What the client says (`properties.language`), else what the question is written in, as far as that shows."""
    said = ask.properties.get("language")
    if isinstance(said, str) and said:
        return said
    return next((name for name, script in SCRIPTS.items() if script.search(question)), "en")
