"""The tools that scenarios of MCP's conformance suite call, by the names that it expects."""

from collections.abc import AsyncIterator

from pydantic import JsonValue

from rightseat import tool
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, ToolCallReturned
from rightseat.core.tools import Invocation, Tool


@tool
async def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@tool
async def test_error_handling() -> str:
    """Fails."""
    raise RuntimeError("This tool intentionally returns an error for testing")


async def report_progress(invocation: Invocation, steps: Steps) -> AsyncIterator[Event]:
    for progress in (0, 50, 100):
        yield Custom("mcp.progress", {"progress": progress, "total": 100})
    yield ToolCallReturned(invocation.call_id, "test_tool_with_progress", "done")


SCHEMA: dict[str, JsonValue] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}},
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
tools = [
    test_simple_text,
    test_error_handling,
    Tool("test_tool_with_progress", "Reports progress.", {"type": "object"}, stream=report_progress),
    Tool("json_schema_2020_12_tool", "Has a schema with references.", SCHEMA, stream=report_progress),
]
