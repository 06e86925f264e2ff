"""Agents that MCP clients call as tools."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from rightseat import app, config
from tests.conftest import Serve
from tests.faces.mcp import tools as offered
from tests.faces.mcp.test_mcp import CONFIGURATION, Person, connected

AGENTS = "faces: [{type: mcp, agents: [other], agents_as_tools: [default]}, {type: openai}]"
KEYS = f"""
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: bob, key: key-bob, user: bob}}
    - {{name: narrow, key: key-narrow, user: carol, scopes: ["mcp:other"]}}
{AGENTS}
"""


def key(name: str) -> dict[str, str]:
    return {"x-api-key": f"key-{name}"}


@asynccontextmanager
async def signed_in(url: str, name: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=key(name)) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


async def ask(client: Client, message: str, **more: str) -> CallToolResult:
    return await client.call_tool("ask_default", {"message": message, **more})


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def answered(result: CallToolResult) -> Mapping[str, Any]:
    assert not result.is_error, texts(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def test_an_agent_answers_with_its_tools(serve: Serve, tmp_path: Path) -> None:
    async with connected(serve, tmp_path, AGENTS) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await ask(client, "whose")

    assert {"ask_default", "add"} <= set(listed)
    assert "whose" not in listed  # a tool of the agent, which is not offered itself
    assert listed["ask_default"].input_schema["required"] == ["message"]
    assert "The tool whose returned: anyone {}" in answered(result)["answer"]
    assert texts(result)[0] == answered(result)["answer"]


async def test_a_conversation_goes_on_in_its_thread(serve: Serve, tmp_path: Path) -> None:
    async with connected(serve, tmp_path, AGENTS) as client:
        first = answered(await ask(client, "Hello"))
        second = answered(await ask(client, "Again", thread_id=first["thread_id"]))

    assert second["thread_id"] == first["thread_id"]
    assert "Again" in second["answer"]


async def test_a_thread_of_another_user_is_unknown(serve: Serve, tmp_path: Path) -> None:
    text = CONFIGURATION.format(folder=tmp_path, more=KEYS)
    async with serve(app.build(config.parse(text, environ={}))) as url:
        async with signed_in(url, "alice") as alice:
            mine = answered(await ask(alice, "Hello"))["thread_id"]
        async with signed_in(url, "bob") as bob:
            theirs = await ask(bob, "What was said?", thread_id=mine)

    assert theirs.is_error
    assert "Hello" not in " ".join(texts(theirs))


async def test_a_key_sees_the_agents_of_its_scopes(serve: Serve, tmp_path: Path) -> None:
    async with connected(serve, tmp_path, KEYS, headers=key("narrow")) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        with pytest.raises(MCPError, match="no tool named 'ask_default'"):
            await ask(client, "Hello")

    assert "ask_default" not in names


@pytest.mark.parametrize(("person", "done"), [(Person("accept", {"approve": True}), True), (Person("decline"), False)])
async def test_a_person_approves_what_the_agent_wants_to_do(
    serve: Serve, tmp_path: Path, person: Person, done: bool
) -> None:
    path = f"wanted-{done}"
    async with connected(serve, tmp_path, AGENTS, elicitation_callback=person) as client:
        result = await ask(client, f"delete {path}")

    assert [asked.message for asked in person.asked] == ["Delete the file?"]
    assert (path in offered.SEEN) is done
    assert (f"deleted {path}" in answered(result)["answer"]) is done


async def test_without_elicitation_the_run_waits_for_another_client(serve: Serve, tmp_path: Path) -> None:
    async with connected(serve, tmp_path, AGENTS) as client:
        result = await ask(client, "delete waiting")

    assert result.is_error
    assert "waits for a person" in texts(result)[0]
    assert "in the thread thread_" in texts(result)[0]
    assert "waiting" not in offered.SEEN


@pytest.mark.parametrize(
    "arguments", [{}, {"message": 3}, {"message": "Hello", "thread_id": ".."}, {"message": "Hello", "more": 1}]
)
async def test_wrong_arguments_are_explained(serve: Serve, tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with connected(serve, tmp_path, AGENTS) as client:
        result = await client.call_tool("ask_default", arguments)

    assert result.is_error
    assert texts(result)[0]


async def test_a_client_that_gives_up_ends_the_run(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offered, "STARTED", asyncio.Event())
    monkeypatch.setattr(offered, "STOPPED", asyncio.Event())
    async with connected(serve, tmp_path, AGENTS) as client, asyncio.timeout(30):
        asking = asyncio.create_task(ask(client, "hang"))
        await offered.STARTED.wait()
        asking.cancel()
        await offered.STOPPED.wait()


async def test_limits_refuse_an_agent_like_any_run(serve: Serve, tmp_path: Path) -> None:
    limits = "limits: [{name: few, subject: user, requests_per_minute: 1}]\n"
    async with connected(serve, tmp_path, limits + KEYS, headers=key("alice")) as client:
        answered(await ask(client, "Hello"))
        refused = await ask(client, "Again")

    assert refused.is_error
    assert refused.meta is not None
    assert refused.meta["rightseat/code"]
