"""The resources and prompts of a server, as tools."""

import json
from typing import Any

from pydantic import JsonValue

from rightseat.core.tools import Invocation
from rightseat.toolboxes.mcp.toolbox import McpToolbox
from tests.conftest import Serve
from tests.toolboxes.mcp.conftest import Opened, ask, find
from tests.toolboxes.mcp.servers import library, web


async def run(box: McpToolbox, called: str, /, **arguments: JsonValue) -> str:
    tool = await find(box, called)
    assert tool.run is not None
    return await tool.run(Invocation("call_1", arguments, ask(), "key"))


async def test_a_model_lists_and_reads_resources(serve: Serve, opened: Opened) -> None:
    options: dict[str, Any] = {"name": "library", "resources": True}
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp", **options) as box:
        listed = json.loads(await run(box, "library_list_resources"))
        read = await run(box, "library_read_resource", uri="book://moby")

    assert listed == [{"name": "moby", "description": "A whale", "uri": "book://moby"}]
    assert read == "Call me Ishmael."


async def test_a_model_lists_and_gets_prompts(serve: Serve, opened: Opened) -> None:
    options: dict[str, Any] = {"name": "library", "prompts": True}
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp", **options) as box:
        (listed,) = json.loads(await run(box, "library_list_prompts"))
        got = await run(box, "library_get_prompt", name="review", arguments={"title": "Moby"})

    assert listed["arguments"] == [{"name": "title", "required": True}]
    assert got == "user: Review Moby."


async def test_resources_and_prompts_are_not_offered_by_default(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp", name="library") as box:
        names = [tool.name for tool in await box.tools(ask())]

    assert not [name for name in names if name.startswith("library_")]
