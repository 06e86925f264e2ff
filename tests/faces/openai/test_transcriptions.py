"""Recordings through the face, to a server that hears."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import pytest

from tests.conftest import Serve
from tests.faces.openai.serving import app, runtime, sdk, visiting
from tests.models.recorded import refusal
from tests.tcp import Server, answers, playing

HEARD = refusal("200 OK", json.dumps({"text": "Good morning."}))
FILE = ("hello.mp3", b"ID3-sound")


@asynccontextmanager
async def hearing(serve: Serve, said: bytes = HEARD) -> AsyncIterator[tuple[httpx2.AsyncClient, Server]]:
    async with (
        playing(answers(said)) as server,
        serve(app(runtime(), transcription={"base_url": server.url})) as url,
        visiting(url) as client,
    ):
        yield client, server


async def test_openais_own_client_gets_the_text(serve: Serve) -> None:
    async with playing(answers(HEARD)) as server:
        there = {"base_url": server.url, "api_key": "sk-hear", "model": "whisper-large"}
        async with serve(app(runtime(), transcription=there)) as url, sdk(url) as client:
            heard = await client.audio.transcriptions.create(model="whatever", file=FILE, language="en")

    assert heard.text == "Good morning."
    (request,) = server.requests
    assert request.line.split()[1] == "/audio/transcriptions"
    assert request.header("authorization") == "Bearer sk-hear"
    assert b"ID3-sound" in request.body
    assert b"Content-Type: audio/mpeg" in request.body
    assert b'name="model"\r\n\r\nwhisper-large\r\n' in request.body
    assert b'name="language"\r\n\r\nen\r\n' in request.body


async def test_the_text_may_come_as_it_is(serve: Serve) -> None:
    async with hearing(serve) as (client, _):
        answer = await client.post("/audio/transcriptions", files={"file": FILE}, data={"response_format": "text"})

    assert answer.text == "Good morning."
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_without_a_transcription_server_the_route_does_not_exist(serve: Serve) -> None:
    async with serve(app(runtime())) as url, sdk(url) as client:
        with pytest.raises(openai.NotFoundError, match="Transcription is not configured"):
            await client.audio.transcriptions.create(model="whisper-1", file=FILE)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"json": {"file": "x"}}, "multipart/form-data"),
        ({"files": {"audio": FILE}}, "field `file`"),
        ({"files": {"file": ("a.mp3", b"")}}, "is empty"),
        ({"files": {"file": ("a.exe", b"MZ")}}, "Unsupported audio format"),
        ({"files": {"file": FILE}, "data": {"response_format": "srt"}}, "'json' or 'text'"),
        ({"files": {"file": FILE}, "data": {"timestamp_granularities[]": "word"}}, "'timestamp_granularities[]'"),
    ],
)
async def test_a_wrong_request_is_refused(serve: Serve, sent: dict[str, Any], words: str) -> None:
    async with hearing(serve) as (client, server):
        answer = await client.post("/audio/transcriptions", **sent)

    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]
    assert server.requests == []


@pytest.mark.parametrize(("status", "told"), [("401 No", 502), ("429 Slow", 429), ("500 Oh", 502)])
async def test_a_refusal_of_the_server_is_reported_without_its_text(serve: Serve, status: str, told: int) -> None:
    async with hearing(serve, refusal(status, "secret")) as (client, _):
        answer = await client.post("/audio/transcriptions", files={"file": FILE})

    assert answer.status_code == told
    assert "secret" not in answer.text
