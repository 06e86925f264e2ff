"""Tools with which a model lists and reads the resources and prompts of an MCP server."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp import MCPError
from pydantic import JsonValue, ValidationError

from rightseat.core.errors import RightseatError
from rightseat.core.tools import Invocation, RunTool, Tool
from rightseat.toolboxes.mcp.connection import Connection
from rightseat.toolboxes.mcp.results import clean_name, write_block, write_contents
from rightseat.toolboxes.mcp.server import Listing, McpServer

NO_PARAMETERS: Mapping[str, JsonValue] = {"type": "object", "properties": {}, "required": []}
URI: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"uri": {"type": "string", "description": "The address of the resource, from the list."}},
    "required": ["uri"],
}
PROMPT: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The name of the prompt, from the list."},
        "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["name"],
}


class McpRequestFailed(RightseatError):
    """Returned to the model, which can often fix the cause."""

    code = "tool_failed"
    status = 502


def reference_tools(server: McpServer, listing: Listing, headers: Mapping[str, str]) -> list[Tool]:
    about, prefix = server.options, clean_name(server.options.prefix or f"{server.options.name}_")[:40]

    def tool(name: str, description: str, parameters: Mapping[str, JsonValue], ask: SessionRequest) -> Tool:
        return Tool(prefix + name, description, parameters, run=run_request(server, headers, ask), approval="exempt")

    found = []
    if about.resources and listing.resources:
        found += [
            tool("list_resources", f"Lists the resources of {about.name}.", NO_PARAMETERS, list_resources),
            tool("read_resource", f"Reads a resource of {about.name}.", URI, read_resource),
        ]
    if about.prompts and listing.prompts:
        found += [
            tool("list_prompts", f"Lists the prompts of {about.name}.", NO_PARAMETERS, list_prompts),
            tool("get_prompt", f"Gets a prompt of {about.name}.", PROMPT, get_prompt),
        ]
    return found


SessionRequest = Callable[[Connection, Mapping[str, Any]], Awaitable[str]]


def run_request(server: McpServer, headers: Mapping[str, str], ask: SessionRequest) -> RunTool:
    async def run(invocation: Invocation) -> str:
        try:
            return await server.request(headers, lambda one: ask(one, invocation.arguments), may_repeat=True)
        except MCPError as error:
            raise McpRequestFailed(
                f"The MCP server {server.options.name!r} returned an error: {error.message}"
            ) from error
        except (ValidationError, RuntimeError) as error:
            raise McpRequestFailed(f"The MCP server {server.options.name!r} returned an invalid response.") from error

    return run


async def list_resources(connection: Connection, arguments: Mapping[str, Any]) -> str:
    found = await connection.session.list_resources()
    templates: Sequence[types.ResourceTemplate] = ()
    try:
        templates = (await connection.session.list_resource_templates()).resource_templates
    except MCPError as error:
        if error.code != types.METHOD_NOT_FOUND:
            raise
    listed: list[dict[str, Any]] = [describe(one, uri=one.uri) for one in found.resources]
    listed += [describe(one, uriTemplate=one.uri_template) for one in templates]
    if found.next_cursor is not None:
        listed.append({"note": "There are more, which are not listed."})
    return json.dumps(listed, ensure_ascii=False)


async def read_resource(connection: Connection, arguments: Mapping[str, Any]) -> str:
    return write_contents((await connection.session.read_resource(str(arguments.get("uri", "")))).contents)


async def list_prompts(connection: Connection, arguments: Mapping[str, Any]) -> str:
    found = await connection.session.list_prompts()
    listed: list[dict[str, Any]] = [
        describe(one, arguments=[describe(argument, required=argument.required) for argument in one.arguments or ()])
        for one in found.prompts
    ]
    if found.next_cursor is not None:
        listed.append({"note": "There are more, which are not listed."})
    return json.dumps(listed, ensure_ascii=False)


async def get_prompt(connection: Connection, arguments: Mapping[str, Any]) -> str:
    given = arguments.get("arguments")
    values = {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else None
    prompt = await connection.session.get_prompt(str(arguments.get("name", "")), values)
    return "\n\n".join(f"{one.role}: {write_block(one.content)}" for one in prompt.messages)


def describe(one: types.Resource | types.ResourceTemplate | types.Prompt | types.PromptArgument, **more: Any) -> Any:
    fields = {"name": one.name, "description": one.description, **more}
    return {name: value for name, value in fields.items() if value is not None}
