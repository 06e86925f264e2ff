"""Tools with a page of their own, and what the page asks for."""

from typing import Any

import pytest
from mcp.server.apps import Apps
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from rightseat.core.ask import Ask
from rightseat.core.engine import DirectSteps
from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.events import Custom, Event, RunFinished
from rightseat.core.loop.agent_loop import Loop
from rightseat.testing import ScriptedModel
from tests.conftest import Serve
from tests.toolboxes.mcp.conftest import Opened, ask, call, find
from tests.toolboxes.mcp.servers import web

PAGE = "ui://clock/app.html"


def clock() -> MCPServer:
    apps = Apps()

    @apps.tool(resource_uri=PAGE)
    def show(zone: str) -> str:
        """Shows a clock."""
        return f"noon in {zone}"

    @apps.tool(resource_uri=PAGE, visibility=["app"])
    def tick() -> str:
        """For the page alone."""
        return "tick"

    apps.add_html_resource(PAGE, "<h1>clock</h1>")
    server = MCPServer("clock", extensions=[apps])

    @server.tool()
    async def wipe() -> str:
        """Not for pages."""
        return "wiped"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def zones() -> str:
        return "CET"

    return server


async def proxied(loop: Loop, shown: dict[str, Any], method: str, **params: Any) -> Any:
    request = {name: shown[name] for name in ("serverHash", "serverId")} | {"method": method, "params": params}
    asked = Ask(messages=(), properties={"__proxiedMCPRequest": request})
    events: list[Event] = [event async for event in loop.run(asked, DirectSteps())]
    (finished,) = events
    assert isinstance(finished, RunFinished)
    return finished.result


async def test_a_page_is_shown_and_asks_its_server(serve: Serve, opened: Opened) -> None:
    async with (
        serve(web(clock().streamable_http_app())) as url,
        opened(url=f"{url}/mcp", name="clock", apps=True) as box,
    ):
        names = [tool.name for tool in await box.tools(ask())]
        _, shown = await call(await find(box, "show"), {"zone": "CET"})
        assert isinstance(shown, Custom)
        assert isinstance(shown.value, dict)
        content: Any = shown.value["content"]
        model = ScriptedModel([])
        loop = Loop(model, [box])
        page = await proxied(loop, content, "resources/read", uri=PAGE)
        ticked = await proxied(loop, content, "tools/call", name="tick", arguments={})
        read = await proxied(loop, content, "tools/call", name="zones")
        listed = await proxied(loop, content, "tools/list")
        with pytest.raises(RightseatError, match="may not call 'wipe'"):
            await proxied(loop, content, "tools/call", name="wipe")
        with pytest.raises(RightseatError, match="a server that this agent does not have"):
            await proxied(loop, content | {"serverHash": "0" * 32}, "tools/list")
        with pytest.raises(BadRequest, match="is invalid"):
            await proxied(loop, content, "sampling/createMessage")

    assert names == ["show", "wipe", "zones"]
    assert shown.name == "agui.ACTIVITY_SNAPSHOT"
    assert shown.value["activityType"] == "mcp-apps"
    assert (content["resourceUri"], content["serverId"], content["toolInput"]) == (PAGE, "clock", {"zone": "CET"})
    assert content["result"]["content"][0]["text"] == "noon in CET"
    assert page["contents"][0]["text"] == "<h1>clock</h1>"
    assert ticked["content"][0]["text"] == "tick"
    assert read["content"][0]["text"] == "CET"
    assert [tool["name"] for tool in listed["tools"]] == ["show", "tick", "zones"]
    assert not model.prompts


async def test_no_page_is_shown_unless_the_operator_wants_it(serve: Serve, opened: Opened) -> None:
    async with serve(web(clock().streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        events = await call(await find(box, "show"), {"zone": "CET"})

    assert len(events) == 1
