"""A model that calls the tool that a question names (`call NAME JSON`), and the requests of an AG-UI client."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

import httpx

from rightseat.core.messages import Result
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk

RUN = "/copilotkit/agent/default/run"
NUMBERS = itertools.count(1)


class Echo:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        last = prompt.messages[-1]
        results = [part.content for part in last.parts if isinstance(part, Result)]
        words = last.text.split(" ", 2)
        if not results and words[0] == "call":
            yield CallChunk(0, words[2] if len(words) > 2 else "{}", f"call_{next(NUMBERS)}", words[1])
            yield StopChunk("tool_calls")
            return
        yield TextChunk(f"echo: {' '.join(results) or last.text}")
        yield StopChunk("stop")


def run_input(text: str, thread: str = "t1", **more: object) -> dict[str, Any]:
    number = next(NUMBERS)
    messages = [{"id": f"m{number}", "role": "user", "content": text}] if text else []
    body = {"threadId": thread, "runId": f"r{number}", "messages": messages, "tools": [], "context": [], "state": {}}
    return body | {"forwardedProps": {}} | more


def answer_of(response: httpx.Response) -> str:
    """The text of a run, of which the test needs no more."""
    assert response.status_code == 200, response.text
    return response.text
