"""Guards beside the conversation: what becomes a vector, what was heard in a recording."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from rightseat.app import Assembly, application
from rightseat.config import ConfiguredPart, Server
from rightseat.core.ask import Ask
from rightseat.core.guard import BaseGuard, Guard, question_text
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces import copilotkit, openai
from rightseat.guards import patterns
from rightseat.logs.memory import MemoryLog
from rightseat.models.openai import OpenAI
from rightseat.stores.memory import MemoryThreads
from tests import tcp
from tests.conftest import serving
from tests.models.recorded import refusal
from tests.tcp import answers, playing

VECTORS = {"data": [{"index": place, "embedding": [0.5]} for place in range(3)], "usage": {}}
FILE = {"file": ("hello.mp3", b"ID3-sound")}
RECORDING = {"audio": base64.b64encode(b"sound").decode()}


def phrases(*on: str) -> Guard:
    options = patterns.Options.model_validate({"phrases": ["night jar"], "applies_to": on, "reason": "Not here."})
    return patterns.build(options, None)  # type: ignore[arg-type]  # it asks for no parts


@asynccontextmanager
async def server(guard: Guard, said: Any) -> AsyncIterator[tuple[httpx2.AsyncClient, tcp.Server]]:
    """Both faces, in front of a server that says this to everything."""
    async with (
        playing(answers(refusal("200 OK", json.dumps(said)))) as behind,
        OpenAI("m", base_url=behind.url) as model,
    ):
        runtime = Runtime(
            {},
            log=MemoryLog(),
            threads=MemoryThreads(),
            engine=LocalEngine(),
            models={"vectors": model},
            guards=[guard],
        )
        hears: Any = {"base_url": behind.url}
        faces = [
            ConfiguredPart("faces", "openai", openai, openai.Options(transcription=hears)),
            ConfiguredPart("faces", "copilotkit", copilotkit, copilotkit.Options(transcription=hears)),
        ]
        app = application(Assembly(runtime, faces), Server())
        async with serving(app) as url, httpx2.AsyncClient(base_url=url) as client:
            yield client, behind


def embed(*texts: str) -> dict[str, Any]:
    return {"model": "vectors", "input": list(texts)}


async def test_a_denied_text_becomes_no_vector() -> None:
    async with server(phrases("question"), VECTORS) as (client, behind):
        answer = await client.post("/v1/embeddings", json=embed("a", "the night jar", "b"))

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "content_filter")
    assert answer.json()["error"]["message"] == "Not here."
    assert behind.requests == []


async def test_texts_that_pass_one_by_one_become_vectors() -> None:
    async with server(phrases("question"), VECTORS) as (client, _):
        answer = await client.post("/v1/embeddings", json=embed("a night", "jar", "b"))

    assert answer.status_code == 200


class Counting(BaseGuard):
    name = "counting"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def check_question(self, ask: Ask) -> None:
        self.asked.append(question_text(ask))


async def test_many_short_texts_are_one_question_to_a_guard() -> None:
    guard = Counting()
    async with server(guard, VECTORS) as (client, _):
        await client.post("/v1/embeddings", json=embed("a", "b", "c"))

    assert guard.asked == ["a\nb\nc"]


@pytest.mark.parametrize("on", ["question", "answer"])
async def test_a_denied_transcription_is_not_shown(on: str) -> None:
    async with server(phrases(on), {"text": "Of the night jar."}) as (client, _):
        theirs = await client.post("/v1/audio/transcriptions", files=FILE)
        ours = await client.post("/copilotkit/transcribe", json=RECORDING)

    assert (theirs.status_code, theirs.json()["error"]["code"]) == (400, "content_filter")
    assert (ours.status_code, ours.json()) == (
        403,
        {"error": "invalid_request", "message": "Not here.", "retryable": False},
    )
    assert "night jar" not in theirs.text + ours.text


async def test_what_is_sent_along_with_a_recording_is_judged() -> None:
    async with server(phrases("question"), {"text": "Hello."}) as (client, behind):
        answer = await client.post("/v1/audio/transcriptions", files=FILE, data={"prompt": "Of the night jar"})

    assert (answer.status_code, behind.requests) == (400, [])


async def test_an_allowed_transcription_is_returned() -> None:
    async with server(phrases("question", "answer"), {"text": "Hello."}) as (client, _):
        theirs = await client.post("/v1/audio/transcriptions", files=FILE)
        ours = await client.post("/copilotkit/transcribe", json=RECORDING)

    assert (theirs.json()["text"], ours.json()["text"]) == ("Hello.", "Hello.")


class Broken(BaseGuard):
    name = "broken"

    async def check_question(self, ask: Ask) -> None:
        raise OSError("The disk is gone.")


async def test_a_guard_that_fails_lets_nothing_pass_here_either() -> None:
    async with server(Broken(), {"text": "Hello.", **VECTORS}) as (client, behind):
        paths = ("/v1/embeddings", "/copilotkit/transcribe")
        told = [await client.post(path, json={**embed("a"), **RECORDING}) for path in paths]

    assert [answer.status_code for answer in told] == [503, 503]
    assert told[1].json()["retryable"] is True
    assert behind.requests == []
