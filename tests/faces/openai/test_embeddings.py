"""Vectors through the face, from a server that makes them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from rightseat.models.openai import OpenAI
from tests.conftest import Serve
from tests.faces.openai.serving import app, post, runtime, sdk
from tests.models.recorded import refusal
from tests.tcp import Server, answers, playing

VECTORS = {
    "data": [{"index": 1, "embedding": [0.5, -1.0]}, {"index": 0, "embedding": [0.25, 2.0]}],
    "usage": {"prompt_tokens": 6, "total_tokens": 6},
}


@asynccontextmanager
async def embedding(serve: Serve, status: str, body: Any) -> AsyncIterator[tuple[str, Server]]:
    said = refusal(status, json.dumps(body))
    async with (
        playing(answers(said)) as server,
        OpenAI("their-name", base_url=server.url) as model,
        serve(app(runtime(models={"vectors": model}))) as url,
    ):
        yield url, server


async def test_texts_become_vectors_in_their_order(serve: Serve) -> None:
    async with embedding(serve, "200 OK", VECTORS) as (url, server):
        answer = await post(url, "/embeddings", model="vectors", input=["a", "b"], dimensions=2)

    assert answer.json() == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.25, 2.0]},
            {"object": "embedding", "index": 1, "embedding": [0.5, -1.0]},
        ],
        "model": "vectors",
        "usage": {"prompt_tokens": 6, "total_tokens": 6},
    }
    (request,) = server.requests
    assert request.line.split()[1] == "/embeddings"
    assert request.json == {"model": "their-name", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}


async def test_openais_own_client_asks_for_base64_and_reads_it(serve: Serve) -> None:
    async with embedding(serve, "200 OK", VECTORS) as (url, _), sdk(url) as client:
        made = await client.embeddings.create(model="vectors", input=["a", "b"])

    assert [one.embedding for one in made.data] == [[0.25, 2.0], [0.5, -1.0]]


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"input": []}, "input"),
        ({"input": ""}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": ["a"] * 3000}, "input"),
        ({"input": 3}, "input"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
    ],
)
async def test_a_wrong_request_is_refused(serve: Serve, given: dict[str, Any], param: str) -> None:
    async with embedding(serve, "200 OK", VECTORS) as (url, server):
        answer = await post(url, "/embeddings", model="vectors", **given)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
    assert server.requests == []


async def test_a_model_without_embeddings_is_reported(serve: Serve) -> None:
    async with serve(app(runtime())) as url, sdk(url) as client:
        with pytest.raises(openai.NotFoundError, match="'bare' does not support embeddings"):
            await client.embeddings.create(model="bare", input="a")


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        ("429 Slow down", {}, 429),
        ("404 Not Found", {"error": "no embeddings here"}, 502),
        ("500 Oh", {}, 502),
        ("200 OK", {"data": []}, 502),
        ("200 OK", {"surprise": 1}, 502),
    ],
)
async def test_a_server_failure_is_reported(serve: Serve, status: str, body: Any, told: int) -> None:
    async with embedding(serve, status, body) as (url, _):
        answer = await post(url, "/embeddings", model="vectors", input="a")

    assert answer.status_code == told
    assert answer.json()["error"]["message"]
