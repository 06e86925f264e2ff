"""What one request and one chunk cost in CPU: our OpenAI model, and the official SDK in its several ways.

    python tests/measure/model_cost.py [--rounds 5]

The server is a process of its own, on another processor where there are two, and not in the figures. Each way is a
process of its own, too, and measured once a round, in random order:

    CPU us/chunk      50 streams at once, a chunk each every 20 ms, so that every chunk is read by itself. The figure is
                      what 110 chunks cost more than 10
    CPU us/request    300 answers of five chunks, one after another; after 30 that do not count

All ways run on uvloop and give the same: the text of each chunk, which is compared at the end. The ways over aiohttp
need `pip install 'openai[aiohttp]'` and are left out where it is missing.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

import openai
import uvloop

from rightseat.core.messages import user
from rightseat.core.model import Prompt, TextChunk
from rightseat.egress.client import Client
from rightseat.models.openai import OpenAI
from rightseat.wire import sse
from rightseat.wire.openai_chat import ChatCompletionDecoder

STREAMS, FEW, MANY, GAP = 50, 10, 110, 0.02
REQUESTS, WARM, SHORT = 300, 30, 5
TEXT = "token "

Ask = Callable[[str], Awaitable[str]]
"""Send a prompt, give the whole answer."""


def ours(url: str) -> Ask:
    model = OpenAI("m", api_key="sk-fake", base_url=url)

    async def ask(prompt: str) -> str:
        text = ""
        async for chunk in model.stream(Prompt((user(prompt),))):
            if type(chunk) is TextChunk:
                text += chunk.text
        return text

    return ask


def connection(url: str) -> Ask:
    """Our connection alone: the bytes are counted and not read."""
    pool = Client(url, {"authorization": "Bearer sk-fake"})

    async def ask(prompt: str) -> str:
        body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "stream": True}
        size = 0
        async with pool.post("/chat/completions", json.dumps(body).encode()) as answer:
            async for piece in answer:
                size += len(piece)
        return TEXT * ((size - len(event({}, "stop")) - len(DONE)) // len(event({"content": TEXT})))

    return ask


def raw(client: openai.AsyncOpenAI) -> Ask:
    """The SDK's connection, and our reading of its bytes."""

    async def ask(prompt: str) -> str:
        text = ""
        decoder, reader = sse.SseDecoder(), ChatCompletionDecoder()
        async with client.chat.completions.with_streaming_response.create(
            model="m", messages=[{"role": "user", "content": prompt}], stream=True
        ) as answer:
            async for piece in answer.iter_bytes():
                for data in decoder.feed(piece):
                    for chunk in reader.read(data):
                        if type(chunk) is TextChunk:
                            text += chunk.text
        return text

    return ask


def typed(client: openai.AsyncOpenAI) -> Ask:
    async def ask(prompt: str) -> str:
        text = ""
        messages: Any = [{"role": "user", "content": prompt}]
        async for chunk in await client.chat.completions.create(model="m", messages=messages, stream=True):
            for choice in chunk.choices:
                text += choice.delta.content or ""
        return text

    return ask


def sdk(url: str, **more: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="sk-fake", base_url=url, max_retries=0, **more)


def over_aiohttp(url: str) -> openai.AsyncOpenAI:
    return sdk(url, http_client=openai.DefaultAioHttpClient())


WAYS: dict[str, Callable[[str], Ask]] = {
    "our connection alone": connection,
    "our model": ours,
    "SDK raw, aiohttp": lambda url: raw(over_aiohttp(url)),
    "SDK raw, httpx2": lambda url: raw(sdk(url)),
    "SDK typed, aiohttp": lambda url: typed(over_aiohttp(url)),
    "SDK typed, httpx2": lambda url: typed(sdk(url)),
}


async def measure(way: str, url: str) -> None:
    ask = WAYS[way](url)
    for _ in range(WARM):
        await check(ask, SHORT, 0)
    before = time.process_time()
    for _ in range(REQUESTS):
        await check(ask, SHORT, 0)
    request = (time.process_time() - before) / REQUESTS
    await streams(ask, FEW)
    few = await streams(ask, FEW)
    chunk = (await streams(ask, MANY) - few) / (STREAMS * (MANY - FEW))
    sys.stdout.write(json.dumps([chunk * 1e6, request * 1e6]))
    sys.stdout.flush()
    os._exit(0)  # closing is not measured, and every client closes in its own way


async def streams(ask: Ask, count: int) -> float:
    before = time.process_time()
    await asyncio.gather(*(check(ask, count, GAP) for _ in range(STREAMS)))
    return time.process_time() - before


async def check(ask: Ask, count: int, gap: float) -> None:
    said = await ask(f"{count} {gap}")
    if said != TEXT * count:
        raise AssertionError(f"{len(said) // len(TEXT)} of {count} chunks came")


# The server


def event(delta: dict[str, str], reason: str | None = None) -> bytes:
    """As long as OpenAI's are."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    whole = {
        "id": "chatcmpl-CbR4Zy0pXn1Lw7sTq9uVe3Kd5Gh2J",
        "object": "chat.completion.chunk",
        "created": 1763156411,
        "model": "gpt-4o-mini-2024-07-18",
        "service_tier": "default",
        "system_fingerprint": "fp_560af6e559",
        "choices": [choice],
        "usage": None,
        "obfuscation": "x8Tq2hLm",
    }
    return f"data: {json.dumps(whole, separators=(',', ':'))}\n\n".encode()


DONE = b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    piece = framed(event({"content": TEXT}))
    last = framed(event({}, "stop")) + framed(DONE) + b"0\r\n\r\n"
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            body = json.loads(await reader.readexactly(int(length.partition(b":")[2])))
            count, gap = body["messages"][0]["content"].split()
            writer.write(HEAD)
            for _ in range(int(count)):
                await asyncio.sleep(float(gap))  # the rate that is measured
                writer.write(piece)
            writer.write(last)
    except (ConnectionError, asyncio.IncompleteReadError):
        writer.close()


def framed(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


async def serve() -> None:
    server = await asyncio.start_server(visited, "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


# All of it


def compare(rounds: int) -> None:
    ways = [way for way in WAYS if "aiohttp" not in way or find_spec("aiohttp")]
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = server.stdout.readline().strip()
        for _ in range(rounds):
            for way in random.sample(ways, len(ways)):
                done = subprocess.run([sys.executable, __file__, "--way", way, url], stdout=subprocess.PIPE, check=True)
                chunk, request = json.loads(done.stdout)
                found[way].append((chunk, request))
        server.terminate()
    say(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; Python {sys.version.split()[0]}")
    say(f"openai {openai.__version__}; median of {rounds} rounds (smallest to largest)")
    say(f"{'':22} {'CPU us/chunk':>24} {'CPU us/request':>26}")
    for way, figures in found.items():
        say(f"{way:22} {spread([chunk for chunk, _ in figures]):>24} {spread([request for _, request in figures]):>26}")


def spread(figures: list[float]) -> str:
    return f"{statistics.median(figures):.0f} ({min(figures):.0f} to {max(figures):.0f})"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def stay_on(processor: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {mine[processor % len(mine)]})


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--serve", action="store_true", help="for itself")
    arguments.add_argument("--way", nargs=2, help="for itself")
    given = arguments.parse_args()
    if given.serve:
        stay_on(0)
        uvloop.run(serve())
    elif given.way:
        stay_on(1)
        uvloop.run(measure(*given.way))
    else:
        compare(given.rounds)


if __name__ == "__main__":
    main()
