"""Converts AG-UI 1.0 events to the forms that clients of version 0.0.59 can decode.

A 0.0.59 client aborts the run at the first event that it cannot decode, and AG-UI 1.0 has six such forms: results and
tool messages in parts, sources that are a provider's file, outcomes with pending calls or `cancelled`, and a run input
without tools and context. Only clients that declare version 1.0 receive these forms.
"""

from typing import Any, Literal

Version = Literal["0.0.59", "1.0"]
Json = dict[str, Any]


def read_version(declared: str | None) -> Version:
    """Return the version to encode for. Clients that declare `1.0`, `1.0.0`, `1.2` or `2` all get 1.0."""
    first = (declared or "").strip().partition(".")[0]
    return "1.0" if first.isascii() and first.isdecimal() and first.strip("0") else "0.0.59"


THINKING = frozenset(
    f"THINKING_{what}" for what in ("START", "END", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
)
"""Events of 0.0.59 that 1.0 removed."""
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


EVENT_TYPES: dict[Version, frozenset[str]] = {"0.0.59": TYPES | THINKING, "1.0": TYPES}


def fit_version(event: Json, version: Version) -> Json:
    """Convert an event for clients of that version. An unknown type is wrapped in a RAW event."""
    if event["type"] not in EVENT_TYPES[version]:
        return {"type": "RAW", "event": event}
    return event if version == "1.0" else downgrade(event)


def downgrade(event: Json) -> Json:
    match event:
        case {"type": "TOOL_CALL_RESULT", "content": list(parts)}:
            return {**event, "content": text_of(parts)}
        case {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}:
            return {**event, "messages": [downgrade_message(message) for message in messages]}
        case {"type": "RUN_STARTED", "input": {"messages": list(messages)} as run_input}:
            downgraded = [downgrade_message(message) for message in messages]
            return {**event, "input": {"tools": [], "context": [], **run_input, "messages": downgraded}}
        case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": interrupts}}:
            return {**event, "outcome": {"type": "interrupt", "interrupts": interrupts}}
        case {"type": "RUN_FINISHED", "outcome": _}:
            return {key: value for key, value in event.items() if key != "outcome"}
    return event


def downgrade_message(message: Json) -> Json:
    if type(message.get("content")) is str:
        return message
    match message:
        case {"role": "tool", "content": list(parts)}:
            return {**message, "content": text_of(parts)}
        case {"role": "user", "content": list(parts)}:
            return {**message, "content": [downgrade_part(part) for part in parts]}
    return message


def downgrade_part(part: Json) -> Json:
    match part:
        case {"type": str(kind), "source": {"type": "file", "value": str(name)} as source}:
            return {"type": "text", "text": describe_file(kind, name, source.get("provider"))}
    return part


def describe_file(kind: str, name: str, provider: str | None) -> str:
    """Return the text that replaces a file stored at a provider."""
    return f"[{kind} {name!r}, kept at {provider or 'the provider'}]"


def text_of(content: Any) -> str:
    """Return the text of a string or of parts. Parts other than text are omitted, as AG-UI requires."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
