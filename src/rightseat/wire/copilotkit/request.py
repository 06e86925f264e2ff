"""Encodes an ask as the request to an agent of a CopilotKit remote endpoint."""

from collections.abc import Iterable
from typing import Any

from rightseat.core.ask import Ask
from rightseat.core.loop.tool_calls import read_arguments
from rightseat.core.messages import Call, Image, Message, Result, Text
from rightseat.wire.copilotkit.descriptions import EndpointInfo

Json = dict[str, Any]
INTERRUPT = "LangGraphInterruptEvent"


def write_execution(
    name: str, ask: Ask, info: EndpointInfo, messages: Iterable[Message], node: str | None = None
) -> Json:
    """Include every tool that the agent may call: the endpoint's actions, its other agents, and the client's tools.

    A graph continues after `node`, if given.
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
            {"name": INTERRUPT, "value": read_question(answer.memo), "response": answer.payload} for answer in answers
        ]
    return body


def read_question(memo: Any) -> str:
    return str(memo.get("value")) if isinstance(memo, dict) else ""


def write_actions(name: str, ask: Ask, info: EndpointInfo) -> list[Json]:
    offered: dict[str, Json] = {}
    for tool in ask.tools:
        offered[tool.name] = write_action(tool.name, tool.description, dict(tool.parameters))
    for one in info.actions:
        offered[one.name] = write_action(one.name, one.description, dict(one.schema()))
    for other in info.agents:
        if other.name != name:
            empty = {"type": "object", "properties": {}, "required": []}
            offered[other.name] = write_action(other.name, other.description or "", empty)
    return list(offered.values())


def write_action(name: str, description: str, parameters: Json) -> Json:
    return {"name": name, "description": description, "parameters": parameters}


def write_message(message: Message) -> list[Json]:
    """Text, calls and results become separate messages. Calls of one message have the same parent."""
    calls = [part for part in message.parts if isinstance(part, Call)]
    group = calls[0].id if calls and message.text else message.id  # a text with its parent's id would be read as a call
    written: list[Json] = []
    if message.text and message.role != "tool":
        written.append({"id": message.id, "type": "TextMessage", "role": message.role, "content": message.text})
    for part in message.parts:
        match part:
            case Call(id=id, name=name, arguments=arguments):
                parsed = read_arguments(arguments) or {}
                call = {"id": id, "type": "ActionExecutionMessage", "name": name, "arguments": parsed}
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
