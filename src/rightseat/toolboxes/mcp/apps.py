"""MCP Apps: tools whose result is shown by a page, and requests of such pages to their server.

The page runs in the client's browser. Its request is sent as an ask, and no model sees it.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal

import mcp_types as types
import msgspec
from mcp import MCPError
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from rightseat.core.ask import Ask
from rightseat.core.errors import BadRequest, McpAppForbidden
from rightseat.core.events import Custom, Event, RunFinished
from rightseat.toolboxes.mcp.options import Options
from rightseat.toolboxes.mcp.results import is_for_pages, resource_of
from rightseat.toolboxes.mcp.server import Listing, McpServer, SessionLost

PROPERTY = "__proxiedMCPRequest"


class AppRequest(msgspec.Struct, frozen=True):
    """A request of a page to its server."""

    serverHash: str
    method: Literal["resources/read", "resources/list", "tools/list", "tools/call"]
    params: dict[str, Any] | None = None
    serverId: str | None = None


def app_event(
    options: Options, tool: types.Tool, call_id: str, result: JsonValue, arguments: Mapping[str, JsonValue]
) -> Event:
    content: dict[str, JsonValue] = {
        "resourceUri": resource_of(tool),
        "serverId": options.name,
        "serverHash": options.hash,
        "result": result,
        "toolInput": dict(arguments),
    }
    return Custom(
        "agui.ACTIVITY_SNAPSHOT",
        {"messageId": f"app-{call_id}", "activityType": "mcp-apps", "content": content, "replace": True},
    )


def read_request(ask: Ask) -> AppRequest | None:
    """The page's request, if the ask has one. Raise `BadRequest`."""
    value = ask.properties.get(PROPERTY)
    if value is None:
        return None
    try:
        return msgspec.convert(value, AppRequest)
    except msgspec.ValidationError as error:
        raise BadRequest(f"The request of an MCP App is invalid: {error}.") from error


async def proxy_request(server: McpServer, request: AppRequest, headers: Mapping[str, str]) -> AsyncIterator[Event]:
    """Return the server's response as the result of the run."""
    listing = await server.listing(headers)
    check_allowed(server, listing, request)
    mcp_request = REQUESTS[request.method](request.params or {})
    try:
        result = await server.request(
            headers,
            lambda connection: connection.session.send_request(
                mcp_request, RESULT_TYPES[request.method], request_read_timeout_seconds=server.options.timeout
            ),
            may_repeat=request.method != "tools/call",
        )
    except MCPError as error:
        yield RunFinished("done", result={"error": error.message})
        return
    except SessionLost:
        yield RunFinished("done", result={"error": "The connection to the MCP server was lost."})
        return
    yield RunFinished("done", result=visible_result(result, server, listing))


def check_allowed(server: McpServer, listing: Listing, request: AppRequest) -> None:
    """A page may read and list, and call unchanged tools for pages, since calls of pages need no approval."""
    if request.method != "tools/call":
        return
    name = (request.params or {}).get("name")
    tool = next((one for one in listing.tools if one.name == name), None)
    allowed = server.options.tools
    if (
        tool is None
        or name in listing.changed
        or (allowed is not None and name not in allowed)
        or not is_for_pages(tool)
    ):
        raise McpAppForbidden(f"The page of an MCP App may not call {name!r}: it is not a tool for pages.")


def visible_result(result: types.Result, server: McpServer, listing: Listing) -> dict[str, Any]:
    if isinstance(result, types.ListToolsResult):
        tools = [one for one in result.tools if is_for_pages(one) and one.name not in listing.changed]
        result = result.model_copy(update={"tools": tools})
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def _read(model: type[BaseModel], request: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
    def read(params: dict[str, Any]) -> Any:
        try:
            return request(params=model.model_validate({**params, "_meta": None}, by_name=False))
        except ValidationError as error:
            raise BadRequest(f"The request of an MCP App is invalid: {error.errors()[0]['msg']}.") from error

    return read


REQUESTS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "resources/read": _read(types.ReadResourceRequestParams, types.ReadResourceRequest),
    "resources/list": _read(types.PaginatedRequestParams, types.ListResourcesRequest),
    "tools/list": _read(types.PaginatedRequestParams, types.ListToolsRequest),
    "tools/call": _read(types.CallToolRequestParams, types.CallToolRequest),
}
RESULT_TYPES: Mapping[str, Any] = {
    "resources/read": TypeAdapter(types.ReadResourceResult),
    "resources/list": TypeAdapter(types.ListResourcesResult),
    "tools/list": TypeAdapter(types.ListToolsResult),
    "tools/call": TypeAdapter(types.CallToolResult),
}
