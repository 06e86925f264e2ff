"""The messages that an agent of a remote endpoint has in its state at the end: what it never streamed is said then."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    TextDelta,
    TextEnded,
    TextStarted,
)


def unsaid(messages: Any, sent: Collection[str], said: Collection[str]) -> Iterator[Event]:
    """`sent` are ids of messages, calls and results that the agent was sent, `said` those that it has streamed.

    What is before the last that it was sent is older than the run.
    """
    found = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    older = [place for place, one in enumerate(found) if one.get("role") == "user" or is_known(one, sent)]
    for one in found[older[-1] + 1 if older else 0 :]:
        if not is_known(one, said):
            yield from read(one)


def is_known(message: dict[str, Any], ids: Collection[str]) -> bool:
    if "actionExecutionId" in message:
        return f"result-{message['actionExecutionId']}" in ids
    return message.get("id") in ids


def read(message: dict[str, Any]) -> Iterator[Event]:
    match message:
        case {"actionExecutionId": str(call_id), "result": result}:
            yield CallReturned(call_id, str(message.get("actionName") or ""), text_of(result))
        case {"id": str(id), "name": str(name), "arguments": arguments}:
            yield CallStarted(id, name, message.get("parentMessageId"))
            yield CallDelta(id, text_of(arguments))
            yield CallEnded(id)
        case {"id": str(id), "role": "assistant", "content": str(content)} if content:
            yield TextStarted(id)
            yield TextDelta(id, content)
            yield TextEnded(id)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
