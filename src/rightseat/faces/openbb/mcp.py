"""Tools of the servers that the user connected to Workspace: each with its own schema, run by Workspace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.faces.openbb.asking import McpTool, Query
from rightseat.faces.openbb.checking import check
from rightseat.faces.openbb.functions import Arguments, Function, Step
from rightseat.faces.openbb.naming import Names

EXECUTE = "execute_agent_tool"


@dataclass(frozen=True, slots=True)
class Execute:
    name: str
    tool: McpTool

    def function(self) -> Function:
        offer = ToolOffer(self.name, self.tool.description or self.tool.title, as_object(self.tool.schema))
        return Function(offer, self.write, self.announce, EXECUTE)

    def write(self, arguments: Arguments) -> dict[str, Any]:
        check(arguments, self.tool.schema, self.name)
        return {"server_id": self.tool.server_id, "tool_name": self.tool.name, "parameters": dict(arguments)}

    def announce(self, arguments: Arguments) -> Step:
        return Step(f"Calling {self.tool.title}", [dict(arguments)] if arguments else [])


def executes(query: Query, names: Names) -> list[Execute]:
    return [Execute(names.take(tool.name), tool) for tool in query.tools]


def as_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a server gives as its schema, as far as a model's server takes it: an object's."""
    found = {key: value for key, value in schema.items() if key != "$schema"}
    return found if found.get("type") == "object" else {"properties": {}, **found, "type": "object"}
