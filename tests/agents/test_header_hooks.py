"""A header hook of the configuration: what a real server behind rightseat receives, and what is logged of it."""

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rightseat import app, config
from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError
from tests.conftest import Serve, serving

TOKEN = "tok-9f8e7d6c"
INFO = {
    "actions": [{"name": "nameOf", "description": "", "parameters": []}],
    "agents": [{"name": "a", "type": "crewai"}],
}
SAID = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}


async def sign(ask: Ask) -> dict[str, str]:
    return {"authorization": f"Bearer {TOKEN}", "x-user": ask.principal.id, "x-tenant": ask.headers["x-tenant"].upper()}


async def fail(ask: Ask) -> dict[str, str]:
    raise ConnectionError("the vault is sealed")


def plain(ask: Ask) -> dict[str, str]:
    return {}


class Remote:
    """Any remote server: it remembers the headers of each request, and may fail with the token in its words."""

    def __init__(self, reply: Callable[[str], Response]) -> None:
        self.seen: dict[str, dict[str, str]] = {}
        self._reply = reply

    async def answer(self, request: Request) -> Response:
        self.seen[request.url.path] = dict(request.headers)
        return self._reply(request.url.path)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{rest:path}", self.answer, methods=["GET", "POST"])])


def agui(path: str) -> Response:
    events: list[dict[str, Any]] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "RUN_ERROR", "message": f"Your token {TOKEN} has expired"},
    ]
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Response(text, media_type="text/event-stream")


def copilotkit(path: str) -> Response:
    if path == "/info":
        return JSONResponse(INFO)
    return PlainTextResponse(json.dumps({"type": "RunError", "error": f"Your token {TOKEN} has expired"}) + "\n")


def langgraph(path: str) -> Response:
    if path.endswith("/stream"):
        text = f"event: error\ndata: {json.dumps({'error': 'E', 'message': f'Your token {TOKEN} has expired'})}\n\n"
        return Response(text, media_type="text/event-stream")
    return JSONResponse({"values": {}})


def refusing(path: str) -> Response:
    return PlainTextResponse(f"no such token: {TOKEN}", status_code=403)


def configured(agents: str, more: str = "") -> Any:
    head = "log: {type: memory}, threads: {type: memory}, faces: [{type: openai, headers: [x-tenant]}]"
    return app.build(config.parse(f"{{{head}, agents: {{default: {agents}}}{more}}}", environ={}))


async def asked(served: Any) -> httpx2.Response:
    async with serving(served) as url, httpx2.AsyncClient(base_url=url) as client:
        return await client.post("/v1/chat/completions", json=SAID, headers={"x-tenant": "acme"})


@pytest.mark.parametrize(
    ("part", "reply", "paths"),
    [
        ("type: agui", agui, {"/"}),
        ("type: copilotkit, agent: a", copilotkit, {"/info", "/agents/execute"}),
        ("type: langgraph", langgraph, {"/threads", "/threads/*/state", "/threads/*/runs/stream"}),
    ],
)
async def test_every_request_to_a_remote_agent_has_the_headers_of_the_hook_and_no_log_line_their_values(
    serve: Serve,
    part: str,
    reply: Callable[[str], Response],
    paths: set[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    remote = Remote(reply)
    async with serve(remote.app) as url:
        answer = await asked(configured(f"{{{part}, url: '{url}', header_hook: '{__name__}:sign'}}"))

    named = {"/".join("*" if len(name) == 36 else name for name in path.split("/")) for path in remote.seen}
    assert named == paths
    for headers in remote.seen.values():
        assert headers["authorization"] == f"Bearer {TOKEN}"
        assert (headers["x-user"], headers["x-tenant"]) == ("anyone", "ACME")
    assert "expired" in caplog.text
    assert TOKEN not in caplog.text + answer.text


async def test_the_key_of_a_langgraph_server_is_sent_with_every_request(serve: Serve) -> None:
    remote = Remote(langgraph)
    async with serve(remote.app) as url:
        await asked(configured(f"{{type: langgraph, url: '{url}', api_key: lsv2-1}}"))

    assert len(remote.seen) == 3
    assert {headers["x-api-key"] for headers in remote.seen.values()} == {"lsv2-1"}


async def test_a_server_that_repeats_the_token_in_its_refusal_does_not_bring_it_into_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(Remote(refusing).app) as url:
        answer = await asked(configured(f"{{type: agui, url: '{url}', header_hook: '{__name__}:sign'}}"))

    assert "no such token: [secret]" in caplog.text
    assert TOKEN not in caplog.text + answer.text


async def test_actions_of_an_endpoint_are_asked_for_with_the_headers_of_the_hook(serve: Serve) -> None:
    remote = Remote(copilotkit)
    async with serve(remote.app) as url:
        box = f", toolboxes: {{remote: {{type: copilotkit, url: '{url}', header_hook: '{__name__}:sign'}}}}"
        await asked(configured("{type: loop, toolboxes: [remote]}", box))

    assert remote.seen["/info"]["authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("part", ["agents", "toolboxes"])
async def test_a_hook_that_fails_ends_the_run_with_an_error_that_names_it_and_nothing_is_sent(
    serve: Serve, part: str
) -> None:
    remote = Remote(copilotkit)
    async with serve(remote.app) as url:
        given = f"{{type: copilotkit, url: '{url}', header_hook: '{__name__}:fail'"
        if part == "agents":
            answer = await asked(configured(f"{given}, agent: a}}"))
        else:
            box = f", toolboxes: {{remote: {given}}}}}"
            answer = await asked(configured("{type: loop, toolboxes: [remote]}", box))

    assert answer.json()["error"]["code"] == "header_hook_failed"
    assert f"{__name__}:fail" in answer.json()["error"]["message"]
    assert "vault" not in answer.text
    assert remote.seen == {}


@pytest.mark.parametrize("wrong", ["plain", "missing"])
def test_a_hook_that_cannot_be_called_is_refused_at_the_start(wrong: str) -> None:
    with pytest.raises(ConfigError):
        configured(f"{{type: agui, url: 'http://127.0.0.1:9', header_hook: '{__name__}:{wrong}'}}")


def test_a_graph_in_this_process_has_no_use_for_a_hook() -> None:
    with pytest.raises(ConfigError, match="`header_hook` needs `url`"):
        configured(f"{{type: langgraph, graph: '{__name__}:plain', header_hook: '{__name__}:sign'}}")
