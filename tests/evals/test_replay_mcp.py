"""Tools of an MCP server are served; the server is asked for its list only if nothing is pinned."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Serve
from tests.evals.replays import loop, parse, replay, served, tell
from tests.toolboxes.mcp.servers import library

RECORDED = {"tool": "search", "arguments": {"query": "whales"}, "result": "found whales, long ago"}
ASK = tell("$results", calls=[[["search", {"query": "whales"}]]])


@pytest.mark.parametrize("missing", ["fail", "live"])
async def test_a_call_of_an_mcp_tool_is_served(serve: Serve, tmp_path: Path, missing: str) -> None:
    server = library()
    async with serve(server.streamable_http_app(transport_security=None)) as url:
        toolbox = {"type": "mcp", "url": f"{url}/mcp", "pin_dir": str(tmp_path / "pins")}
        found = parse({"default": loop(toolboxes=["library"])}, toolboxes={"library": toolbox})
        first = await replay(found, missing, ask=ASK, recorded=[RECORDED])
        other: dict[str, Any] = {"ask": tell(calls=[[["lend", {"title": "Moby Dick"}]]])}
        written = await replay(found, missing, **other)
    second = await replay(found, missing, ask=ASK, recorded=[RECORDED])  # the server is gone

    assert first.text == second.text == "found whales, long ago"
    assert served(second) == [("search", "recorded")]
    assert written.diverged is not None
    assert server.seen == []
