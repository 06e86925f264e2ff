"""MCP clients that use the tools of our agents: the SDK's own client, over HTTP."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, TextContent

from rightseat import app, config
from tests.conftest import Serve
from tests.databases import migrated_database
from tests.faces.mcp import tools as offered

CONFIGURATION = """
models: {{default: {{type: scripted}}}}
agents:
  default: {{tools: ["tests.faces.mcp.tools:tools"]}}
  other: {{tools: ["tests.faces.mcp.tools:add", "tests.faces.mcp.tools:away"]}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{folder}"}}
{more}
"""
KEYS = """
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: narrow, key: key-narrow, user: bob, scopes: ["mcp:other"]}}
faces: [{{type: mcp, headers: [x-tenant]}}]
"""


@asynccontextmanager
async def connected(
    serve: Serve,
    folder: Path,
    more: str = "faces: [{type: mcp, agents: [default]}]",
    headers: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    text = CONFIGURATION.format(folder=folder, more=more)
    async with (
        serve(app.build(config.parse(text, environ={}))) as url,
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), **options) as client,
    ):
        yield client


def text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


class Person:
    """Answers what it is asked."""

    def __init__(self, action: Any, content: Any = None) -> None:
        self.reply = ElicitResult(action=action, content=content)
        self.asked: list[ElicitRequestFormParams] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params)
        return self.reply


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_lists_and_calls_tools(serve: Serve, tmp_path: Path, mode: str) -> None:
    async with connected(serve, tmp_path, mode=mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("add", {"a": 1, "b": 2})

    assert listed["add"].description == "Adds two numbers."
    assert listed["add"].input_schema["required"] == ["a", "b"]
    assert listed["flow"].input_schema == {"type": "object"}
    assert (text(result), result.is_error) == ("3", False)


async def test_a_tool_that_fails_keeps_its_details_to_itself(serve: Serve, tmp_path: Path) -> None:
    async with connected(serve, tmp_path) as client:
        failed = await client.call_tool("fail")
        wrong = await client.call_tool("add", {"a": "one"})

    assert (text(failed), failed.is_error) == ("The tool 'fail' failed.", True)
    assert "b is missing" in text(wrong)


async def test_an_unknown_tool_is_reported(serve: Serve, tmp_path: Path) -> None:
    async with connected(serve, tmp_path) as client:
        with pytest.raises(MCPError, match="no tool named 'nothing'"):
            await client.call_tool("nothing")


async def test_a_person_approves_by_elicitation(serve: Serve, tmp_path: Path) -> None:
    person = Person("accept", {"approve": True})
    async with connected(serve, tmp_path, elicitation_callback=person) as client:
        result = await client.call_tool("delete", {"path": "approved"})

    assert [asked.message for asked in person.asked] == ["Delete the file?"]
    assert text(result) == "deleted approved"
    assert "approved" in offered.SEEN


@pytest.mark.parametrize(
    ("person", "decision"), [(Person("accept", {"approve": True}), "allow"), (Person("decline"), "cancelled")]
)
async def test_a_decision_by_elicitation_leaves_one_audit_line(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture, person: Person, decision: str
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with connected(serve, tmp_path, elicitation_callback=person) as client:
        await client.call_tool("delete", {"path": "audited"})

    (line,) = [one.getMessage() for one in caplog.records if one.getMessage().startswith("approval:")]
    assert "tool='delete' interrupt='interrupt_" in line
    assert line.endswith(f"decision={decision}")


@pytest.mark.parametrize(
    "person",
    [
        Person("accept", {"approve": False}),
        Person("accept", {"approve": True, "decision": "deny"}),
        Person("decline"),
        Person("cancel"),
    ],
)
async def test_a_person_refuses(serve: Serve, tmp_path: Path, person: Person) -> None:
    async with connected(serve, tmp_path, elicitation_callback=person) as client:
        result = await client.call_tool("delete", {"path": "refused"})

    assert (text(result), result.is_error) == ("The user denied the call. It was not run.", True)
    assert "refused" not in offered.SEEN


@pytest.mark.parametrize("options", [{}, {"mode": "legacy", "elicitation_callback": Person("accept")}])
async def test_a_client_that_cannot_ask_is_refused_with_the_reason(
    serve: Serve, tmp_path: Path, options: dict[str, Any]
) -> None:
    async with connected(serve, tmp_path, **options) as client:
        result = await client.call_tool("delete", {"path": "unasked"})

    assert result.is_error
    assert "delete was not run: a person has to answer first (Delete the file?)" in text(result)
    assert "unasked" not in offered.SEEN


async def test_a_tool_with_questions_asks_them_and_reports_progress(serve: Serve, tmp_path: Path) -> None:
    person, told = Person("accept", {"answer": "red"}), list[str | None]()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with connected(serve, tmp_path, elicitation_callback=person) as client:
        result = await client.call_tool("flow", progress_callback=hear)

    assert text(result) == "red {'kept': 1}"
    assert told == ["first", "second"] * 2


async def test_a_state_is_good_once_and_only_for_its_call(serve: Serve, tmp_path: Path) -> None:
    person = Person("accept", {"approve": True})
    async with connected(serve, tmp_path, elicitation_callback=person) as client:
        for state in ("guessed", ""):
            with pytest.raises(MCPError, match="state of this call is unknown"):
                await client.session.call_tool("delete", {"path": "x"}, request_state=state, allow_input_required=True)
        asked: Any = await client.session.call_tool("delete", {"path": "mine"}, allow_input_required=True)
        replies: Any = dict.fromkeys(asked.input_requests, person.reply)
        with pytest.raises(MCPError, match="state of this call is unknown"):
            await client.call_tool(
                "delete", {"path": "other"}, input_responses=replies, request_state=asked.request_state
            )

    assert "other" not in offered.SEEN


async def test_an_answer_may_reach_another_replica_and_the_call_continues_once(serve: Serve, tmp_path: Path) -> None:
    person = Person("accept", {"approve": True})
    async with migrated_database() as store:
        written = CONFIGURATION.replace("threads: {{type: memory}}", f'threads: {{{{type: sql, url: "{store}"}}}}')
        given = config.parse(written.format(folder=tmp_path, more="faces: [{type: mcp}, {type: openai}]"), environ={})
        async with (
            serve(app.build(given)) as one,
            serve(app.build(given)) as other,
            Client(streamable_http_client(f"{one}/mcp"), elicitation_callback=person) as asking,
            Client(streamable_http_client(f"{other}/mcp"), elicitation_callback=person) as answering,
            httpx2.AsyncClient() as http,
        ):
            asked: Any = await asking.session.call_tool("delete", {"path": "shared"}, allow_input_required=True)
            replies: Any = dict.fromkeys(asked.input_requests, person.reply)
            as_a_file = await http.get(f"{other}/v1/files/{asked.request_state}")
            answer: Any = {"input_responses": replies, "request_state": asked.request_state}
            result = await answering.session.call_tool("delete", {"path": "shared"}, **answer)
            with pytest.raises(MCPError, match="state of this call is unknown"):
                await asking.session.call_tool("delete", {"path": "shared"}, **answer)

    assert as_a_file.status_code == 404
    assert text(result) == "deleted shared"


async def test_a_credential_reaches_the_tools_of_its_agents_alone(serve: Serve, tmp_path: Path) -> None:
    alice, narrow = ({"authorization": f"Bearer key-{name}", "x-tenant": "acme"} for name in ("alice", "narrow"))
    more = KEYS.format()
    async with connected(serve, tmp_path, more, alice) as client:
        mine = text(await client.call_tool("whose"))
    async with connected(serve, tmp_path, more, narrow) as client:
        listed = await client.list_tools()

    assert mine == "alice {'x-tenant': 'acme'}"
    assert [tool.name for tool in listed.tools] == ["add"]
    assert (listed.meta or {})["rightseat/missing"] == ["The shelf is away."]


async def test_without_a_credential_nothing_is_answered(serve: Serve, tmp_path: Path) -> None:
    text = CONFIGURATION.format(folder=tmp_path, more=KEYS.format())
    async with serve(app.build(config.parse(text, environ={}))) as url, httpx2.AsyncClient() as http:
        answer = await http.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert answer.status_code == 401
    assert "www-authenticate" in answer.headers


async def test_a_disconnect_of_a_client_from_before_2026_ends_the_tool(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offered, "STOPPED", asyncio.Event())
    text = CONFIGURATION.format(folder=tmp_path, more="faces: [{type: mcp, agents: [default]}]")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang", "arguments": {}}}
    async with serve(app.build(config.parse(text, environ={}))) as url, asyncio.timeout(30):
        async with httpx2.AsyncClient() as http:
            asking = asyncio.create_task(http.post(f"{url}/mcp", json=body))
            await asyncio.wait((asking,), timeout=0.3)
            asking.cancel()
        await offered.STOPPED.wait()


async def test_a_client_that_gives_up_ends_the_tool(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offered, "STOPPED", asyncio.Event())
    async with connected(serve, tmp_path) as client:
        calling = asyncio.create_task(client.call_tool("hang"))
        await asyncio.wait((calling,), timeout=0.3)
        calling.cancel()
        async with asyncio.timeout(30):
            await offered.STOPPED.wait()
