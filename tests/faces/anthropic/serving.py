"""The face on a real server, and clients of it: Anthropic's own, and one that sees the bytes."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import httpx2
from anthropic.types import Message as SDKMessage
from anthropic.types import RawMessageStreamEvent
from anthropic.types.beta import BetaMessage
from fastapi import FastAPI
from pydantic import TypeAdapter

from rightseat.app import Assembly, application, build_authenticator
from rightseat.config import Access, ConfiguredPart, Server
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.faces import anthropic as face
from rightseat.testing import ScriptedResponse
from tests.faces.openai.serving import NO_CERTIFICATES

LOOKUP: Any = {
    "name": "lookup",
    "description": "Look something up.",
    "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
}
EVENTS: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def app(runtime: Runtime, *, access: Access | None = None, **options: Any) -> FastAPI:
    part = ConfiguredPart("faces", "anthropic", face, face.Options(**options))
    assembly = Assembly(runtime, [part], authenticator=build_authenticator(access or Access()))
    return application(assembly, Server())


def asks(words: Any = "Hi", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": words}] if isinstance(words, str) else words
    return {"model": "bare", "max_tokens": 100, "messages": messages} | more


@asynccontextmanager
async def sdk(url: str, **more: Any) -> AsyncIterator[anthropic.AsyncAnthropic]:
    """Anthropic's own client, which asks once."""
    base = f"{url}/anthropic"
    async with anthropic.AsyncAnthropic(base_url=base, api_key="sk-none", max_retries=0, timeout=60, **more) as client:
        yield client


async def send(
    url: str, path: str = "/v1/messages", body: Any = None, *, method: str = "POST", headers: Mapping[str, str] = {}
) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=NO_CERTIFICATES) as client:
        return await client.request(method, f"{url}/anthropic{path}", json=body, headers=dict(headers))


async def create(url: str, words: Any = "Hi", *, headers: Mapping[str, str] = {}, **more: Any) -> dict[str, Any]:
    """A whole message, of the form that the SDK knows."""
    response = await send(url, body=asks(words, **more), headers=headers)
    assert response.status_code == 200, response.text
    known = BetaMessage if "anthropic-beta" in headers else SDKMessage
    known.model_validate(message := response.json())
    return dict(message)


async def stream(url: str, words: Any = "Hi", *, headers: Mapping[str, str] = {}, **more: Any) -> list[dict[str, Any]]:
    """The events of a stream, each of the form that the SDK knows and under its own name."""
    response = await send(url, body=asks(words, stream=True, **more), headers=headers)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = []
    for frame in response.text.strip().split("\n\n"):
        name, data = frame.split("\n")
        found.append(event := json.loads(data.removeprefix("data: ")))
        assert name == f"event: {event['type']}"
        if event["type"] not in ("ping", "error"):
            EVENTS.validate_python(event)
    return found


def answers(*responses: ScriptedResponse) -> Any:
    """Gives the responses in order, by the number of results in the prompt."""

    def respond(prompt: Prompt) -> ScriptedResponse:
        return responses[sum(message.role == "tool" for message in prompt.messages)]

    return respond
