"""Code for clients: each face's, with the address, the agent and the place of the key, and whether it works."""

import asyncio
import json
import shlex
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from rightseat import app, config
from rightseat.core.types import JsonValue
from rightseat.faces.operator.snippet import SnippetTarget, build_curl
from tests.conftest import Serve
from tests.faces.operator.test_operator import Server, serving

CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
agents: {{default: {{}}, ops: {{}}, hidden: {{}}}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{state}"}}
faces:
  - {{type: copilotkit}}
  - {{type: ai_sdk, agent: ops}}
  - {{type: openai, models: [default, ops]}}
  - {{type: openbb, path: /openbb}}
  - {{type: mcp}}
  - {{type: metrics}}
  - {{type: operator}}
"""
KEYS = """
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: ops, key: key-ops, user: ops, scopes: ["operator:ops", "openai:ops"]}}
"""
ALICE = {"authorization": "Bearer key-alice"}
FACES = ["copilotkit", "ai_sdk", "openai", "openbb", "mcp", "metrics", "operator"]


@pytest.fixture(params=["keys", "open"])
def configuration(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    text = CONFIGURATION + (KEYS if request.param == "keys" else "")
    return text.format(state=tmp_path)


@pytest.fixture
def with_keys(tmp_path: Path) -> str:
    return (CONFIGURATION + KEYS).format(state=tmp_path)


async def snippets(server: Server, face: str, headers: dict[str, str] = ALICE, **query: str) -> list[dict[str, Any]]:
    answer = await server.client.get(f"/operator/snippets/{face}", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


@pytest.mark.parametrize("face", FACES)
async def test_the_requests_of_snippets_are_answered(face: str, serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        found = await snippets(server, face)
        answers = []
        for one in found:
            request = one["request"]
            headers = {name: value.replace("YOUR_KEY", "key-alice") for name, value in request["headers"].items()}
            content = (request["body"] or "").replace("NEW_ID", "1")
            answers.append(
                await server.client.request(request["method"], request["path"], headers=headers, content=content)
            )

    for answer in answers:
        assert answer.status_code in (200, 202), answer.text
        assert answer.content
        assert "rror" not in answer.text[:200]


@pytest.mark.parametrize("face", FACES)
async def test_snippets_have_the_address_and_a_key_only_where_one_is_required(
    face: str, serve: Serve, configuration: str
) -> None:
    async with serving(serve, configuration) as server:
        found = await snippets(server, face)

    address = str(server.client.base_url).rstrip("/")
    for one in found:
        assert address.partition("://")[2] in one["code"]
        assert ("YOUR_KEY" in one["code"]) == ("access:" in configuration)


@pytest.mark.parametrize("face", FACES)
async def test_the_commands_of_a_face_send_its_requests(face: str, serve: Serve, with_keys: str) -> None:
    async with serving(serve, with_keys) as server:
        found = await snippets(server, face)

    for one in (one for one in found if one["language"] == "bash"):
        *_, command = one["code"].replace("\\\n", "").split("\n")
        words = shlex.split(command)
        request = one["request"]
        assert words[2] == str(server.client.base_url).rstrip("/") + request["path"]
        sent = dict(word.split(": ", 1) for flag, word in pairwise(words) if flag == "-H")
        assert sent == request["headers"]
        if request["method"] == "POST":
            assert words[-1].replace("$id", "NEW_ID") == request["body"]


async def test_the_configuration_of_codex_has_a_provider_with_the_address(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        code = next(one["code"] for one in await snippets(server, "openai") if one["language"] == "toml")

    read = tomllib.loads(code)
    provider = read["model_providers"][read["model_provider"]]
    assert provider["base_url"] == f"{str(server.client.base_url).rstrip('/')}/v1"
    assert provider["wire_api"] == "responses"
    assert ("env_key" in provider) == ("access:" in configuration)


async def test_python_for_openai_runs_when_it_is_pasted(serve: Serve, with_keys: str) -> None:
    pytest.importorskip("openai")
    async with serving(serve, with_keys) as server:
        code = next(one["code"] for one in await snippets(server, "openai") if one["language"] == "python")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code.replace("YOUR_KEY", "key-alice"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        printed, problems = await process.communicate()

    assert process.returncode == 0, problems.decode()
    assert printed.strip()


async def test_the_list_has_faces_that_are_not_configured_with_the_lines_that_add_them(serve: Serve) -> None:
    text = """
    models: {default: {type: scripted, chunk_delay: 0}}
    log: {type: memory}
    threads: {type: memory}
    faces: [{type: operator}, {type: openai}]
    """
    async with serving(serve, text) as server:
        listed = {one["face"]: one for one in (await server.client.get("/operator/snippets")).json()}
        missing = await server.client.get("/operator/snippets/mcp")

    assert [name for name, one in listed.items() if one["configured"]] == ["openai", "operator"]
    assert listed["mcp"]["yaml"] == "faces:\n  - {type: mcp}\n"
    assert missing.status_code == 404
    assert "openai, operator" in missing.json()["message"]


async def test_a_face_with_one_agent_offers_no_other(serve: Serve, with_keys: str) -> None:
    async with serving(serve, with_keys) as server:
        listed = (await server.client.get("/operator/snippets", headers=ALICE)).json()

    assert {one["face"]: one["agents"] for one in listed}["ai_sdk"] == ["ops"]


async def test_an_agent_is_one_that_the_face_offers_and_the_user_may_use(serve: Serve, with_keys: str) -> None:
    ops = {"authorization": "Bearer key-ops"}
    async with serving(serve, with_keys) as server:
        chosen = await snippets(server, "openai", agent="ops")
        only = await snippets(server, "openai", ops)
        refused = [
            await server.client.get("/operator/snippets/openai", params={"agent": agent}, headers=key)
            for agent, key in (("hidden", ALICE), ("default", ops))
        ]
        listed = {one["face"]: one for one in (await server.client.get("/operator/snippets", headers=ALICE)).json()}

    assert json.loads(chosen[0]["request"]["body"])["model"] == "ops"
    assert json.loads(only[0]["request"]["body"])["model"] == "ops"
    assert [answer.status_code for answer in refused] == [400, 400]
    assert listed["openai"]["agents"] == ["default", "ops"]


async def test_the_address_of_the_page_counts_and_the_public_url_more(serve: Serve, with_keys: str) -> None:
    public = with_keys.replace("server: {", "server: {public_url: https://copilot.example.com/x, ")
    async with serving(serve, with_keys) as server:
        behind_a_proxy = await snippets(server, "openai", address="https://proxy.test/a/b/")
    async with serving(serve, public) as server:
        known = await snippets(server, "openai", address="https://proxy.test/a/b/")

    assert "https://proxy.test/a/b/v1/chat/completions" in behind_a_proxy[0]["code"]
    assert "https://copilot.example.com/x/v1/chat/completions" in known[0]["code"]


@pytest.mark.parametrize(
    "address", ["javascript:1", "http://a b", "http://a/$(id)", 'http://a/"', "http://a?b", "x" * 600]
)
async def test_an_address_that_code_could_not_hold_is_refused(address: str, serve: Serve, with_keys: str) -> None:
    async with serving(serve, with_keys) as server:
        answer = await server.client.get("/operator/snippets/openai", params={"address": address}, headers=ALICE)

    assert answer.status_code == 400


async def test_a_router_below_a_path_of_another_application_is_part_of_the_address(serve: Serve) -> None:
    text = "faces: [{type: operator}, {type: openai}]\nlog: {type: memory}\nthreads: {type: memory}\n"
    found = config.parse("models: {default: {type: scripted}}\n" + text, environ={})
    outer = FastAPI()
    outer.mount("/ai", app.application(app.assemble(found), found.server))
    async with serve(outer) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/ai/operator/snippets/openai")

    assert f"{url}/ai/v1/chat/completions" in answer.json()[0]["code"]


def test_a_question_with_quotes_stays_one_word_of_the_command() -> None:
    body: JsonValue = {"text": 'it\'s "here" $HOME'}
    target = SnippetTarget("http://127.0.0.1:8000/v1", "/v1", "default", requires_key=False)

    words = shlex.split(build_curl(target, "curl", "/x", {}, body).code.replace("\\\n", ""))

    assert json.loads(words[-1]) == body
