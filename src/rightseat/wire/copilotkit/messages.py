"""Finds messages in the final state of a remote CopilotKit agent that the agent never streamed."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from rightseat.core import events as e


def find_unstreamed(messages: Any, sent: Collection[str], streamed: Collection[str]) -> Iterator[e.Event]:
    """`sent` are ids of messages, calls and results that the agent received, `streamed` those that it has streamed.

    Messages before the last one that the agent received are older than the run.
    """
    found = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    older = [place for place, one in enumerate(found) if one.get("role") == "user" or is_known(one, sent)]
    for one in found[older[-1] + 1 if older else 0 :]:
        if not is_known(one, streamed):
            yield from expand_message(one)


def is_known(message: dict[str, Any], ids: Collection[str]) -> bool:
    if "actionExecutionId" in message:
        return f"result-{message['actionExecutionId']}" in ids
    return message.get("id") in ids


def expand_message(message: dict[str, Any]) -> Iterator[e.Event]:
    match message:
        case {"actionExecutionId": str(call_id), "result": result}:
            yield e.ToolCallReturned(call_id, str(message.get("actionName") or ""), text_of(result))
        case {"id": str(id), "name": str(name), "arguments": arguments}:
            yield e.ToolCallStarted(id, name, message.get("parentMessageId"))
            yield e.ToolCallDelta(id, text_of(arguments))
            yield e.ToolCallEnded(id)
        case {"id": str(id), "role": "assistant", "content": str(content)} if content:
            yield e.TextStarted(id)
            yield e.TextDelta(id, content)
            yield e.TextEnded(id)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
