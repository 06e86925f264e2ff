"""MCP Apps: tools whose result a page shows, and what such a page asks of its server.

The page runs in the client's browser. It asks through a run whose ask holds the request, and which no model sees.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

import mcp_types as types
import msgspec
from mcp import MCPError
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from rightseat.core.ask import Ask
from rightseat.core.errors import AppRefused, BadAsk
from rightseat.core.events import Custom, Event, RunFinished
from rightseat.toolboxes.mcp.reading import is_for_pages, resource_of
from rightseat.toolboxes.mcp.server import Listing, Lost, Server
from rightseat.toolboxes.mcp.settings import Settings

PROPERTY = "__proxiedMCPRequest"


class Proxied(msgspec.Struct, frozen=True):
    """What a page asks of the server that it came from."""

    serverHash: str
    method: Literal["resources/read", "resources/list", "tools/list", "tools/call"]
    params: dict[str, Any] | None = None
    serverId: str | None = None


def shown(
    settings: Settings, tool: types.Tool, call_id: str, result: JsonValue, arguments: Mapping[str, JsonValue]
) -> Event:
    content: dict[str, JsonValue] = {
        "resourceUri": resource_of(tool),
        "serverId": settings.name,
        "serverHash": settings.hash,
        "result": result,
        "toolInput": dict(arguments),
    }
    return Custom(
        "agui.ACTIVITY_SNAPSHOT",
        {"messageId": f"app-{call_id}", "activityType": "mcp-apps", "content": content, "replace": True},
    )


def read_request(ask: Ask) -> Proxied | None:
    """What the page of an app asks for, if the ask is of one. Raises `BadAsk`."""
    given = ask.properties.get(PROPERTY)
    if given is None:
        return None
    try:
        return msgspec.convert(given, Proxied)
    except msgspec.ValidationError as error:
        raise BadAsk(f"The request of an MCP App cannot be understood: {error}.") from error


async def proxied(server: Server, request: Proxied, headers: Mapping[str, str]) -> AsyncIterator[Event]:
    """The server's answer, as the result of the run."""
    listing = await server.listing(headers)
    check(server, listing, request)
    wire = WIRE[request.method](request.params or {})
    try:
        result = await server.ask(
            headers,
            lambda connection: connection.session.send_request(
                wire, ANSWERS[request.method], request_read_timeout_seconds=server.settings.timeout
            ),
            repeats=request.method != "tools/call",
        )
    except MCPError as error:
        yield RunFinished("done", result={"error": error.message})
        return
    except Lost:
        yield RunFinished("done", result={"error": "The connection to the MCP server broke."})
        return
    yield RunFinished("done", result=visible(result, server, listing))


def check(server: Server, listing: Listing, request: Proxied) -> None:
    """A page may read and list; and call what is meant for pages and has not changed, as no person is asked."""
    if request.method != "tools/call":
        return
    name = (request.params or {}).get("name")
    tool = next((one for one in listing.tools if one.name == name), None)
    allowed = server.settings.tools
    if (
        tool is None
        or name in listing.changed
        or (allowed is not None and name not in allowed)
        or not is_for_pages(tool)
    ):
        raise AppRefused(f"The page of an MCP App may not call {name!r}: it is no tool for pages.")


def visible(result: types.Result, server: Server, listing: Listing) -> dict[str, Any]:
    if isinstance(result, types.ListToolsResult):
        tools = [one for one in result.tools if is_for_pages(one) and one.name not in listing.changed]
        result = result.model_copy(update={"tools": tools})
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _read(model: type[BaseModel], request: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
    def read(params: dict[str, Any]) -> Any:
        try:
            return request(params=model.model_validate({**params, "_meta": None}, by_name=False))
        except ValidationError as error:
            raise BadAsk(f"The request of an MCP App cannot be understood: {error.errors()[0]['msg']}.") from error

    return read


WIRE: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "resources/read": _read(types.ReadResourceRequestParams, types.ReadResourceRequest),
    "resources/list": _read(types.PaginatedRequestParams, types.ListResourcesRequest),
    "tools/list": _read(types.PaginatedRequestParams, types.ListToolsRequest),
    "tools/call": _read(types.CallToolRequestParams, types.CallToolRequest),
}
ANSWERS: Mapping[str, Any] = {
    "resources/read": TypeAdapter(types.ReadResourceResult),
    "resources/list": TypeAdapter(types.ListResourcesResult),
    "tools/list": TypeAdapter(types.ListToolsResult),
    "tools/call": TypeAdapter(types.CallToolResult),
}
