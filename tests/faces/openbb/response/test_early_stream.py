"""Data that takes its time: the stream is open meanwhile, and ends with its reader."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rightseat.faces.openbb import query
from rightseat.testing import ScriptedModel, says
from tests.conftest import Serve
from tests.faces.openbb.serving import app, events, human, names, question, said_to, text_of, widget

HERE = ("127.0.0.0/8",)


class Slow:
    """Has a page, and gives it when it is let go."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.was_left = asyncio.Event()

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/page", self.page)])

    async def page(self, request: Request) -> Response:
        await request.body()  # from now on `receive` waits for the disconnect
        self.is_asked.set()
        leaving = asyncio.ensure_future(request.receive())
        going = asyncio.ensure_future(self.may_answer.wait())
        await asyncio.wait((leaving, going), return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            self.was_left.set()
        return PlainTextResponse("The wombat is 42.")


@asynccontextmanager
async def asked(url: str, body: Any) -> AsyncIterator[AsyncIterator[str]]:
    async with (
        httpx2.AsyncClient() as client,
        client.stream("POST", f"{url}/v1/query", json=body) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-completion-id"]
        yield answer.aiter_lines()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "PREPARE_GRACE_S", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_the_user_sees_that_data_is_read_and_the_line_is_kept(serve: Serve) -> None:
    slow, model = Slow(), ScriptedModel([says("It is 42.")])

    async with (
        asyncio.timeout(30),
        serve(slow.app) as elsewhere,
        serve(app(model, allow_private_hosts=HERE, keep_alive=0.02)) as url,
        asked(url, question(urls=[f"{elsewhere}/page"])) as lines,
    ):
        said = []
        async for line in lines:
            said.append(line)
            if line == ": keep-alive":
                slow.may_answer.set()

    found = events("\n".join(said) + "\n\n")
    assert names(found) == ["copilotStatusUpdate", "copilotMessageChunk"]
    assert found[0][1]["message"] == "Reading the data"
    assert text_of(found) == "It is 42."
    assert "The wombat is 42." in "".join(said_to(model.prompts[0].messages, "system"))


@pytest.mark.usefixtures("at_once")
async def test_a_disconnect_ends_the_reading_of_files_and_the_model_is_not_called(serve: Serve) -> None:
    slow, model = Slow(), ScriptedModel([says("For nobody.")])

    async with asyncio.timeout(30), serve(slow.app) as elsewhere, serve(app(model, allow_private_hosts=HERE)) as url:
        async with asked(url, question(urls=[f"{elsewhere}/page"])) as lines:
            await anext(lines)
            await slow.is_asked.wait()
        await slow.was_left.wait()

    assert model.prompts == []


@pytest.mark.usefixtures("at_once")
async def test_an_old_client_sees_nothing_that_it_does_not_know(serve: Serve) -> None:
    slow, model = Slow(), ScriptedModel([says("It is 42.")])
    body = {"messages": [human()], "widgets": [{"uuid": "u", "name": "Price"}]}

    async with (
        asyncio.timeout(30),
        serve(slow.app) as elsewhere,
        serve(app(model, allow_private_hosts=HERE)) as url,
        asked(url, body | {"urls": [f"{elsewhere}/page"]}) as lines,
    ):
        said = [await anext(lines)]
        slow.may_answer.set()
        said += [line async for line in lines]

    assert said[0] == ": keep-alive"
    assert names(events("\n".join(said) + "\n\n")) == ["copilotMessageChunk"]


async def test_data_that_is_there_at_once_needs_no_word(serve: Serve) -> None:
    slow = Slow()
    slow.may_answer.set()

    async with (
        asyncio.timeout(30),
        serve(slow.app) as elsewhere,
        serve(app(ScriptedModel([says("It is 42.")]), allow_private_hosts=HERE)) as url,
        asked(url, question(widget(), urls=[f"{elsewhere}/page"])) as lines,
    ):
        said = [line async for line in lines]

    assert names(events("\n".join(said) + "\n\n")) == ["copilotMessageChunk"]
