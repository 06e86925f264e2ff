"""What a client of the 0.0.59 era can read.

It gives up a whole run over a single event that it does not know, and AG-UI 1.0 has six such forms: results and tool
messages in parts, sources that are a provider's file, outcomes that name pending calls or say `cancelled`, and the
input of a run without tools and context. A client says that it speaks 1.0; to any other none of them may be sent.
"""

from typing import Any, Literal

Version = Literal["0.0.59", "1.0"]
Json = dict[str, Any]


def read_version(said: str | None) -> Version:
    """The forms for a client that says which version it speaks: `1.0`, `1.0.0`, `1.2` and `2` all read those of 1.0."""
    first = (said or "").strip().partition(".")[0]
    return "1.0" if first.isascii() and first.isdecimal() and first.strip("0") else "0.0.59"


THINKING = frozenset(
    f"THINKING_{what}" for what in ("START", "END", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
)
"""Known to 0.0.59 and gone from 1.0."""
TYPES = frozenset(
    f"{family}_{what}"
    for family, kinds in {
        "TEXT_MESSAGE": "START CONTENT END CHUNK",
        "TOOL_CALL": "START ARGS END CHUNK RESULT",
        "STATE": "SNAPSHOT DELTA",
        "MESSAGES": "SNAPSHOT",
        "ACTIVITY": "SNAPSHOT DELTA",
        "RUN": "STARTED FINISHED ERROR",
        "STEP": "STARTED FINISHED",
        "REASONING": "START MESSAGE_START MESSAGE_CONTENT MESSAGE_END MESSAGE_CHUNK END ENCRYPTED_VALUE",
        "SUBAGENT": "STARTED FINISHED ERROR",
    }.items()
    for what in kinds.split()
) | {"RAW", "CUSTOM"}


KNOWN: dict[Version, frozenset[str]] = {"0.0.59": TYPES | THINKING, "1.0": TYPES}


def fitted(event: Json, version: Version) -> Json:
    """The event as a client of that version can read it. A type that it does not know goes as RAW."""
    if event["type"] not in KNOWN[version]:
        return {"type": "RAW", "event": event}
    return event if version == "1.0" else older(event)


def older(event: Json) -> Json:
    match event:
        case {"type": "TOOL_CALL_RESULT", "content": list(parts)}:
            return {**event, "content": text_of(parts)}
        case {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}:
            return {**event, "messages": [older_message(message) for message in messages]}
        case {"type": "RUN_STARTED", "input": {"messages": list(messages)} as given}:
            said = [older_message(message) for message in messages]
            return {**event, "input": {"tools": [], "context": [], **given, "messages": said}}
        case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": interrupts}}:
            return {**event, "outcome": {"type": "interrupt", "interrupts": interrupts}}
        case {"type": "RUN_FINISHED", "outcome": _}:
            return {key: value for key, value in event.items() if key != "outcome"}
    return event


def older_message(message: Json) -> Json:
    match message:
        case {"role": "tool", "content": list(parts)}:
            return {**message, "content": text_of(parts)}
        case {"role": "user", "content": list(parts)}:
            return {**message, "content": [older_part(part) for part in parts]}
    return message


def older_part(part: Json) -> Json:
    match part:
        case {"type": str(kind), "source": {"type": "file", "value": str(name)} as source}:
            return {"type": "text", "text": note_of_file(kind, name, source.get("provider"))}
    return part


def note_of_file(kind: str, name: str, provider: str | None) -> str:
    """In place of what only its provider can open."""
    return f"[{kind} {name!r}, kept at {provider or 'the provider'}]"


def text_of(content: Any) -> str:
    """The text of content that is a string or parts; what is no text is left out, as AG-UI wants it."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
