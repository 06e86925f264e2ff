"""Tools of MCP servers that the user connected to Workspace. Workspace runs them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.request.types import McpTool, Query
from rightseat.faces.openbb.tools.functions import Arguments, StatusStep, WorkspaceFunction
from rightseat.faces.openbb.tools.tool_names import UniqueNames
from rightseat.json_schema import find_faults

EXECUTE_TOOL = "execute_agent_tool"


@dataclass(frozen=True, slots=True)
class WorkspaceMcpTool:
    name: str
    tool: McpTool

    def function(self) -> WorkspaceFunction:
        offer = ToolOffer(self.name, self.tool.description or self.tool.title, as_object_schema(self.tool.schema))
        return WorkspaceFunction(offer, self.write, self.announce, EXECUTE_TOOL)

    def write(self, arguments: Arguments) -> dict[str, Any]:
        check_arguments(arguments, self.tool.schema, self.name)
        return {"server_id": self.tool.server_id, "tool_name": self.tool.name, "parameters": dict(arguments)}

    def announce(self, arguments: Arguments) -> StatusStep:
        return StatusStep(f"Calling {self.tool.title}", [dict(arguments)] if arguments else [])


def mcp_tools(query: Query, names: UniqueNames) -> list[WorkspaceMcpTool]:
    return [WorkspaceMcpTool(names.reserve(tool.name), tool) for tool in query.tools]


def as_object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema, as model servers require, without `$schema`."""
    object_schema = {key: value for key, value in schema.items() if key != "$schema"}
    return (
        object_schema
        if object_schema.get("type") == "object"
        else {"properties": {}, **object_schema, "type": "object"}
    )


def check_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any], name: str) -> None:
    """Raise `BadRequest` with all mismatches, before anything is sent to a foreign server."""
    if faults := find_faults(name, schema, arguments):
        raise BadRequest(f"The arguments do not match the schema of {name}: {'; '.join(faults)}. Nothing was sent.")
