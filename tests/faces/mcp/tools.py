"""Tools that the tests offer to MCP clients."""

import asyncio
from collections.abc import AsyncIterator

from pydantic import JsonValue

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentUnreachable
from rightseat.core.events import Event, Interrupt, RunFinished, StepStarted, ToolCallReturned
from rightseat.core.tools import Invocation, Tool
from rightseat.toolboxes.functions import tool

SEEN: list[str] = []
STARTED = asyncio.Event()
STOPPED = asyncio.Event()


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
async def fail() -> str:
    """Fails."""
    raise RuntimeError("secret detail")


@tool(approval="Delete the file?")
async def delete(path: str) -> str:
    """Deletes a file."""
    SEEN.append(path)
    return f"deleted {path}"


@tool
async def whose(invocation: Invocation) -> str:
    """Says who calls, and with what."""
    return f"{invocation.ask.principal.id} {dict(invocation.ask.headers)}"


@tool
async def hang() -> str:
    """Never ends."""
    STARTED.set()
    try:
        await asyncio.Event().wait()
    finally:
        STOPPED.set()
    return "late"


async def flow(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
    yield StepStarted("first")
    yield StepStarted("second")
    if not invocation.answers:
        schema: JsonValue = {"type": "string", "enum": ["red", "blue"]}
        yield RunFinished("waiting", (Interrupt("q1", "choice", "Which colour?", schema=schema, memo={"kept": 1}),))
        return
    (answer,) = invocation.answers
    yield ToolCallReturned(invocation.call_id, "flow", f"{answer.payload} {answer.memo}")


class Away:
    """A toolbox that is elsewhere and cannot be reached."""

    async def tools(self, ask: Ask) -> list[Tool]:
        raise AgentUnreachable("The shelf is away.")


tools = [add, fail, delete, whose, hang, Tool("flow", "A flow.", {}, stream=flow)]
away = Away()
