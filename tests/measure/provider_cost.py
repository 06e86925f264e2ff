"""What a chunk costs in CPU: each of our models beside Anthropic's SDK, reading the same kind of answer.

    python -m tests.measure.provider_cost [--chunks 5000] [--rounds 5]

The server plays a whole answer at once, so what is measured is reading it: bytes → events → chunks. It runs in the same
process; what sending costs is measured with a client that only counts bytes, and taken off.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic

from rightseat.core.messages import user
from rightseat.core.model import Model, Prompt, TextChunk
from rightseat.egress.client import Client
from rightseat.models.anthropic import Anthropic
from rightseat.models.google import Google
from rightseat.models.openai import OpenAI
from rightseat.testing import ScriptedResponse, says
from tests.contracts.test_models import Events, as_anthropic, as_google, as_openai
from tests.models.recorded import once
from tests.tcp import chunked, playing

Ask = Callable[[str], Awaitable[int]]
"""Asks the server at a URL, and says how many chunks with text came."""


def of(make: Callable[..., Any]) -> Ask:
    async def ask(url: str) -> int:
        async with make("m", base_url=url) as model:
            return await count(model)

    return ask


async def count(model: Model) -> int:
    return len([chunk async for chunk in model.stream(Prompt((user("Hi"),))) if type(chunk) is TextChunk])


async def typed(url: str) -> int:
    async with anthropic.AsyncAnthropic(api_key="sk-fake", base_url=url, max_retries=0) as client:
        messages: Any = [{"role": "user", "content": "Hi"}]
        stream = await client.messages.create(model="m", max_tokens=9, messages=messages, stream=True)
        return len([event async for event in stream if event.type == "content_block_delta"])


async def bytes_alone(url: str) -> int:
    async with Client(url, {}).post("/", b"{}") as answer:
        return len(b"".join([piece async for piece in answer]))


WAYS: dict[str, tuple[Ask, Callable[[ScriptedResponse], Events]]] = {
    "openai": (of(OpenAI), as_openai),
    "anthropic": (of(Anthropic), as_anthropic),
    "google": (of(Google), as_google),
    "anthropic's SDK, typed": (typed, as_anthropic),
}


async def cost(ask: Ask, body: bytes) -> float:
    async with playing(once(body)) as server:
        before = time.process_time()
        await ask(server.url)
        return time.process_time() - before


async def measure(chunks: int, rounds: int) -> None:
    for name, (ask, write) in WAYS.items():
        events = [event for event in write(says(*["token "] * chunks)) if isinstance(event, bytes)]
        body = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        body += chunked(*events)
        await cost(ask, body)
        figures = [(await cost(ask, body) - await cost(bytes_alone, body)) / chunks * 1e6 for _ in range(rounds)]
        spread = f"{statistics.median(figures):.1f} ({min(figures):.1f} to {max(figures):.1f})"
        sys.stdout.write(f"{name:24} {spread:>22} CPU us/chunk\n")
        sys.stdout.flush()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--chunks", type=int, default=5000)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    asyncio.run(measure(given.chunks, given.rounds))
