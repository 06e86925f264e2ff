"""An ask → what an agent of a remote endpoint is sent."""

from collections.abc import Iterable
from typing import Any

from rightseat.core.ask import Ask
from rightseat.core.calling import read_arguments
from rightseat.core.messages import Call, Image, Message, Result, Text
from rightseat.wire.copilotkit.describing import Info

Json = dict[str, Any]
INTERRUPT = "LangGraphInterruptEvent"


def write_execution(name: str, ask: Ask, info: Info, messages: Iterable[Message], node: str | None = None) -> Json:
    """With all that the agent may call: the endpoint's actions, its other agents, and what the client runs.

    A graph goes on behind `node`, where one is given.
    """
    body: Json = {
        "name": name,
        "threadId": ask.thread_id,
        "messages": [written for message in messages for written in write_message(message)],
        "state": ask.state if isinstance(ask.state, dict) else {},
        "config": dict(ask.config),
        "properties": dict(ask.properties),
        "actions": write_actions(name, ask, info),
    }
    if node is not None:
        body["nodeName"] = node
    if answers := [answer for answer in ask.answers if answer.status == "resolved"]:
        body["metaEvents"] = [
            {"name": INTERRUPT, "value": asked(answer.memo), "response": answer.payload} for answer in answers
        ]
    return body


def asked(memo: Any) -> str:
    return str(memo.get("value")) if isinstance(memo, dict) else ""


def write_actions(name: str, ask: Ask, info: Info) -> list[Json]:
    offered: dict[str, Json] = {}
    for tool in ask.tools:
        offered[tool.name] = action(tool.name, tool.description, dict(tool.parameters))
    for one in info.actions:
        offered[one.name] = action(one.name, one.description, dict(one.schema()))
    for other in info.agents:
        if other.name != name:
            empty = {"type": "object", "properties": {}, "required": []}
            offered[other.name] = action(other.name, other.description or "", empty)
    return list(offered.values())


def action(name: str, description: str, parameters: Json) -> Json:
    return {"name": name, "description": description, "parameters": parameters}


def write_message(message: Message) -> list[Json]:
    """A text, a call and a result are messages of their own. Calls of one message have one parent."""
    calls = [part for part in message.parts if isinstance(part, Call)]
    group = calls[0].id if calls and message.text else message.id  # a text of that id would be taken for a call
    written: list[Json] = []
    if message.text and message.role != "tool":
        written.append({"id": message.id, "type": "TextMessage", "role": message.role, "content": message.text})
    for part in message.parts:
        match part:
            case Call(id=id, name=name, arguments=arguments):
                known = read_arguments(arguments) or {}
                call = {"id": id, "type": "ActionExecutionMessage", "name": name, "arguments": known}
                written.append(call | {"parentMessageId": group})
            case Result(call_id=id, name=name, content=content):
                result = {"id": message.id, "type": "ResultMessage", "actionExecutionId": id, "actionName": name}
                written.append(result | {"result": content})
            case Image(media_type=kind, data=data) if data:
                image = {"id": message.id, "type": "ImageMessage", "role": message.role}
                written.append(image | {"format": kind.partition("/")[2], "bytes": data})
            case Text() | _:
                pass
    return written
