"""The tools of an MCP server: what the model is offered, what they give, and how they fail."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import JsonValue

from rightseat.core.engine import DirectSteps
from rightseat.core.errors import AgentUnreachable
from rightseat.core.events import Custom, Event, ToolCallReturned
from rightseat.core.tools import Invocation
from tests.certificates import Certificates, make_certificates
from tests.conftest import Serve
from tests.proxy import proxying, terminating
from tests.toolboxes.mcp.conftest import Opened, ask, call, find, result
from tests.toolboxes.mcp.servers import Relay, library, web


async def test_a_server_over_http_offers_its_tools_and_runs_them(serve: Serve, opened: Opened) -> None:
    server = library()
    async with serve(web(server.streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        search = await find(box, "search")
        events = await call(search, {"query": "whales"})

    assert search.description == "Searches the shelves."
    assert search.parameters["required"] == ["query"]
    assert events == [ToolCallReturned("call_1", "search", "found whales")]


async def test_a_configured_tool_that_the_server_lacks_is_reported_once(
    serve: Serve, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    named = {"tools": ["serch", "search"], "read_only_tools": ["*"], "cache_seconds": 0}
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp", **named) as box:
        offered = [tool.name for _ in range(2) for tool in await box.tools(ask())]

    assert offered == ["search", "search"]
    assert caplog.text.count("has no tool 'serch', which `tools` or `read_only_tools` names. It has: search, ") == 1


async def test_a_server_from_before_2026_is_called_in_its_own_protocol(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app(), is_old=True)) as url, opened(url=f"{url}/mcp") as box:
        events = await call(await find(box, "search"), {"query": "whales"})

    assert result(events).content == "found whales"


async def test_a_server_may_be_a_program(opened: Opened) -> None:
    program = {"command": sys.executable, "args": ["-m", "tests.toolboxes.mcp.servers"]}
    async with opened(**program, env=path()) as box:
        events = await call(await find(box, "search"), {"query": "whales"})

    assert result(events).content == "found whales"


async def test_a_program_that_dies_in_a_call_is_restarted_for_the_next(opened: Opened) -> None:
    program = {"command": sys.executable, "args": ["-m", "tests.toolboxes.mcp.servers"]}
    async with opened(**program, env=path()) as box:
        with pytest.raises(AgentUnreachable, match="cannot be reached"):
            await call(await find(box, "die"))
        events = await call(await find(box, "search"), {"query": "whales"})

    assert result(events).content == "found whales"


async def test_an_interrupted_write_is_not_reported_as_without_effect(opened: Opened) -> None:
    program = {"command": sys.executable, "args": ["-m", "tests.toolboxes.mcp.servers"]}
    async with opened(**program, env=path()) as box:
        events = await call(await find(box, "crash"))

    assert result(events).error == "outcome_unknown"
    assert "The call was not repeated" in result(events).content


def path() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path)}


async def test_tools_that_declare_that_they_only_read_need_no_approval(serve: Serve, opened: Opened) -> None:
    async with (
        serve(web(library().streamable_http_app())) as url,
        opened(url=f"{url}/mcp", read_only_tools=["paint"]) as box,
    ):
        tools = {tool.name: tool for tool in await box.tools(ask())}

    assert tools["search"].effect == "read"
    assert tools["lend"].effect == "write"
    assert tools["repaint"].effect == "idempotent_write"
    assert tools["paint"].effect == "read"


async def test_structured_content_is_returned_once(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        lent = result(await call(await find(box, "lend"), {"title": "Moby"})).content
        shelf = result(await call(await find(box, "shelf_of_title"))).content

    assert lent.count("14") == 1
    assert shelf == 'top\n{"row": 3}'


async def test_a_picture_is_mentioned_in_words(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        events = await call(await find(box, "cover"))

    assert "[a picture (image/png," in result(events).content


async def test_a_tool_failure_reaches_the_model_with_the_reason(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        events = await call(await find(box, "fail"))

    assert result(events).error == "tool_failed"
    assert "the shelf fell down" in result(events).content


@pytest.mark.parametrize("is_old", [True, False])
async def test_progress_is_received_while_the_tool_runs(serve: Serve, opened: Opened, is_old: bool) -> None:
    async with (
        serve(web(library().streamable_http_app(), is_old=is_old)) as url,
        opened(url=f"{url}/mcp", name="library") as box,
    ):
        *progress, last = await call(await find(box, "count"))

    assert last == ToolCallReturned("call_1", "count", "three")
    said: dict[str, JsonValue] = {"server": "library", "tool": "count", "callId": "call_1", "total": 3.0}
    assert progress == [
        Custom("mcp.progress", said | {"progress": float(number), "message": f"shelf {number}"})
        for number in range(1, 4)
    ]


@pytest.mark.parametrize("is_old", [True, False])
async def test_a_cancelled_run_cancels_the_call(serve: Serve, opened: Opened, is_old: bool) -> None:
    server = library()
    async with serve(web(server.streamable_http_app(), is_old=is_old)) as url, opened(url=f"{url}/mcp") as box:
        running = asyncio.create_task(call(await find(box, "wait")))
        async with asyncio.timeout(30):
            await server.noted("waiting")
            running.cancel()
            await asyncio.wait((running,))
            await server.noted("cancelled")
        again = await call(await find(box, "search"), {"query": "more"})

    assert running.cancelled()
    assert result(again).content == "found more"


async def test_a_call_that_takes_too_long_is_given_up(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp", timeout=0.2) as box:
        events = await call(await find(box, "wait"))

    assert result(events).error == "timeout"


async def test_an_unreachable_server_is_reported_and_not_retried_at_once(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(url="http://127.0.0.1:9/mcp?key=secret", name="dead") as box:
        for _ in range(2):
            with pytest.raises(AgentUnreachable, match="The MCP server 'dead' cannot be reached"):
                await box.tools(ask())

    assert caplog.text.count("cannot be reached:") == 1
    assert "secret" not in caplog.text


async def test_a_silent_server_times_out(opened: Opened) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener, opened(url=f"http://127.0.0.1:{port}/mcp", discovery_timeout=0.3) as box:
        async with asyncio.timeout(30):
            with pytest.raises(AgentUnreachable):
                await box.tools(ask())


@pytest.mark.parametrize("is_old", [True, False])
async def test_a_restarted_server_is_reconnected(serve: Serve, opened: Opened, is_old: bool) -> None:
    relay = Relay()
    async with serve(relay) as url, opened(url=f"{url}/mcp") as box:
        async with relay.to(library(), is_old=is_old):
            search, lend = await find(box, "search"), await find(box, "lend")
            await call(search, {"query": "one"})
        async with relay.to(library(), is_old=is_old):
            read, wrote = await call(search, {"query": "two"}), await call(lend, {"title": "Moby"})

    assert result(read).content == "found two"
    assert result(wrote).error is None


async def test_only_tools_that_were_named_are_offered_under_their_prefix(serve: Serve, opened: Opened) -> None:
    async with (
        serve(web(library().streamable_http_app())) as url,
        opened(url=f"{url}/mcp", tools=["search"], prefix="lib_") as box,
    ):
        (tool,) = await box.tools(ask())
        events = await call(tool, {"query": "whales"})

    assert result(events) == ToolCallReturned("call_1", "lib_search", "found whales")


async def test_a_secret_that_the_server_repeats_is_covered(serve: Serve, opened: Opened) -> None:
    secret = "canary-5f2c9be1d0a74"
    async with (
        serve(web(library().streamable_http_app())) as url,
        opened(url=f"{url}/mcp", headers={"authorization": f"Bearer {secret}"}) as box,
    ):
        events = await call(await find(box, "search"), {"query": f"{secret} and whales"})

    assert result(events).content == "found •••• and whales"


async def test_each_user_has_a_session_with_their_own_credentials(serve: Serve, opened: Opened) -> None:
    heard: list[dict[str, str]] = []
    alice, bob = (ask(headers={"authorization": f"Bearer {name}", "x-other": "no"}) for name in ("alice", "bob"))
    keys = {"headers": {"x-key": "ours"}, "forward": ["Authorization"]}
    async with (
        serve(web(library().streamable_http_app(), is_old=True, heard=heard)) as url,
        opened(url=f"{url}/mcp", **keys) as box,
    ):
        for asked in (alice, bob):
            await call(await find(box, "search", asked), {"query": "mine"}, asked=asked)

    sessions = {(one["mcp-session-id"], one["authorization"]) for one in heard if "mcp-session-id" in one}
    assert {user for _, user in sessions} == {"Bearer alice", "Bearer bob"}
    assert len({session for session, _ in sessions}) == 2
    assert all(one["x-key"] == "ours" and "x-other" not in one for one in heard)


async def test_unused_sessions_are_closed_for_new_ones(
    serve: Serve, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightseat.toolboxes.mcp.server.MAX_SESSIONS", 2)
    users = [ask(headers={"x-user": str(number)}) for number in range(4)]
    app = web(library().streamable_http_app(), is_old=True)
    async with serve(app) as url, opened(url=f"{url}/mcp", forward=["x-user"]) as box:
        for _ in range(2):
            for asked in users:
                found = await call(await find(box, "search", asked), {"query": "mine"}, asked=asked)
        holding = [task for task in asyncio.all_tasks() if "_hold" in repr(task)]

    assert result(found).content == "found mine"
    assert len(holding) <= 3


async def test_a_closed_toolbox_leaves_no_task_behind(serve: Serve, opened: Opened) -> None:
    async with serve(web(library().streamable_http_app())) as url:
        before = len(asyncio.all_tasks())
        async with opened(url=f"{url}/mcp") as box:
            await call(await find(box, "search"), {"query": "whales"})

        assert len([task for task in asyncio.all_tasks() if "_hold" in repr(task)]) == 0
        assert len(asyncio.all_tasks()) <= before + 1


async def test_a_client_names_a_server_only_if_the_operator_lets_it(
    serve: Serve, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[dict[str, str]] = []
    caplog.set_level(logging.WARNING)
    async with serve(web(library().streamable_http_app(), heard=heard)) as url:
        named = ask(properties={"mcpServers": [{"endpoint": f"{url}/mcp", "apiKey": "theirs"}]})
        async with opened(client_servers=["http://127.0.0.1:9/mcp"]) as box:
            refused = [tools for _ in range(2) if (tools := await box.tools(named))]
            contacted = len(heard)
        async with opened(client_servers=[f"{url}/mcp"]) as box:
            allowed = await call(await find(box, "search", named), {"query": "whales"}, asked=named)

    assert (refused, contacted) == ([], 0)
    assert caplog.text.count("it is not contacted") == 1
    assert result(allowed).content == "found whales"
    assert {one["authorization"] for one in heard} == {"Bearer theirs"}


async def test_progress_arrives_before_the_result(serve: Serve, opened: Opened) -> None:
    """The first word of progress is there before the result is."""
    async with serve(web(library().streamable_http_app())) as url, opened(url=f"{url}/mcp") as box:
        tool = await find(box, "count")
        assert tool.stream is not None
        events = tool.stream(Invocation("call_1", {}, ask(), "key"), DirectSteps())
        started = asyncio.get_running_loop().time()
        first: Event = await anext(events)
        waited = asyncio.get_running_loop().time() - started
        rest = [event async for event in events]
        ended = (
            asyncio.get_running_loop().time() - started - 0.3
        )  # the tool sleeps longer than this after its first word

    assert isinstance(first, Custom)
    assert len(rest) == 3
    assert waited < ended


@pytest.mark.parametrize("source", ["configured", "environment"])
async def test_a_server_is_reached_through_the_proxy(
    source: str, serve: Serve, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = library().streamable_http_app(
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    async with serve(web(app)) as url, proxying("Basic dXNlcjpwYXNzd29yZA==") as proxy:
        address = proxy.url.replace("http://", "http://user:password@")
        monkeypatch.delenv("http_proxy", raising=False)
        monkeypatch.setenv("HTTP_PROXY", address if source == "environment" else "http://127.0.0.1:1")
        options = {"proxy": address} if source == "configured" else {}
        async with opened(url=f"{url.replace('127.0.0.1', 'mcp.test')}/mcp", **options) as box:
            assert (await find(box, "search")).name == "search"

    assert proxy.lines
    assert all(" http://mcp.test:" in line for line in proxy.lines)


@asynccontextmanager
async def behind_tls(made: Certificates, serve: Serve) -> AsyncIterator[str]:
    """The address of a server that wants a certificate of its clients."""
    app = library().streamable_http_app(
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    context = made.server_context(asks_for_one=True)
    async with serve(web(app)) as url, terminating(context, int(url.rpartition(":")[2])) as port:
        yield f"https://127.0.0.1:{port}/mcp"


async def test_a_server_behind_tls_is_reached_with_the_configured_certificates(
    serve: Serve, opened: Opened, tmp_path: Path
) -> None:
    made = make_certificates(tmp_path)
    tls = {"ca": made.ca, "certificate": made.client}
    async with behind_tls(made, serve) as url, opened(url=url, tls=tls) as box:
        assert (await find(box, "search")).name == "search"


@pytest.mark.parametrize("is_trusted", [True, False], ids=["no client certificate", "unknown authority"])
async def test_a_server_behind_tls_is_not_reached_without_them(
    is_trusted: bool, serve: Serve, opened: Opened, tmp_path: Path
) -> None:
    made = make_certificates(tmp_path)
    tls = {"ca": made.ca} if is_trusted else {}
    async with behind_tls(made, serve) as url, opened(url=url, tls=tls) as box:
        with pytest.raises(AgentUnreachable):
            await box.tools(ask())
