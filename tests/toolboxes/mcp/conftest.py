"""A toolbox before a real server, and calls of its tools."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from rightseat.app import PartRegistry
from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import DirectSteps, Steps
from rightseat.core.events import Event, ToolCallReturned
from rightseat.core.messages import user
from rightseat.core.tools import Invocation, Tool
from rightseat.operations.pins import PinStore
from rightseat.stores.files import MemoryArtifacts
from rightseat.toolboxes.mcp import Options, build
from rightseat.toolboxes.mcp.toolbox import McpToolbox

Opened = Callable[..., AbstractAsyncContextManager[McpToolbox]]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """`async with opened(url=…) as box:` is a toolbox, closed at the end."""

    @asynccontextmanager
    async def open(pins_in: PinStore | None = None, **options: Any) -> AsyncIterator[McpToolbox]:
        box = build(
            Options(**{"pin_dir": tmp_path / "pins"} | options), PartRegistry({}, (), MemoryArtifacts(), pins_in)
        )
        assert isinstance(box, McpToolbox)
        async with box:
            yield box

    return open


def ask(**more: Any) -> Ask:
    return Ask(messages=(user("Hi"),), **more)


async def find(box: McpToolbox, name: str, asked: Ask | None = None) -> Tool:
    tools = {tool.name: tool for tool in await box.tools(asked or ask())}
    return tools[name]


async def call(
    tool: Tool,
    arguments: dict[str, JsonValue] | None = None,
    *answers: Answer,
    asked: Ask | None = None,
    steps: Steps | None = None,
) -> list[Event]:
    """What the call says."""
    assert tool.stream is not None
    invocation = Invocation("call_1", arguments or {}, asked or ask(), "key", answers=answers)
    return [event async for event in tool.stream(invocation, steps or DirectSteps())]


def result(events: list[Event]) -> ToolCallReturned:
    (returned,) = [event for event in events if isinstance(event, ToolCallReturned)]
    return returned
