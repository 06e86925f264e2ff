"""Builds the scope of a flow from an ask: question, files, history, time, language."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rightseat.core.ask import Ask
from rightseat.core.messages import File, Image, Message
from rightseat.plugins.expressions import truncation
from rightseat.plugins.scope import Scope, Upload
from rightseat.text import one_line, truncate

MAX_HISTORY_MESSAGES = 10
MAX_SUMMARY_LINE_CHARACTERS = 200
MAX_SUMMARY_BYTES = 2000

SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}


def build_scope(ask: Ask) -> Scope:
    last = next((at for at, one in reversed(list(enumerate(ask.messages))) if one.role == "user"), None)
    question = ask.messages[last].text.strip() if last is not None else ""
    return Scope(
        question,
        files=tuple(list_uploads(ask.messages)),
        summary=summarize(ask.messages[: last or 0]),
        history=tuple(list_history(ask.messages[: last or 0])),
        time=local_time(ask),
        language=find_language(ask, question),
        user=ask.principal,
        is_attended=ask.interactive or not ask.transient,
    )


def list_uploads(messages: Sequence[Message]) -> Iterator[Upload]:
    """The files of this conversation."""
    for message in messages:
        if message.role != "user":
            continue
        for number, part in enumerate(message.parts):
            if isinstance(part, Image | File) and part.data:
                id = f"{message.id}:{number}"
                yield Upload(id, part.name or f"file-{number}", part.media_type, part.data)


def list_history(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for message in messages[-MAX_HISTORY_MESSAGES:]:
        if has_text(message):
            yield message.role, message.text


def summarize(messages: Sequence[Message]) -> str:
    """One line per message, without a model. A long conversation keeps its end, with the number of omitted messages."""
    lines = [
        f"{one.role}: {truncate(one_line(one.text), MAX_SUMMARY_LINE_CHARACTERS)}" for one in messages if has_text(one)
    ]
    bytes_left = MAX_SUMMARY_BYTES
    for number, line in enumerate(reversed(lines)):
        bytes_left -= truncation.count_bytes(line) + 1
        if bytes_left < 0:
            return "\n".join([f"… ({len(lines) - number} earlier messages)", *lines[len(lines) - number :]])
    return "\n".join(lines)


def has_text(message: Message) -> bool:
    return message.role in ("user", "assistant") and bool(message.text.strip())


def local_time(ask: Ask) -> datetime:
    """In the time zone of `properties.timezone`, or the server's."""
    zone = ask.properties.get("timezone")
    if isinstance(zone, str):
        try:
            return datetime.now(ZoneInfo(zone))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass  # unknown here
    return datetime.now().astimezone()


def find_language(ask: Ask, question: str) -> str:
    """`properties.language`, or the language that the script of the question shows."""
    language = ask.properties.get("language")
    if isinstance(language, str) and language:
        return language
    return find_script_language(question)


def find_script_language(text: str) -> str:
    return next((name for name, script in SCRIPTS.items() if script.search(text)), "en")
