"""Clients send whole conversations again, with what was denied among them: none of that reaches a model."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from rightseat.app import Assembly, application
from rightseat.config import ConfiguredPart, Server
from rightseat.core.ask import Ask
from rightseat.core.errors import GuardDenied
from rightseat.core.events import Custom, Event
from rightseat.core.guard import BaseGuard, Guard, question_text
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Message, assistant, user
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Threads
from rightseat.engines.local import LocalEngine
from rightseat.faces import copilotkit, openai, openbb
from rightseat.guards import patterns
from rightseat.logs.memory import MemoryLog
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.sql import SqlThreads
from rightseat.testing import ScriptedModel, says
from tests.conftest import serving
from tests.faces.copilotkit import recorded
from tests.faces.copilotkit.serving import chat
from tests.stores.conftest import database

Said = list[tuple[str, str]]
PHRASES = patterns.Options(phrases=("nightjar",), applies_to=("question",), reason="Not here.")
DENIED: Said = [("user", "What of nightjar?")]
NEXT: Said = [*DENIED, ("user", "Hello?")]
LATER: Said = [*NEXT, ("assistant", "Hi."), ("user", "And now?")]


def running(model: ScriptedModel, guard: Guard, threads: Threads | None = None) -> Runtime:
    return Runtime(
        {"default": Loop(model)},
        log=MemoryLog(),
        threads=threads or MemoryThreads(),
        engine=LocalEngine(),
        models={"bare": model},
        guards=[guard],
    )


@asynccontextmanager
async def server(model: ScriptedModel) -> AsyncIterator[str]:
    runtime = running(model, patterns.build(PHRASES, None))  # type: ignore[arg-type]  # it asks for no parts
    faces = [
        ConfiguredPart("faces", "copilotkit", copilotkit, copilotkit.Options()),
        ConfiguredPart("faces", "openbb", openbb, openbb.Options(path="/openbb")),
        ConfiguredPart("faces", "openai", openai, openai.Options()),
    ]
    face_toolboxes = {1: openbb.toolbox(openbb.Options(path="/openbb"))}
    async with serving(application(Assembly(runtime, faces, face_toolboxes=face_toolboxes), Server())) as url:
        yield url


async def ask_graphql(client: httpx2.AsyncClient, said: Said) -> httpx2.Response:
    body = chat(thread="t-1")
    one = body["variables"]["data"]["messages"][0]
    body["variables"]["data"]["messages"] = [
        {**one, "id": f"m-{place}", "textMessage": {"role": role, "content": text}}
        for place, (role, text) in enumerate(said)
    ]
    return await client.post("/copilotkit", json=body, headers={"accept": recorded.ACCEPT})


async def ask_agui(client: httpx2.AsyncClient, said: Said) -> httpx2.Response:
    messages = [{"id": f"m-{place}", "role": role, "content": text} for place, (role, text) in enumerate(said)]
    body = {"threadId": "t-1", "runId": f"r-{len(said)}", "messages": messages, "state": {}, "tools": []}
    return await client.post(
        "/copilotkit/agent/default/run",
        json=body | {"context": [], "forwardedProps": {}},
        headers={"accept": "text/event-stream"},
    )


async def ask_openbb(client: httpx2.AsyncClient, said: Said) -> httpx2.Response:
    roles = {"user": "human", "assistant": "ai"}
    messages = [{"role": roles[role], "content": text} for role, text in said]
    return await client.post("/openbb/v1/query", json={"messages": messages, "timezone": "UTC"})


async def ask_openai(client: httpx2.AsyncClient, said: Said) -> httpx2.Response:
    messages = [{"role": role, "content": text} for role, text in said]
    return await client.post("/v1/chat/completions", json={"model": "bare", "messages": messages})


@pytest.mark.parametrize("history", [[DENIED, NEXT, LATER], [LATER]], ids=["asked", "found"])
@pytest.mark.parametrize("ask", [ask_graphql, ask_agui, ask_openbb, ask_openai])
async def test_what_was_denied_reaches_no_model_when_it_is_sent_again(ask: object, history: list[Said]) -> None:
    model = ScriptedModel([says("Hi.")] * len(history))
    async with server(model) as url, httpx2.AsyncClient(base_url=url) as client:
        answers = [await ask(client, said) for said in history]  # type: ignore[operator]

    assert "Hi." in answers[-1].text
    assert "And now?" in written(model.prompts[-1])
    assert not [prompt for prompt in model.prompts if "nightjar" in written(prompt)]


@pytest.mark.parametrize("ask", [ask_agui, ask_openbb, ask_openai])
async def test_removed_messages_are_reported_to_the_client(ask: object) -> None:
    async with server(ScriptedModel([says("Hi.")])) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await ask(client, LATER)  # type: ignore[operator]

    if ask is ask_agui:
        assert '"name":"guard.messages_removed","value":["m-0"]' in answer.text
    else:
        assert "A guard removed 1 earlier message from the conversation" in answer.text


def written(prompt: Prompt) -> str:
    return json.dumps([message.text for message in prompt.messages])


class Politics(BaseGuard):
    """As a service does: it is asked about the question alone."""

    name = "politics"
    checks_history = False

    async def check_question(self, ask: Ask) -> None:
        if "politics" in question_text(ask):
            raise GuardDenied("No politics.")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_another_server_of_the_same_store_leaves_it_out_too(kind: str, tmp_path: Path) -> None:
    denied, asked, answer, now = user("of politics"), user("Hello?"), assistant("Hi."), user("And now?")
    async with database(kind, tmp_path) as where, SqlThreads(connect(where)) as threads:
        await events_of(running(ScriptedModel([says("-")]), Politics(), threads), denied)
        model = ScriptedModel([says("Well.")])

        events = await events_of(running(model, Politics(), threads), denied, asked, answer, now)

    assert Custom("guard.messages_removed", [denied.id]) in events
    assert "politics" not in written(model.prompts[0])


async def events_of(runtime: Runtime, *messages: Message) -> list[Event]:
    ask = await runtime.start(Ask(messages=messages, thread_id="t"))
    return [entry.event async for batch in runtime.follow(ask.run_id) for entry in batch]
