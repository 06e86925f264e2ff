"""`rightseat doctor openbb`: what a browser would stumble on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rightseat import app, config
from rightseat.cli.handshake import Handshake, HandshakeFailed, HandshakeFinding
from tests.cli.conftest import Run
from tests.cli.test_serve import serving
from tests.conftest import Serve

WORKSPACE = "https://pro.openbb.co"
AGENT = {"name": "A", "description": "B", "endpoints": {"query": "/q"}, "features": {"streaming": True}}
FAILED = 'event: copilotStatusUpdate\ndata: {"eventType":"ERROR","message":"The model is unavailable"}\n\n'
EVENTS = 'event: copilotMessageChunk\ndata: {"delta":"Hello."}\n\n'


async def findings(url: str, *, origin: str = WORKSPACE, **headers: str) -> list[HandshakeFinding]:
    return await asyncio.to_thread(lambda: list(Handshake(url, origin, headers).steps(None, "Hi")))


def events_of(text: str) -> Response:
    return PlainTextResponse(text, media_type="text/event-stream")


def agent(agents: Any = None, answer: Response | None = None, **cors: Any) -> Starlette:
    """An agent that somebody else wrote."""

    async def listed(request: Request) -> Response:
        return JSONResponse({"a": AGENT} if agents is None else agents)

    async def query(request: Request) -> Response:
        return answer or PlainTextResponse(EVENTS, media_type="text/event-stream")

    rules: dict[str, Any] = {"allow_origins": [WORKSPACE], "allow_headers": ["*"], "allow_methods": ["*"]}
    rules |= {"allow_private_network": True} | cors
    routes = [Route("/agents.json", listed), Route("/q", query, methods=["POST"])]
    return Starlette(routes=routes, middleware=[Middleware(CORSMiddleware, **rules)])


def troubles(found: list[HandshakeFinding]) -> str:
    return "\n".join(one.text for one in found if one.is_problem)


async def test_the_openbb_face_has_no_findings(serve: Serve) -> None:
    ours = app.build(config.parse("faces: [{type: openbb}]", environ={}))

    async with serve(ours) as url:
        found = await findings(url)

    assert not troubles(found)
    assert found[-1].text.startswith("POST: a response in ")


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (agent(allow_origins=["https://other.test"]), "may not read it (no Access-Control-Allow-Origin)"),
        (agent(allow_headers=["content-type"]), "Disallowed CORS headers"),
        (agent(allow_private_network=False), "Preflight"),
        (agent(answer=PlainTextResponse("Hello.")), "text/plain; charset=utf-8 instead of text/event-stream"),
        (agent(answer=PlainTextResponse("", media_type="text/event-stream")), "the response has no text"),
        (agent(answer=JSONResponse({"message": "No."}, 500)), "POST: 500, No. Workspace shows no message."),
        (agent(answer=JSONResponse({"message": "No."}, 401)), "Pass a key with --header."),
        (agent({"a": {"name": "A", "endpoints": {"query": "/q"}}}), "has no description, features"),
        (agent({"a": AGENT | {"endpoints": ["/q"]}}), "has no endpoints.query"),
        (agent(answer=events_of(FAILED)), "the agent responded, but the run failed: The model is unavailable."),
        (
            agent(answer=events_of("event: copilotMessageChunk\ndata: Hello.\n\n")),
            "an event that Workspace cannot parse",
        ),
    ],
)
async def test_problems_for_a_browser_are_described(made: Starlette, problem: str, serve: Serve) -> None:
    async with serve(made) as url:
        found = await findings(url)

    assert problem in troubles(found)


@pytest.mark.parametrize(
    ("agents", "problem"),
    [([], "an object with an object for each agent"), ({}, "an object with an object for each agent")],
)
async def test_an_invalid_descriptor_ends_the_handshake(agents: Any, problem: str, serve: Serve) -> None:
    async with serve(agent(agents)) as url:
        with pytest.raises(HandshakeFailed, match=problem):
            await findings(url)


async def test_an_https_page_may_not_call_plain_http_on_another_host() -> None:
    steps = Handshake("http://copilot.test:1", WORKSPACE, {}).steps(None, "Hi")

    assert "mixed content" in next(steps).text


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1", "localhost:8000"])
async def test_an_unreachable_server_prints_one_line(url: str) -> None:
    with pytest.raises(HandshakeFailed, match=r"cannot be reached|is not a URL"):
        await findings(url)


async def test_an_http_server_behind_an_https_address_is_recognized(serve: Serve) -> None:
    async with serve(agent()) as url:
        with pytest.raises(HandshakeFailed, match=r"does not serve https. Try http://"):
            await findings(url.replace("http:", "https:"))


async def test_a_truncated_response_prints_one_line(serve: Serve) -> None:
    async with serve(agent({"a": AGENT | {"endpoints": {"query": "http://127.0.0.1:1/q"}}})) as url:
        with pytest.raises(HandshakeFailed, match="cannot be reached"):
            await findings(url)


def test_the_command_prints_each_step_with_its_result(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rightseat.yaml").write_text("faces: [{type: openbb, path: /copilotkit}]\n")
    with serving("--tls-self-signed") as (_, said):
        url = said[1].split()[1]
        result = run("doctor", "openbb", url, "--header", "X-My-Header: 1")
        elsewhere = run("doctor", "openbb", url, "--origin", "https://evil.test")
        plain = run("doctor", "openbb", url.replace("https:", "http:"))

    assert url.startswith("https://127.0.0.1:")
    assert result.exit_code == 0, result.output
    assert "Browsers do not trust the certificate" in result.output
    assert result.output.endswith("Workspace can use this agent.\n")
    assert elsewhere.exit_code == 1
    assert "pages of https://evil.test may not read it" in elsewhere.output
    assert "does not serve http:" in plain.output
    assert "try https://" in plain.output


def test_an_invalid_header_option_is_refused(run: Run) -> None:
    result = run("doctor", "openbb", "http://localhost", "--header", "nonsense")

    assert result.exit_code == 2
    assert "should look like 'X-API-KEY: …'" in result.output
