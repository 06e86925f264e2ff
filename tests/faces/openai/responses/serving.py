"""A server that stores responses, for OpenAI's own client."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai

from rightseat.core.agent import Agent
from rightseat.core.log import Log
from rightseat.core.loop import Loop
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Approval, Invocation, Tool, Toolbox
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.toolboxes.functions import FunctionToolbox
from tests.conftest import Serve
from tests.faces.openai.serving import app, sdk, visiting

LOOKUP: Any = {"type": "function", "name": "lookup", "parameters": {"type": "object", "properties": {}}}


def storing(model: Model, *tools: Tool, log: Log | None = None, **agents: Agent) -> Runtime:
    """A runtime with the agent `helper`, which has the tools, and with the model `bare`."""
    threads = MemoryThreads()
    boxes: Sequence[Toolbox] = [FunctionToolbox(tools)] if tools else []
    return Runtime(
        {"helper": Loop(model, boxes), **agents},
        log=log or MemoryLog(),
        threads=threads,
        engine=LocalEngine(),
        models={"bare": model},
        artifacts=threads.artifacts,
    )


@asynccontextmanager
async def client_of(
    runtime: Runtime, serve: Serve, folder: Path, **options: Any
) -> AsyncIterator[tuple[openai.AsyncOpenAI, httpx2.AsyncClient]]:
    """OpenAI's own client, and one that sees the bytes."""
    async with (
        serve(app(runtime, reasoning_key=folder / "reasoning.key", **options)) as url,
        sdk(url) as client,
        visiting(url) as plain,
    ):
        yield client, plain


def events_of(body: str) -> list[dict[str, Any]]:
    """The events of a whole stream; its `event:` lines are checked."""
    found = []
    for frame in body.removesuffix("\n\n").split("\n\n"):
        name, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


async def delete_file(invocation: Invocation) -> str:
    return f"{invocation.arguments['path']} is deleted."


DELETE = Tool(
    "deleteFile",
    "",
    {"type": "object", "properties": {"path": {"type": "string"}}},
    delete_file,
    approval=Approval("Delete the file?"),
    effect="write",
)


async def get_weather(invocation: Invocation) -> str:
    return "21 degrees"


WEATHER = Tool("getWeather", "", {"type": "object", "properties": {}}, get_weather)
