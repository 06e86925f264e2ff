"""A client that goes away ends its run, and the model's server hears of it."""

import asyncio
import json

import pytest

from rightseat.core.ask import ANYONE
from rightseat.core.model import TextChunk
from rightseat.models.openai import OpenAI
from tests.conftest import Serve
from tests.faces.copilotkit.serving import Way, connected
from tests.faces.openai.serving import HI, Prompted, app, runtime
from tests.tcp import Visit, playing


@pytest.fixture(params=["ours", "somebody's"])
def way(request: pytest.FixtureRequest) -> object:
    return request.param


def request(*, stream: bool) -> bytes:
    body = json.dumps({"model": "bare", "messages": HI, "stream": stream}).encode()
    head = f"host: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return b"POST /v1/chat/completions HTTP/1.1\r\n" + head.encode() + body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("has_spoken", [False, True])
async def test_a_client_that_leaves_ends_its_run(serve: Serve, way: Way, stream: bool, has_spoken: bool) -> None:
    model = Prompted()
    if has_spoken:
        model.pieces.put_nowait(TextChunk("Hel"))
    async with serve(app(runtime(model), way)) as url, asyncio.timeout(30):
        async with connected(url) as (reader, writer):
            writer.write(request(stream=stream))
            await model.asked.wait()
            if has_spoken and stream:
                await reader.readuntil(b'"Hel"')

        async with asyncio.timeout(1):
            await model.left.wait()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_disconnect_closes_the_upstream_request(serve: Serve, stream: bool) -> None:
    asked = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        asked.set()
        await visit.gone()

    async with (
        playing(script) as server,
        OpenAI("m", base_url=server.url) as model,
        serve(app(runtime(model))) as url,
        asyncio.timeout(30),
    ):
        async with connected(url) as (_, writer):
            writer.write(request(stream=stream))
            await asked.wait()

        async with asyncio.timeout(1):
            await server.visits[0].gone()


async def test_nothing_of_a_run_is_kept(serve: Serve) -> None:
    model = Prompted()
    here = runtime(model)
    model.pieces.put_nowait(TextChunk("Hel"))
    model.pieces.put_nowait(None)
    async with serve(app(here)) as url, connected(url) as (reader, writer), asyncio.timeout(30):
        writer.write(request(stream=True))
        await reader.readuntil(b"[DONE]")

        kept = await here.threads.list(ANYONE)

    assert list(kept) == []
