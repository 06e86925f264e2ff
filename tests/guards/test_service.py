"""CopilotKit's guardrails service: asked where the client wants it, and never a reason to leave a stream open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response

from rightseat.app import Assembly, application
from rightseat.config import ConfiguredPart, Server
from rightseat.core.ask import Ask, Topics
from rightseat.core.errors import GuardDenied, GuardFailed
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, Message, Result, assistant, user
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.faces import copilotkit as face
from rightseat.guards.copilotkit import GuardrailsGuard, Options
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, says
from tests.conftest import serving
from tests.faces.copilotkit.serving import chat, post

KEY = "ck_pub_1"
TOPICS = Topics(("cars",), ("politics",), KEY)


class Guardrails:
    """The service: it says what it is told to say, and keeps what it was asked."""

    def __init__(self) -> None:
        self.body: bytes | None = b'{"status": "allowed"}'
        self.status = 200
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    async def validate(self, request: Request) -> Response:
        self.asked.append(await request.json())
        self.keys.append(request.headers.get("x-copilotcloud-public-api-key"))
        if self.body is None:
            await asyncio.Event().wait()
        return Response(self.body, self.status, media_type="application/json")

    @asynccontextmanager
    async def opened(self, **options: Any) -> AsyncIterator[GuardrailsGuard]:
        app = FastAPI()
        app.add_api_route("/guardrails/validate", self.validate, methods=["POST"])
        async with serving(app) as url, GuardrailsGuard(Options(url=url, **options)) as service:
            yield service


def asking(*messages: Message, topics: Topics | None = TOPICS) -> Ask:
    return Ask(messages=messages or (user("about cars"),), topics=topics)


async def test_it_is_asked_with_the_question_and_the_rules() -> None:
    guardrails = Guardrails()
    async with guardrails.opened() as service:
        await service.check_question(asking(user("Hi"), assistant("Hello"), user("about cars")))

    (asked,) = guardrails.asked
    assert (asked["input"], asked["validTopics"], asked["invalidTopics"]) == ("about cars", ["cars"], ["politics"])
    assert asked["messages"] == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    assert guardrails.keys == [KEY]


async def test_the_operators_key_goes_before_the_clients() -> None:
    guardrails = Guardrails()
    async with guardrails.opened(api_key="ck_ours") as service:
        await service.check_question(asking())

    assert guardrails.keys == ["ck_ours"]


async def test_the_service_is_not_called_after_a_tool_result_or_without_topics() -> None:
    guardrails = Guardrails()
    call = Message("assistant", (Call("c", "show", "{}"),))
    async with guardrails.opened() as service:
        await service.check_question(asking(user("Hi"), call, Message("tool", (Result("c", "show", "ok"),))))
        await service.check_question(asking(topics=None))

    assert guardrails.asked == []


async def test_a_denial_has_the_reason_of_the_service() -> None:
    guardrails = Guardrails()
    guardrails.body = b'{"status": "denied", "reason": "No politics."}'
    async with guardrails.opened() as service:
        with pytest.raises(GuardDenied, match="No politics"):
            await service.check_question(asking())


HANGS, ERRS = (None, 200), (b'{"error": "down"}', 500)
GARBAGE = [
    (b"", 200),
    (b"<html>", 200),
    (b"[]", 200),
    (b'{"status": "maybe"}', 200),
    (b'"' + b"x" * 100_000, 200),
    (b'"\x80"', 200),
    (b"[" * 5_000, 200),
]


@pytest.mark.parametrize(("body", "status"), [HANGS, ERRS, *GARBAGE])
async def test_without_a_verdict_nothing_passes(body: bytes | None, status: int) -> None:
    guardrails = Guardrails()
    guardrails.body, guardrails.status = body, status
    async with guardrails.opened(timeout=0.3) as service:
        with pytest.raises(GuardFailed):
            await service.check_question(asking())


async def test_a_service_that_is_not_there_lets_nothing_pass() -> None:
    async with GuardrailsGuard(Options(url="http://127.0.0.1:9")) as service:
        with pytest.raises(GuardFailed, match="Cannot reach the guardrails service"):
            await service.check_question(asking())


@pytest.mark.parametrize(("body", "status"), [HANGS, ERRS, *GARBAGE])
async def test_a_stream_ends_with_a_last_event_whatever_the_service_does(body: bytes | None, status: int) -> None:
    guardrails = Guardrails()
    guardrails.body, guardrails.status = body, status
    async with guardrails.opened(timeout=0.3) as service:
        runtime = Runtime(
            {"default": Loop(ScriptedModel([says("never shown")]))},
            log=MemoryLog(),
            threads=MemoryThreads(),
            engine=LocalEngine(),
            guards=[service],
        )
        app = application(Assembly(runtime, [ConfiguredPart("faces", "copilotkit", face, face.Options())]), Server())
        rules = {"guardrails": {"inputValidationRules": {"allowList": ["cars"], "denyList": []}}}
        async with serving(app) as url:
            answer = await post(url, chat(cloud=rules), **{"x-copilotcloud-public-api-key": KEY})

    assert "FailedResponseStatus" in answer.text
    assert "failed, so the content was blocked" in answer.text
    assert "never shown" not in answer.text
    assert answer.text.rstrip().endswith("-----")
