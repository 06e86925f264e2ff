"""What a face makes the server read of what is stored is bounded where its routes are protected.

The face here is a stranger's: it does nothing for it.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import ModuleType

import httpx2
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message

from rightseat import app, config
from rightseat.access.held_response import SHORT_BODY_BYTES, send_in_pieces
from rightseat.access.route_auth import RouteAuth
from rightseat.app import Assembly
from rightseat.config import ConfiguredPart, Server
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import RightseatError
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.limits.read_limits import ReadLimits
from tests.conftest import serving

KEYS = """
models: {default: {type: scripted, chunk_delay: 0}}
agents: {default: {}}
log: {type: memory}
threads: {type: memory}
faces: []
access: {keys: [{name: alice, key: key-alice, user: alice}, {name: bob, key: key-bob, user: bob}]}
"""
LARGE = 64 * 2**20  # more than the buffers of two sockets hold


def refuse(error: RightseatError) -> Response:
    return Response(json.dumps({"strange": error.code, "why": error.message}), error.status)


def routes(runtime: Runtime, options: object, auth: RouteAuth) -> APIRouter:
    async def read(request: Request, principal: Principal) -> Response:
        await runtime.thread("t", principal)
        return Response(b"x" * int(request.query_params["size"]))

    async def read_and_catch(request: Request, principal: Principal) -> Response:
        try:
            return await read(request, principal)
        except RightseatError as error:
            return refuse(error)

    async def stream(request: Request, principal: Principal) -> Response:
        async def endless() -> AsyncIterator[bytes]:
            yield b": hello\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(endless(), media_type="text/event-stream")

    async def ask(request: Request, principal: Principal) -> Response:
        await runtime.thread("t", principal)
        ask = await runtime.start(Ask(messages=(user("Hi"),), principal=principal))
        return Response(ask.run_id.encode() + b"x" * LARGE)

    router = APIRouter()
    for path, handler in {"/read": read, "/catch": read_and_catch, "/stream": stream, "/ask": ask}.items():
        router.add_route(path, auth.protect(handler, refuse), methods=["GET"])
    return router


@asynccontextmanager
async def strange_server(limits: ReadLimits) -> AsyncIterator[tuple[httpx2.AsyncClient, httpx2.AsyncClient]]:
    """Clients of alice and of bob."""
    built = app.assemble(config.parse(KEYS, environ={}))
    module = ModuleType("strange")
    module.routes = routes  # type: ignore[attr-defined]
    face = ConfiguredPart("faces", "strange", module, Server())
    assembly = Assembly(built.runtime, [face], built.owned, built.authenticator, reads=limits)
    async with serving(app.application(assembly, Server())) as url:
        alice, bob = (
            httpx2.AsyncClient(base_url=url, headers={"x-api-key": f"key-{name}"}) for name in ("alice", "bob")
        )
        async with alice, bob:
            yield alice, bob


async def test_a_client_that_does_not_read_keeps_its_place_until_it_disconnects() -> None:
    async with strange_server(ReadLimits(1, wait_seconds=0.05)) as (alice, bob):
        async with bob.stream("GET", "/read", params={"size": LARGE}) as unread:
            assert unread.status_code == 200
            refused = await bob.get("/read", params={"size": 1})
            other = await alice.get("/read", params={"size": 1})
        await asyncio.wait_for(until_read(bob), 20)

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert refused.json()["strange"] == "concurrency_limit_exceeded"
    assert "server.max_concurrent_reads_per_user" in refused.json()["why"]
    assert other.status_code == 200


async def until_read(client: httpx2.AsyncClient) -> None:
    while (await client.get("/read", params={"size": 1})).status_code != 200:
        pass


async def test_a_refusal_that_the_face_writes_itself_says_when_to_retry_too() -> None:
    async with (
        strange_server(ReadLimits(1, wait_seconds=0.05)) as (_, bob),
        bob.stream("GET", "/read", params={"size": LARGE}),
    ):
        refused = await bob.get("/catch", params={"size": 1})

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")


async def test_a_short_response_holds_no_place_and_neither_does_that_of_a_run() -> None:
    async with (
        strange_server(ReadLimits(1, wait_seconds=0.05)) as (_, bob),
        bob.stream("GET", "/read", params={"size": SHORT_BODY_BYTES}),
        bob.stream("GET", "/ask") as asked,
        bob.stream("GET", "/read", params={"size": SHORT_BODY_BYTES}) as read,
    ):
        assert (asked.status_code, read.status_code) == (200, 200)


async def test_a_stream_beyond_the_limit_of_its_user_is_refused_in_the_form_of_the_face() -> None:
    async with (
        strange_server(ReadLimits(max_streams=1)) as (alice, bob),
        bob.stream("GET", "/stream") as first,
        alice.stream("GET", "/stream") as other,
    ):
        refused = await bob.get("/stream")

    assert (first.status_code, other.status_code) == (200, 200)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert "limit of 1 open streams" in refused.json()["why"]


async def test_a_long_body_is_sent_in_pieces() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    body = bytes(range(256)) * 1000
    await send_in_pieces(send)({"type": "http.response.body", "body": body})

    assert b"".join(one["body"] for one in sent) == body
    assert [one["more_body"] for one in sent] == [True] * (len(sent) - 1) + [False]
    assert max(len(one["body"]) for one in sent) == SHORT_BODY_BYTES
