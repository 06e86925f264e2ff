"""Messages and threads as a remote CopilotKit agent stores them."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from rightseat.core import events as e
from rightseat.core.agent import AgentThread
from rightseat.core.errors import AgentUnreachable, tell_operator
from rightseat.core.messages import Call, Message, Result, Role, Text
from rightseat.core.types import JSON_ERRORS


def find_unstreamed(messages: Any, sent: Collection[str], streamed: Collection[str]) -> Iterator[e.Event]:
    """`sent` are ids of messages, calls and results that the agent received, `streamed` those that it has streamed.

    Messages before the last one that the agent received are older than the run.
    """
    found = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    older = [place for place, one in enumerate(found) if one.get("role") == "user" or is_known(one, sent)]
    for one in found[older[-1] + 1 if older else 0 :]:
        if not is_known(one, streamed):
            yield from expand_message(one)


def read_thread(stored: Any, url: str) -> AgentThread | None:
    """Decode the response to a request for a thread. An endpoint reports a thread that it does not have as empty."""
    match stored:
        case {"threadExists": False}:
            return None
        case {"threadExists": True, "state": state, "messages": messages}:
            return AgentThread(tuple(read_messages(parse(messages))), parse(state))
    problem = "The remote endpoint sent an invalid thread: it should have `threadExists`, `state` and `messages`."
    raise tell_operator(AgentUnreachable(problem), url)


def parse(value: Any) -> Any:
    """State and messages are objects, or JSON as text as CopilotKit's runtime sends them to its clients."""
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except JSON_ERRORS:
        return None


ROLES: dict[Any, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


def read_messages(messages: Any) -> Iterator[Message]:
    """Decode stored messages. A call joins the message before it that is its parent. Unknown kinds are omitted."""
    open_message: Message | None = None
    for message in messages if isinstance(messages, list) else ():
        match message:
            case {"id": str(id), "name": str(name), "arguments": arguments}:
                call, parent = Call(id, name, text_of(arguments)), message.get("parentMessageId")
                if open_message is not None and open_message.id == parent:
                    open_message = msgspec.structs.replace(open_message, parts=(*open_message.parts, call))
                    continue
                read = Message("assistant", (call,), id=parent if isinstance(parent, str) else id)
            case {"actionExecutionId": str(call_id), "result": result}:
                content = Result(call_id, str(message.get("actionName") or ""), text_of(result))
                read = Message("tool", (content,), id=str(message.get("id") or f"result-{call_id}"))
            case {"id": str(id), "role": str(role), "content": str(text)} if role in ROLES:
                read = Message(ROLES[role], (Text(text),), id=id)
            case _:
                continue
        if open_message is not None:
            yield open_message
        open_message = read
    if open_message is not None:
        yield open_message


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
