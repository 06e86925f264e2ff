"""A denied phrase at every place of an answer, cut in every way: not one character of it reaches a client of any face.

The question is the script of the answer, as base64: pieces of text, of a thought or of a call's arguments. The phrase
is written with letters that stand nowhere else, so each of them would be found.
"""

import base64
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import httpx2
import pytest

from rightseat.app import Assembly, application
from rightseat.config import ConfiguredPart, Server
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.model import CallChunk, Chunk, Prompt, ReasoningChunk, StopChunk, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces import copilotkit, openai, openbb
from rightseat.guards import patterns
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from tests.conftest import serving
from tests.faces.copilotkit import recorded
from tests.faces.copilotkit.serving import chat

PHRASE = "жщ юя"
PLAIN = "The quick brown fox jumps over the lazy dog, again and again."
EACH = 1000


class Script:
    """Answers with what the last question says."""

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        kind, pieces = json.loads(base64.b64decode(prompt.messages[-1].text))
        for piece in pieces:
            if kind == "call":
                yield CallChunk(0, piece, "call_1", "show")
            else:
                yield TextChunk(piece) if kind == "text" else ReasoningChunk(piece)
        yield StopChunk("tool_calls" if kind == "call" else "stop")


def script(number: int) -> str:
    """The phrase at the place `number` of the text, cut at places that depend on the number."""
    chance = random.Random(number)
    at = number % (len(PLAIN) + 1)
    text = f"{PLAIN[:at]} {PHRASE} {PLAIN[at:]}"
    kind = ("text", "text", "text", "thought", "call")[number % 5]
    if kind == "call":
        text = json.dumps({"text": text}, ensure_ascii=bool(number % 2))
    cuts = [0, *sorted(chance.sample(range(1, len(text)), chance.randrange(1, 40))), len(text)]
    written = json.dumps([kind, [text[start:end] for start, end in pairwise(cuts)]])
    return base64.b64encode(written.encode()).decode()


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    guard = patterns.Options(phrases=(PHRASE,), applies_to=("answer",), reason="Not here.")
    runtime = Runtime(
        {"default": Loop(Script())},
        log=MemoryLog(),
        threads=MemoryThreads(),
        engine=LocalEngine(),
        models={"bare": Script()},
        guards=[patterns.build(guard, None)],  # type: ignore[arg-type]  # it asks for no parts
    )
    faces = [
        ConfiguredPart("faces", "copilotkit", copilotkit, copilotkit.Options()),
        ConfiguredPart("faces", "openbb", openbb, openbb.Options(path="/openbb")),
        ConfiguredPart("faces", "openai", openai, openai.Options()),
    ]
    face_toolboxes = {1: openbb.toolbox(openbb.Options(path="/openbb"))}
    async with serving(application(Assembly(runtime, faces, face_toolboxes=face_toolboxes), Server())) as url:
        yield url


async def ask_graphql(client: httpx2.AsyncClient, question: str, number: int) -> httpx2.Response:
    return await client.post("/copilotkit", json=chat(question), headers={"accept": recorded.ACCEPT})


async def ask_agui(client: httpx2.AsyncClient, question: str, number: int) -> httpx2.Response:
    said = [{"id": f"u-{number}", "role": "user", "content": question}]
    body = {"threadId": f"t-{number}", "runId": f"r-{number}", "messages": said, "state": {}, "tools": []}
    return await client.post(
        "/copilotkit/agent/default/run",
        json=body | {"context": [], "forwardedProps": {}},
        headers={"accept": "text/event-stream"},
    )


async def ask_openbb(client: httpx2.AsyncClient, question: str, number: int) -> httpx2.Response:
    return await client.post("/openbb/v1/query", json={"messages": [{"role": "human", "content": question}]})


async def ask_openai(client: httpx2.AsyncClient, question: str, number: int) -> httpx2.Response:
    tool = {"type": "function", "function": {"name": "show", "parameters": {"type": "object"}}}
    body = {"model": "bare", "stream": bool(number % 3), "messages": [{"role": "user", "content": question}]}
    return await client.post("/v1/chat/completions", json=body | {"tools": [tool]})


def leaked(body: str) -> list[str]:
    return [
        letter for letter in PHRASE if letter != " " and (letter in body or json.dumps(letter)[1:-1] in body.lower())
    ]


@pytest.mark.parametrize("ask", [ask_graphql, ask_agui, ask_openbb, ask_openai])
async def test_nothing_of_it_reaches_a_client(ask: object) -> None:
    wrong: list[tuple[int, list[str]]] = []
    told = 0
    async with server() as url, httpx2.AsyncClient(base_url=url) as client:
        for number in range(EACH):
            answer = await ask(client, script(number), number)  # type: ignore[operator]
            told += "Not here." in answer.text or "content_filter" in answer.text
            if found := leaked(answer.text):
                wrong.append((number, found))

    assert wrong == []
    assert told == EACH
