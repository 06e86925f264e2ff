"""What tests may expect of `serve`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.conftest import Serve


async def test_an_application_answers_on_a_real_port(serve: Serve) -> None:
    app = FastAPI()

    @app.get("/hello")
    async def hello() -> str:
        return "Hi"

    async with serve(app) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/hello")

    assert answer.json() == "Hi"
    assert "date" in answer.headers


async def test_two_applications_run_side_by_side(serve: Serve) -> None:
    async with serve(FastAPI()) as one, serve(FastAPI()) as other:
        assert one != other


async def test_the_lifespan_is_run(serve: Serve) -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        steps.append("started")
        yield
        steps.append("stopped")

    async with serve(FastAPI(lifespan=lifespan)):
        assert steps == ["started"]

    assert steps == ["started", "stopped"]


async def test_an_application_that_does_not_start_is_an_error(serve: Serve) -> None:
    def refuse() -> None:
        raise ValueError("no configuration")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        refuse()
        yield

    with pytest.raises(RuntimeError, match="did not start"):
        async with serve(FastAPI(lifespan=lifespan)):
            pass


async def test_an_open_stream_does_not_hold_the_end_up(serve: Serve) -> None:
    app = FastAPI()
    closed = asyncio.Event()

    async def forever() -> AsyncIterator[str]:
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    @app.get("/")
    async def stream() -> StreamingResponse:
        return StreamingResponse(forever())

    async with asyncio.timeout(30), httpx2.AsyncClient() as client:
        async with serve(app) as url:
            answer = await client.send(client.build_request("GET", url), stream=True)
            text = answer.aiter_text()
            assert await anext(text) == "first"
        with pytest.raises(httpx2.HTTPError):
            await anext(text)
        await answer.aclose()

    assert closed.is_set()


async def test_a_request_that_never_looks_up_is_cancelled(serve: Serve) -> None:
    cancelled = asyncio.Event()
    reached = asyncio.Event()

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError
        reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with asyncio.timeout(30), httpx2.AsyncClient() as client:
        async with serve(deaf) as url:
            asking = asyncio.create_task(client.get(url))
            await reached.wait()
        with pytest.raises(httpx2.HTTPError):
            await asking

    assert cancelled.is_set()
