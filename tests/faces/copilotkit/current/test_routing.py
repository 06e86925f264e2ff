"""Paths and envelopes → operations, and what is refused before there is one."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.threads import Thread
from rightseat.faces.copilotkit.current.routing import (
    Envelope,
    MethodNotAllowed,
    OperationRequest,
    RouteNotFound,
    find,
    match,
    unpack_envelope,
)
from rightseat.stores.memory import MemoryThreads
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import BASE, app, asking, read, text_of, visiting
from tests.faces.copilotkit.serving import Way, connected, runtime

JSON = {"content-type": "application/json"}
HALVES = rb'"\ud83d cut, \uDE00 cut, \ud83d\ude00 whole, \\ud83d no escape"'
MENDED = "\ufffd cut, \ufffd cut, \U0001f600 whole, \\ud83d no escape"
STRANGE = ["a b", "a/b", "a%2Fb", "100%", "%41", "ä☃", "?x=1#y", "a+b", "\\", "'; drop table threads --"]


async def nothing(call: OperationRequest) -> Response:
    return Response()


async def anything(call: OperationRequest) -> Response:
    return Response()


ROUTES = {
    ("GET", "threads"): nothing,
    ("PATCH", "threads/{threadId}"): nothing,
    ("DELETE", "threads/{threadId}"): anything,
    ("POST", "agent/{agentId}/stop/{threadId}"): nothing,
}

# Paths


@pytest.mark.parametrize(
    ("pattern", "path", "ids"),
    [
        ("threads", "threads", {}),
        ("threads", "Threads", None),
        ("threads/{id}", "threads/t-1", {"id": "t-1"}),
        ("threads/{id}", "threads/a%2Fb%20c", {"id": "a/b c"}),
        ("threads/{id}", "threads/%2525", {"id": "%25"}),
        ("threads/{id}", "threads/%E2%98%83", {"id": "☃"}),
        ("threads/{id}", "threads/..", {"id": ".."}),
        ("threads/{id}", "threads/", None),
        ("threads/{id}", "threads", None),
        ("threads/{id}", "threads/a/b", None),
        ("agent/{id}/run", "agent//run", None),
        ("agent/{id}/run", "agent/a/run", {"id": "a"}),
        ("{id}/run", "{id}/run", {"id": "{id}"}),
    ],
)
def test_a_part_in_braces_is_an_id(pattern: str, path: str, ids: Mapping[str, str] | None) -> None:
    assert match(pattern.split("/"), path.split("/")) == ids


def test_the_method_chooses_among_operations_of_one_path() -> None:
    assert find(ROUTES, "DELETE", "threads/t-1") == (anything, {"threadId": "t-1"})
    assert find(ROUTES, "PATCH", "/threads/t-1/") == (nothing, {"threadId": "t-1"})


def test_a_wrong_method_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(MethodNotAllowed) as raised:
        find(ROUTES, "POST", "threads/t-1")

    assert raised.value.allowed == ["PATCH", "DELETE"]


@pytest.mark.parametrize("path", ["", "/", "nothing", "threads/a/b", "threads//a", "agent/a/stop//t", "../threads"])
def test_any_other_path_is_nothing(path: str) -> None:
    with pytest.raises(RouteNotFound):
        find(ROUTES, "GET", path)


# Envelopes


@pytest.mark.parametrize(
    ("method", "params", "unpacked"),
    [
        ("info", {}, ("GET", "info", {})),
        ("transcribe", {}, ("POST", "transcribe", {})),
        ("agent/run", {"agentId": "default"}, ("POST", "agent/default/run", {})),
        ("agent/connect", {"agentId": "a b/c%"}, ("POST", "agent/a%20b%2Fc%25/connect", {})),
        ("agent/stop", {"agentId": "a", "threadId": "a/b"}, ("POST", "agent/a/stop/a%2Fb", {})),
        ("resource/request", {"path": "/threads", "httpMethod": "get"}, ("GET", "/threads", {})),
        (
            "resource/request",
            {"path": "/threads?agentId=a%20b&limit=5", "httpMethod": "GET"},
            ("GET", "/threads", {"agentId": "a b", "limit": "5"}),
        ),
        ("resource/request", {"path": "/threads/a%2Fb", "httpMethod": "DELETE"}, ("DELETE", "/threads/a%2Fb", {})),
    ],
)
def test_an_envelope_names_its_operation(method: str, params: dict[str, Any], unpacked: object) -> None:
    assert unpack_envelope(Envelope(method, params)) == unpacked


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("bogus", {}, "Unsupported method 'bogus'; it is one of info, agent/run"),
        ("", {}, "Unsupported method ''"),
        ("agent/run", {}, "'agentId'"),
        ("agent/run", {"agentId": 7}, "'agentId'"),
        ("agent/run", {"agentId": ""}, "'agentId'"),
        ("agent/stop", {"agentId": "a"}, "'threadId'"),
        ("resource/request", {"httpMethod": "GET"}, "'path'"),
        ("resource/request", {"path": "/threads"}, "'httpMethod'"),
        ("resource/request", {"path": "/threads", "httpMethod": 7}, "'httpMethod'"),
        *(
            ("resource/request", {"path": path, "httpMethod": "GET"}, "is relative to this URL")
            for path in [
                "threads",
                "//evil.example/threads",
                "///threads/../x",
                "http://evil.example/threads",
                "javascript:alert(1)",
                "/../secret",
                "/threads/..",
                "/threads/%2e%2e/x",
                "/threads/..%2Fx",
                "//[",
                "//[::1",
                "/\\evil.example/..",
            ]
        ),
    ],
)
def test_an_envelope_that_names_none_is_refused(method: str, params: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadRequest) as raised:
        unpack_envelope(Envelope(method, params))

    assert problem in raised.value.message


@pytest.mark.parametrize("path", ["/threads\\..\\x", "/ threads", "/threads;x", "/threads#x", "/thr\neads/x"])
def test_a_path_that_only_looks_like_one_finds_nothing_else(path: str) -> None:
    method, path, _ = unpack_envelope(Envelope("resource/request", {"path": path, "httpMethod": "POST"}))

    with pytest.raises((RouteNotFound, MethodNotAllowed)):
        find(ROUTES, method, path)


# Over HTTP


async def test_an_id_of_any_characters_is_the_same_in_the_body_and_in_the_path(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        for thread in STRANGE:
            await client.post("/agent/default/run", json=asking(thread, thread=thread))
            by_path = await client.get(f"/threads/{quote(thread, safe='')}/messages")
            told = {"path": f"/threads/{quote(thread, safe='')}/messages", "httpMethod": "GET"}
            by_envelope = await client.post("", json={"method": "resource/request", "params": told})
            stopped = await client.post(f"/agent/default/stop/{quote(thread, safe='')}")

            assert [message["content"] for message in by_path.json()["messages"]] == [thread, "Hello"]
            assert by_envelope.json() == by_path.json()
            assert stopped.json() == {"stopped": False, "message": f"No active run for thread {thread!r}."}


async def test_an_agent_may_have_any_name(serve: Serve, way: Way) -> None:
    served = runtime()
    served.agents["ä/b c%"] = served.agents["default"]

    async with serve(app(served, way)) as url, visiting(url) as client:
        by_path = await client.post(f"/agent/{quote('ä/b c%', safe='')}/run", json=asking())
        envelope = {"method": "agent/run", "params": {"agentId": "ä/b c%"}, "body": asking(thread="t-2")}
        by_envelope = await client.post("", json=envelope)

    assert text_of(read(by_path.content)) == text_of(read(by_envelope.content)) == "Hello"


@pytest.mark.parametrize(
    "path", ["/nothing", "/agent/default", "/agent//run", "/threads/a/b/c", "/agent/default/run/x"]
)
async def test_an_unknown_path_is_not_found(serve: Serve, way: Way, path: str) -> None:
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        answer = await client.get(path)

    assert answer.status_code == 404
    assert answer.json() == {
        "error": "Not found",
        "message": "Not found.",
        "code": "not_found",
    }


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/agent/default/run", "POST"),
        ("POST", "/info", "GET"),
        ("GET", "/threads/t-1", "PATCH, DELETE"),
        ("DELETE", "/threads/t-1/archive", "POST"),
        ("POST", "/approvals", "GET"),
        ("HEAD", "/agent/default/run", "POST"),
    ],
)
async def test_a_method_that_is_not_taken(serve: Serve, way: Way, method: str, path: str, allow: str) -> None:
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        answer = await client.request(method, path)

    assert (answer.status_code, answer.headers["allow"]) == (405, allow)
    if method != "HEAD":
        assert answer.json() == {
            "error": "Method not allowed",
            "message": f"This URL accepts {allow}.",
            "code": "method_not_allowed",
        }


async def test_a_slash_too_many_is_forgiven(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        for path in ("/info/", "//info"):
            assert (await client.get(url + BASE + path)).json()["mode"] == "sse"
        by_envelope = await client.post(url + BASE + "/", json={"method": "info"})
        by_graphql = await client.post(url + BASE + "/", json={"query": "{ hello }"})

    assert by_envelope.json()["mode"] == "sse"
    assert by_graphql.json() == {"data": {"hello": "Hello World"}}


async def test_a_face_at_the_root_leaves_the_servers_own_pages_alone(serve: Serve) -> None:
    async with serve(app(runtime(), path="/")) as url, httpx2.AsyncClient(base_url=url) as client:
        health = await client.get("/health")
        info = await client.get("/info")
        answer = await client.post("/", json={"method": "info"})

    assert health.json()["status"] == "ok"
    assert info.json()["mode"] == answer.json()["mode"] == "sse"


async def test_a_single_address_has_nothing_below_it(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(), way, single_endpoint=True)) as url, visiting(url) as client:
        statuses = [(await client.get(url + BASE + path)).status_code for path in ("/info", "/threads", "")]
        run = {"method": "agent/run", "params": {"agentId": "default"}, "body": asking()}
        answer = await client.post(url + BASE, json=run)

    assert statuses == [404, 404, 405]
    assert text_of(read(answer.content)) == "Hello"


# Bodies


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
@pytest.mark.parametrize("path", ["/agent/default/run", "/agent/default/stop/t-1", "/threads/t-1/archive"])
async def test_only_json_is_taken(serve: Serve, way: Way, kind: str, path: str) -> None:
    """A page of another origin can send the other kinds without asking first."""
    async with serve(app(runtime(), way)) as url, visiting(url) as client:
        await client.post("/agent/default/run", json=asking())
        answers = [
            await client.post(path, content=content, headers={"content-type": kind})
            for content in (json.dumps(asking(thread="t-2")), "")
        ]
        listed = await client.get("/threads")

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(415, "not_json")] * 2
    assert [thread["id"] for thread in listed.json()["threads"]] == ["t-1"]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
async def test_json_is_taken_however_it_is_spelt(serve: Serve, kind: str) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post("/agent/default/run", content=json.dumps(asking()), headers={"content-type": kind})

    assert answer.status_code == 200


BODIES = {
    "nothing": b"",
    "no JSON": b"nope",
    "cut": b'{"threadId": "t',
    "a list": b"[]",
    "null": b"null",
    "no UTF-8": b'{"threadId": "\xff", "status": "\xff", "name": "\xff", "runId": "\xff", "audio": "\xff"}',
    "wrong types": b'{"threadId": 7, "status": 7, "name": 7, "runId": 7, "audio": 7}',
    "deep": b'{"threadId": "t", "runId": "r", "messages": [], "state": %b, "status": "resolved", "payload": %b}'
    % ((b"[" * 100_000 + b"]" * 100_000,) * 2),
    "deep and elsewhere": b'{"more": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/agent/default/run"),
        ("POST", "/agent/default/connect"),
        ("POST", "/agent/default/suggest"),
        ("POST", "/agui/default"),
        ("POST", "/agent/default/stop/t-1"),
        ("POST", "/approvals/q-1"),
        ("PATCH", "/threads/t-1"),
        ("POST", "/transcribe"),
    ],
)
async def test_a_body_that_cannot_be_read_is_refused(
    serve: Serve, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answers = {
            what: await client.request(method, path, content=body, headers=JSON) for what, body in BODIES.items()
        }
        threads = await client.get("/threads")

    nothing = answers.pop("nothing")
    assert nothing.status_code == {"/agent/default/stop/t-1": 200, "/threads/t-1": 404}.get(path, 400)
    for what, answer in answers.items():
        assert answer.status_code == 400, what
        assert isinstance(answer.json()["message"], str), what
    assert threads.json()["threads"] == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("depth", [60, 300, 700, 900, 950, 960, 970, 980, 990])
async def test_deep_json_is_refused_or_carried_whole(serve: Serve, depth: int) -> None:
    """There is no depth at which it is taken and then breaks what is kept."""
    deep = "[" * depth + "]" * depth
    body = json.dumps(asking(thread="deep")).replace('"state": {}', f'"state": {deep}')

    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post("/agent/default/run", content=body, headers=JSON)
        state = await client.get("/threads/deep/state")
        again = await client.post("/agent/default/run", json=asking(thread="deep", run="r-2"))

    if depth <= 60:
        assert (answer.status_code, state.text) == (200, f'{{"state":{deep}}}')
    elif answer.status_code != 400:
        assert (read(answer.content)[-1].type, state.text) == ("RUN_FINISHED", f'{{"state":{deep}}}')
    assert read(again.content)[-1].type == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/agent/default/run", b'{"runId": "r", "messages": []}', "threadId"),
        ("/agent/default/run", b'{"threadId": "t", "messages": []}', "runId"),
        ("/agent/default/run", b'{"threadId": "", "runId": "r", "messages": []}', "threadId"),
        (
            "/agent/default/run",
            b'{"threadId": "t", "runId": "r", "messages": [{"id": "m"}]}',
            "messages[0] lacks `role`",
        ),
        ("/agent/default/stop/t-1", b'{"run": "r"}', "runId"),
        ("/approvals/q-1", b'{"status": "maybe"}', "status"),
    ],
)
async def test_what_is_missing_is_named(serve: Serve, path: str, body: bytes, message: str) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post(path, content=body, headers=JSON)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert message in answer.json()["message"]


async def test_half_a_character_is_no_reason_to_refuse_a_message(serve: Serve) -> None:
    """JavaScript cuts texts in the middle of an emoji, and writes the half as an escape that no other JSON has."""
    body = json.dumps(asking("HALVES")).encode().replace(b'"HALVES"', HALVES)
    in_envelope = b'{"method": "agent/run", "params": {"agentId": "default"}, "body": %b}'
    resource = b'{"method": "resource/request", "params": {"path": "/threads/t-1", "httpMethod": "PATCH"}, "body": %b}'

    async with serve(app(runtime())) as url, visiting(url) as client:
        by_path = await client.post("/agent/default/run", content=body, headers=JSON)
        by_envelope = await client.post("", content=in_envelope % body.replace(b"t-1", b"t-2"), headers=JSON)
        messages = await client.get("/threads/t-1/messages")
        named = await client.patch("/threads/t-1", content=b'{"name": %b}' % HALVES, headers=JSON)
        again = await client.post("", content=resource % (b'{"name": %b}' % HALVES), headers=JSON)

    for answer in (by_path, by_envelope):
        assert read(answer.content)[0].data["input"]["messages"][0]["content"] == MENDED
    assert messages.json()["messages"][0]["content"] == MENDED
    assert named.json()["name"] == again.json()["name"] == MENDED


@pytest.mark.parametrize("path", ["/agent/default/run", "/transcribe", "", "/nothing"])
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
async def test_a_body_over_the_limit_is_refused_in_words(serve: Serve, way: Way, path: str, kind: str) -> None:
    large = json.dumps(asking("x" * 2**19)).encode()
    if kind != "application/json":
        head = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\nContent-Type: audio/webm\r\n\r\n'
        large = head + large + b"\r\n--x--\r\n"

    async with serve(app(runtime(), way, max_body_mb=0.5)) as url, visiting(url) as client:
        answer = await client.post(path, content=large, headers={"content-type": kind})

    if path != "/transcribe" and kind != "application/json":  # refused by its kind, before it is read
        assert answer.status_code == 415
    else:
        assert answer.status_code == 413
        assert answer.json()["message"] == "The request is too large: the limit is 0.5 MB."


async def test_a_body_without_a_length_is_held_to_the_limit_too(serve: Serve) -> None:
    async with serve(app(runtime(), max_body_mb=0.1)) as url, connected(url) as (reader, writer):
        writer.write(b"POST /copilotkit/agent/default/run HTTP/1.1\r\nhost: localhost\r\n")
        writer.write(b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(60):
            writer.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
        async with asyncio.timeout(30):
            head = await reader.readuntil(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 413 ")


async def test_a_client_that_leaves_in_the_middle_of_its_body_leaves_nothing_behind(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    for kind in ("application/json", "multipart/form-data; boundary=x"):
        async with serve(app(runtime())) as url:
            async with connected(url) as (_, writer):
                writer.write(b"POST /copilotkit/transcribe HTTP/1.1\r\nhost: localhost\r\n")
                writer.write(f"content-type: {kind}\r\ncontent-length: 1000\r\n\r\n--x".encode())
                await writer.drain()
            async with visiting(url) as client:
                assert (await client.get("/info")).status_code == 200

    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_an_envelope_with_a_body_that_cannot_be_read_is_refused(serve: Serve, body: bytes) -> None:
    envelope = b'{"method": "agent/run", "params": {"agentId": "default"}, "body": %b}' % (body or b"null")

    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post(url + BASE, content=envelope, headers=JSON)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


async def test_a_face_in_an_application_that_is_mounted_in_another(serve: Serve) -> None:
    outer = FastAPI()
    inner = app(runtime())
    outer.mount("/inner", inner)

    async with inner.router.lifespan_context(inner), serve(outer) as url, visiting(url) as client:
        answer = await client.post(f"{url}/inner{BASE}/agent/default/run", json=asking("Hi", thread="a/b"))
        messages = await client.get(f"{url}/inner{BASE}/threads/a%2Fb/messages")

    assert text_of(read(answer.content)) == "Hello"
    assert len(messages.json()["messages"]) == 2


# What nobody expected


class Lost(MemoryThreads):
    """A store that is lost: nothing can be read from it."""

    async def list(self, principal: Principal, **_: Any) -> Any:
        raise OSError("/var/lib/rightseat: Input/output error")

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        raise OSError("/var/lib/rightseat: Input/output error")

    async def claim(self, ask: Ask, *, again: bool = False, artifact: object = None, needs_slot: bool = False) -> Any:
        raise OSError("/var/lib/rightseat: Input/output error")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/threads"),
        ("GET", "/threads/t-1/messages"),
        ("POST", "/agent/default/connect"),
        ("POST", "/agui/default"),
    ],
)
async def test_an_internal_error_is_reported_to_the_page_and_explained_in_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    async with serve(app(runtime(threads=Lost()))) as url, visiting(url) as client:
        body = asking() if method == "POST" else None
        answer = await client.request(method, path, json=body, headers={"origin": "http://localhost:3000"})

    assert answer.status_code == 500
    assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"  # or no page could read it
    assert answer.json()["code"] == "internal_error"
    assert "Something went wrong on the server." in answer.json()["message"]
    assert "Input/output" not in answer.text
    assert "Input/output error" in caplog.text
