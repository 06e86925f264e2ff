"""The page at `/`, and the responses for paths that no route serves."""

import re
from base64 import b64encode
from hashlib import sha256

import httpx2
import pytest
from fastapi import FastAPI

from rightseat import __version__, app, config
from tests.conftest import Serve

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
KEYS = "access: {keys: [{name: alice, key: key-alice-0123456789}]}"


def build(text: str) -> FastAPI:
    return app.build(config.parse(f"{text}\nlog: {{type: memory}}\nthreads: {{type: memory}}", environ={}))


async def get(serve: Serve, text: str, path: str = "/", **headers: str) -> httpx2.Response:
    async with serve(build(text)) as url, httpx2.AsyncClient(base_url=url) as client:
        return await client.get(path, headers={**BROWSER, **headers})


async def test_a_browser_gets_a_page_with_the_address_of_every_face(serve: Serve) -> None:
    page = await get(serve, "faces: [{type: copilotkit}, {type: openai}]")

    base = str(page.url).rstrip("/")
    assert page.status_code == 200
    assert "<h1>rightseat is running</h1>" in page.text
    assert f"<code>{base}/copilotkit</code>" in page.text
    assert f"OpenAI(base_url=&quot;{base}/v1&quot;" in page.text


async def test_addresses_begin_with_the_public_url(serve: Serve) -> None:
    server = "server: {public_url: 'https://copilot.example.com/pilot'}"
    answer = await get(serve, f"faces: [{{type: openai}}]\n{server}", accept="application/json")

    assert [face["url"] for face in answer.json()["faces"]] == ["https://copilot.example.com/pilot/v1"]


async def test_the_page_loads_nothing_and_its_policy_allows_its_own_style_only(serve: Serve) -> None:
    page = await get(serve, "faces: [{type: openai}]")

    style = re.findall("<style>(.*)</style>", page.text, re.DOTALL)[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert re.findall(r"(?:href|src|url\()", page.text) == []
    assert page.headers["content-security-policy"] == (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-{digest}'"
    )


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
async def test_a_program_gets_json(serve: Serve, accept: str) -> None:
    answer = await get(serve, "faces: [{type: openai, path: /api}]", accept=accept)

    base = str(answer.url).rstrip("/")
    assert answer.json() == {
        "name": "rightseat",
        "version": __version__,
        "faces": [
            {
                "type": "openai",
                "name": "OpenAI-compatible API",
                "url": f"{base}/api",
                "connect": f'OpenAI(base_url="{base}/api", api_key="none")',
            }
        ],
    }


async def test_faces_that_require_a_key_are_not_listed(serve: Serve) -> None:
    page = await get(serve, f"{KEYS}\nfaces: [{{type: copilotkit}}, {{type: openai, access: open}}]")

    assert "/copilotkit" not in page.text
    assert "/v1" in page.text
    assert "Addresses that require a key are not listed here." in page.text
    assert "alice" not in page.text


@pytest.mark.parametrize("faces", ["[{type: copilotkit, path: /}]", "[{type: metrics, path: /}]"])
async def test_a_face_at_the_root_replaces_the_page(serve: Serve, faces: str) -> None:
    assert "rightseat is running" not in (await get(serve, f"faces: {faces}")).text


async def test_a_face_whose_paths_are_below_the_root_leaves_the_page(serve: Serve) -> None:
    page = await get(serve, "faces: [{type: openbb}]")

    assert f"<code>{str(page.url).rstrip('/')}</code>" in page.text


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/nothing", 404, "There is no route /nothing. GET / lists the addresses of this server."),
        ("/mcp", 405, "/mcp is an MCP server. Connect an MCP client to it: streamable HTTP, POST requests only."),
        (
            "/copilotkit",
            405,
            "This is a CopilotKit runtime: set its address as `runtimeUrl` of <CopilotKit>. "
            "Other clients send a POST, or a GraphQL query in the parameter `query`.",
        ),
    ],
)
async def test_a_browser_at_an_address_for_programs_gets_an_explanation(
    serve: Serve, path: str, status: int, message: str
) -> None:
    answer = await get(serve, "faces: [{type: copilotkit}, {type: mcp}]", path)

    assert (answer.status_code, answer.json()["message"]) == (status, message)
    assert answer.headers.get("allow") == (None if status == 404 else "POST")


async def test_a_browser_is_redirected_to_the_console_by_a_relative_address(serve: Serve) -> None:
    faces = f"{KEYS}\nfaces: [{{type: console}}, {{type: operator}}]"
    page = await get(serve, faces)

    assert (page.status_code, page.headers["location"]) == (303, "console/")
    assert (await get(serve, faces, accept="*/*")).json()["name"] == "rightseat"
