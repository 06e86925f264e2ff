"""The face on a real server, and a client that reads its answers."""

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

import httpx2
from fastapi import FastAPI
from openbb_ai import models
from pydantic import BaseModel

from rightseat.app import Assembly, application
from rightseat.config import ConfiguredPart, Server
from rightseat.core.agent import Agent
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.toolset import ApprovalPolicy
from rightseat.core.messages import Message, Result, Text
from rightseat.core.model import CallChunk, Model, StopChunk, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces import openbb
from rightseat.faces.openbb.prompt.files import FileService
from rightseat.faces.openbb.request.types import Query, TextMessage
from rightseat.faces.openbb.session import Session
from rightseat.logs.memory import MemoryLog
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedResponse

Sent = list[tuple[str, dict[str, Any]]]
"""The events of an answer: names and data."""

MODELS: dict[str, type[BaseModel]] = {
    "copilotMessageChunk": models.MessageChunkSSEData,
    "copilotStatusUpdate": models.StatusUpdateSSEData,
    "copilotMessageArtifact": models.ClientArtifact,
    "copilotCitationCollection": models.CitationCollection,
    "copilotFunctionCall": models.FunctionCallSSEData,
    "copilotPromptSuggestions": models.PromptSuggestionsSSEData,
}
"""OpenBB's own models of what it is sent: every event of every test is held against them."""

PRICES: list[dict[str, Any]] = [{"date": "2024-10-15", "close": 233.85}, {"date": "2024-10-14", "close": 231.3}]


def app(
    model: Model | None = None, *, agent: Agent | None = None, approval: ApprovalPolicy = "writes", **options: Any
) -> FastAPI:
    """The model answers as `default`, with the tools of the face; or the agent does."""
    chosen = openbb.Options(**options)
    sessions = openbb.toolbox(chosen)
    if agent is None:
        assert model is not None
        agent = Loop(model, [sessions], approval=approval)
    threads = MemoryThreads()
    runtime = Runtime({"default": agent}, log=MemoryLog(), threads=threads, engine=LocalEngine())
    part, feedback = ConfiguredPart("faces", "openbb", openbb, chosen), OwnFeedback(runtime, threads.feedback)
    return application(Assembly(runtime, [part], face_toolboxes={0: sessions}, feedback=feedback), Server())


def session_of(**fields: Any) -> Session:
    """A session of a request with these fields, and one question."""
    given = {"version": "new", "messages": (TextMessage("What is the price of AAPL?", is_user=True),)}
    return open_session(Query(**(given | fields)))


def open_session(query: Query) -> Session:
    return Session(query, {}, FileService(), data_bytes=65_536)


async def post(url: str, body: Any, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as client:
        return await client.post(f"{url}/v1/query", json=body, headers=headers)


async def ask(url: str, body: Any, **headers: str) -> Sent:
    answer = await post(url, body, **headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events(answer.text)


def events(text: str) -> Sent:
    """Comments are passed over, and line ends are as they may be."""
    found: Sent = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        if fields:
            name, data = fields["event"], json.loads(fields["data"])
            MODELS[name].model_validate(copy.deepcopy(data))
            found.append((name, data))
    return found


def names(sent: Sent) -> list[str]:
    return [name for name, _ in sent]


def data_of(sent: Sent, name: str) -> list[dict[str, Any]]:
    return [data for event, data in sent if event == name]


def text_of(sent: Sent) -> str:
    return "".join(data["delta"] for data in data_of(sent, "copilotMessageChunk"))


def call_of(sent: Sent) -> dict[str, Any]:
    (call,) = data_of(sent, "copilotFunctionCall")
    assert sent[-1][0] == "copilotFunctionCall"
    return call


def human(text: str = "What is the price of AAPL?") -> dict[str, Any]:
    return {"role": "human", "content": text}


def widget(id: str = "eod_price", **fields: Any) -> dict[str, Any]:
    symbol = {"name": "symbol", "type": "ticker", "description": "Ticker", "current_value": "AAPL"}
    found = {"uuid": f"uuid-of-{id}", "origin": "OpenBB API", "widget_id": id, "name": id.replace("_", " ").title()}
    return found | {"description": "Prices.", "params": [symbol], "metadata": {}} | fields


def question(*widgets: Mapping[str, Any], text: str = "What is the price of AAPL?", **fields: Any) -> dict[str, Any]:
    return {"messages": [human(text)], "widgets": {"primary": list(widgets), "secondary": [], "extra": []}} | fields


def came_back(body: Mapping[str, Any], call: Mapping[str, Any], *data: Any) -> dict[str, Any]:
    """The next request, as Workspace makes it of a function call and its result."""
    repeated = {"function": call["function"], "input_arguments": call["input_arguments"]}
    result = {"role": "tool", **repeated, "data": list(data), "extra_state": call.get("extra_state", {})}
    messages = [*body["messages"], {"role": "ai", "content": json.dumps(repeated, separators=(",", ":"))}, result]
    return {**body, "messages": messages}


def table(rows: Any = PRICES) -> dict[str, Any]:
    item = {"content": json.dumps(rows), "data_format": {"data_type": "object", "parse_as": "table"}}
    return {"items": [item]}


def calls_of(*wanted: tuple[str, Mapping[str, Any]], text: str = "") -> ScriptedResponse:
    """An answer of a model that calls several tools at once."""
    chunks: list[Any] = [TextChunk(text)] if text else []
    for index, (name, arguments) in enumerate(wanted):
        chunks.append(CallChunk(index, json.dumps(arguments), f"call_{index}", name))
    return [*chunks, StopChunk("tool_calls")]


def said_to(messages: Iterable[Message], role: str) -> list[str]:
    """The texts and results of one role, as a model was sent them."""
    parts = [part for message in messages if message.role == role for part in message.parts]
    return [
        part.content if isinstance(part, Result) else part.text for part in parts if isinstance(part, Text | Result)
    ]
