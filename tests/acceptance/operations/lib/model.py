"""A model server (OpenAI chat completions) that does what the user's message says, and remembers who asked.

A token is `GENERATION.INDEX`: a text of two generations was spliced, a jump is a token lost, a step back one doubled.
"""

import asyncio
import json
import logging
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from aiohttp import web

from tests.acceptance._lib.processes import free_port

logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # callers go away here; that is no news
MARK = "operations:"


@dataclass(frozen=True)
class Script:
    name: str
    tokens: int
    rate: float
    pause_at: int = -1
    pause: float = 0.0
    """Silence before the token `pause_at`."""

    def prompt(self) -> str:
        return MARK + json.dumps(asdict(self))


@dataclass
class Call:
    """One answer that the model was asked for."""

    name: str
    began: float
    sent: list[float] = field(default_factory=list)
    closed: float | None = None
    """When the caller went away before the end."""


class Model:
    def __init__(self) -> None:
        self.port, self.calls = free_port(), []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.add_routes([web.post("/v1/chat/completions", self.complete), web.get("/v1/models", self.models)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

    async def stop(self) -> None:
        await self._runner.cleanup()

    def of(self, name: str) -> list[Call]:
        return [call for call in self.calls if call.name == name]

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": "suite"}]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        script = find_script(body["messages"]) or Script("other", 1, 100)
        call = Call(script.name, time.monotonic())
        self.calls.append(call)
        if not body.get("stream"):
            return web.json_response(whole("ok"))
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        try:
            await answer.prepare(request)
            await speak(answer, script, call, find_prefix(body["messages"]))
        except (ConnectionError, asyncio.CancelledError):
            call.closed = time.monotonic()
            with suppress(ConnectionError):
                await answer.write_eof()
        return answer


async def speak(out: web.StreamResponse, script: Script, call: Call, prefix: tuple[str, int] | None) -> None:
    generation, first = prefix or (secrets.token_hex(3), 0)
    clock = asyncio.get_running_loop()
    began = clock.time()
    await send(out, {"role": "assistant", "content": ""})
    for sent, index in enumerate(range(first, script.tokens)):
        if index == script.pause_at:
            await asyncio.sleep(script.pause)
            began += script.pause
        await send(out, {"content": f"{generation}.{index} "})
        call.sent.append(time.monotonic())
        await asyncio.sleep(max(0, began + (sent + 1) / script.rate - clock.time()))
    await send(out, {}, "stop")
    usage = {"prompt_tokens": 5, "completion_tokens": script.tokens, "total_tokens": 5 + script.tokens}
    await out.write(b"data: " + json.dumps({**frame({}), "choices": [], "usage": usage}).encode() + b"\n\n")
    await out.write(b"data: [DONE]\n\n")


async def send(out: web.StreamResponse, delta: dict, finish: str | None = None) -> None:
    await out.write(b"data: " + json.dumps(frame(delta, finish)).encode() + b"\n\n")


def frame(delta: dict, finish: str | None = None) -> dict:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-o", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": [choice]}


def whole(text: str) -> dict:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "chatcmpl-o",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [choice],
        "usage": usage,
    }


def find_script(messages: list[dict]) -> Script | None:
    for message in reversed(messages):
        text = text_of(message)
        if message["role"] == "user" and MARK in text:
            return Script(**json.loads(text[text.index(MARK) + len(MARK) :]))
    return None


def find_prefix(messages: list[dict]) -> tuple[str, int] | None:
    """Where a half-written last answer stopped, for a server that has the model go on from it."""
    last = messages[-1]
    words = text_of(last).split()
    if last["role"] != "assistant" or last.get("tool_calls") or not words:
        return None
    generation, _, index = words[-1].partition(".")
    return generation, int(index) + 1


def text_of(message: dict) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def faults(script: Script, text: str) -> dict[str, int]:
    """Tokens lost and doubled, and generations spliced, in `text` as the whole answer."""
    words = [word.partition(".") for word in text.split()]
    seen = [int(index) for _, _, index in words if index.isdigit()]
    found = {
        "lost": len(set(range(script.tokens)) - set(seen)),
        "doubled": len(seen) - len(set(seen)),
        "spliced": max(0, len({generation for generation, _, _ in words}) - 1),
    }
    return {name: count for name, count in found.items() if count}
