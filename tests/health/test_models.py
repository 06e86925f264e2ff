"""What the check of a model finds, with providers that play recorded bytes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.certificates import Certificates, make_certificates
from tests.conftest import Serve
from tests.health.conftest import Diagnose
from tests.models.recorded import OPENAI

FUNCTION = {"name": "report_status", "arguments": '{"status":"ready"}'}
DELTA = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": FUNCTION}]}
CALL = (
    f"data: {json.dumps({'choices': [{'index': 0, 'delta': DELTA, 'finish_reason': 'tool_calls'}]})}\n\n"
    "data: [DONE]\n\n"
)
TEXT = (OPENAI / "text.response.txt").read_text().replace("\r\n", "\n").partition("\n\n")[2]
NO_TOOLS = {"error": {"message": "registry.ollama.ai/library/gemma does not support tools", "type": "api_error"}}


def provider(with_tool: Response, asked: list[str] | None = None) -> Starlette:
    """Answers a question with recorded text, and one with a tool as given."""

    async def complete(request: Request) -> Response:
        body = json.loads(await request.body())
        if asked is not None:
            asked.append(body["messages"][0]["content"])
        return with_tool if "tools" in body else Response(TEXT, media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def model(url: str, more: str = "") -> str:
    return f"models: {{default: {{type: openai, model: m, base_url: '{url}/v1'{more}}}}}"


async def test_a_model_is_asked_for_one_word_and_one_call(diagnose: Diagnose, serve: Serve) -> None:
    asked: list[str] = []
    async with serve(provider(Response(CALL, media_type="text/event-stream"), asked)) as url:
        (found,) = await diagnose("model", model(url))

    assert (found.state, found.detail) == ("ok", f"m at {url}/v1: it answers and calls tools.")
    assert asked == ["Reply with one word: ready", "Call the tool report_status with the status ready."]


async def test_a_model_that_ignores_its_tool_is_a_warning(diagnose: Diagnose, serve: Serve) -> None:
    async with serve(provider(Response(TEXT, media_type="text/event-stream"))) as url:
        (found,) = await diagnose("model", model(url))

    assert found.state == "warning"
    assert found.detail == f"m at {url}/v1: it answers, but did not call the tool that it was asked to call."
    assert found.fix is not None
    assert found.fix.docs == "explanation/tool-calls-on-any-model"


async def test_a_server_that_rejects_tools_is_quoted(diagnose: Diagnose, serve: Serve) -> None:
    async with serve(provider(JSONResponse(NO_TOOLS, 400))) as url:
        (found,) = await diagnose("model", model(url))

    assert found.state == "warning"
    assert "it answers, but fails with a tool: " in found.detail
    assert "gemma does not support tools" in found.detail


async def test_a_rate_limit_is_a_warning(diagnose: Diagnose, serve: Serve) -> None:
    limited = {
        "error": {"message": "Rate limit reached for requests", "type": "requests", "code": "rate_limit_exceeded"}
    }

    async def complete(request: Request) -> Response:
        return JSONResponse(limited, 429)

    async with serve(Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])) as url:
        (found,) = await diagnose("model", model(url))

    assert found.state == "warning"
    assert "Rate limit reached for requests" in found.detail


async def test_an_unknown_model_is_distinguished_from_a_wrong_address(diagnose: Diagnose, serve: Serve) -> None:
    async def complete(request: Request) -> Response:
        return JSONResponse({"error": {"message": "model 'm' not found", "type": "not_found_error"}}, 404)

    async with serve(Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])) as url:
        (found,) = await diagnose("model", model(url))

    assert found.state == "error"
    assert found.detail == f"m at {url}/v1: The model provider returned HTTP 404: model 'm' not found"
    assert found.fix is not None
    assert found.fix.text.startswith("Set models.default.model to a model that the server has")


async def test_a_fallback_that_works_shows_the_model_that_does_not(diagnose: Diagnose, serve: Serve) -> None:
    async with serve(provider(Response(CALL, media_type="text/event-stream"))) as url:
        dead = "dead: {type: openai, model: d, base_url: 'http://127.0.0.1:1/v1'}"
        live = f"live: {{type: openai, model: m, base_url: '{url}/v1'}}"
        both = "both: {type: fallback, models: [dead, live], retries: 0}"
        found = await diagnose("model", f"models: {{{dead}, {live}, {both}}}\nagents: {{default: {{model: both}}}}")

    assert {finding.subject: finding.state for finding in found} == {
        "models.dead": "error",
        "models.live": "ok",
        "models.both": "warning",
    }


@asynccontextmanager
async def secured(certificates: Certificates) -> AsyncIterator[int]:
    """The port of a server with TLS, which a client that refuses its certificate never talks to."""

    async def end(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(end, "127.0.0.1", 0, ssl=certificates.server_context()) as server:
        port: int = server.sockets[0].getsockname()[1]
        yield port


@pytest.mark.parametrize(
    ("is_expired", "host", "trusts", "detail", "text"),
    [
        (
            True,
            "127.0.0.1",
            True,
            "certificate has expired",
            "Renew the certificate of the model server, or set",
        ),
        (
            False,
            "localhost",
            True,
            "not valid for 'localhost'",
            "Set models.default.base_url to a name that the",
        ),
        (
            False,
            "127.0.0.1",
            False,
            "unable to get local issuer certificate",
            "Set models.default.tls.ca to the",
        ),
    ],
    ids=["expired", "another name", "own authority"],
)
async def test_a_certificate_that_is_refused_is_what_has_to_be_corrected(
    diagnose: Diagnose, tmp_path: Path, is_expired: bool, host: str, trusts: bool, detail: str, text: str
) -> None:
    """The model server runs, so to start it is no cure."""
    certificates = make_certificates(tmp_path, is_expired=is_expired)
    ca = f", tls: {{ca: '{certificates.ca}'}}" if trusts else ""
    async with secured(certificates) as port:
        (found,) = await diagnose("model", model(f"https://{host}:{port}", ca))

    assert found.state == "error"
    assert detail in found.detail
    assert found.fix is not None
    assert found.fix.text.startswith(text)
