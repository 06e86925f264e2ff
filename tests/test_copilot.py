"""A copilot in Python."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

import rightseat
from rightseat import Copilot, RightseatError
from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError, NotConfigured
from rightseat.core.events import Event, RunFinished, TextDelta, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Message, user
from rightseat.core.model import Model
from rightseat.core.run.outcome import Failure
from rightseat.testing import ScriptedModel, calls, says
from tests.acme.models import Diarist
from tests.acme.tools import add
from tests.conditions import until
from tests.conftest import Serve


def in_memory(model: Model | None = None, **arguments: Any) -> Copilot:
    """Without a file in the working folder."""
    return Copilot(model, database="memory", **arguments)


async def ask(copilot: Copilot, question: str, agent: str = "default") -> list[Event]:
    asked = await copilot.runtime.start(Ask(messages=(user(question),), agent=agent))
    return [entry.event async for batch in copilot.runtime.follow(asked.run_id) for entry in batch]


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


# Who answers


async def test_with_nothing_the_built_in_model_answers() -> None:
    assert "built-in demo model" in text(await ask(in_memory(), "Hi"))


async def test_the_model_that_is_given_answers_with_the_instructions() -> None:
    model = ScriptedModel([says("Hi ", "there")])

    events = await ask(in_memory(model, instructions="Be brief."), "Hello")

    assert text(events) == "Hi there"
    assert [message.text for message in model.prompts[0].messages] == ["Be brief.", "Hello"]


async def test_agents_answer_by_their_names() -> None:
    copilot = in_memory(ScriptedModel([says("I")]), agents={"other": Loop(ScriptedModel([says("You")]))})

    assert text(await ask(copilot, "Who?")) == "I"
    assert text(await ask(copilot, "Who?", agent="other")) == "You"


def test_two_agents_named_default_are_refused() -> None:
    with pytest.raises(ConfigError, match="two agents named 'default'"):
        in_memory(ScriptedModel([]), agents={"default": Loop(ScriptedModel([]))})


async def test_a_file_configures_the_agents(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text("models: {mine: {type: scripted, chunk_delay: 0}}\nagents: {helper: {model: mine}}\n")
    copilot = Copilot.from_file(file)

    @copilot.tool
    async def get_time() -> str:
        return "noon"

    with pytest.raises(NotConfigured, match="not open"):
        await ask(copilot, "get_time", agent="helper")
    async with copilot.opened():
        assert text(await ask(copilot, "get_time", agent="helper")) == "The tool get_time returned: noon"


async def test_threads_are_in_a_file_unless_memory_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    forgetful, lasting, named = in_memory(), Copilot(), Copilot(state_dir="elsewhere")
    for copilot in (forgetful, lasting, named):
        async with copilot.opened():
            await ask(copilot, "Hi")

    assert sorted(files(tmp_path)) == [".rightseat", "elsewhere"]
    assert "rightseat.db" in files(tmp_path / ".rightseat")


async def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    copilot = Copilot(state_dir=tmp_path / "file" / "state")

    with pytest.raises(ConfigError, match=r"cannot be written. Set `state_dir=` .* or `database=`"):
        async with copilot.opened():
            pass


def test_an_invalid_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text("sever: {}\n")

    with pytest.raises(ConfigError, match=r"rightseat\.yaml:1:1: sever: unknown key\. Did you mean 'server'\?"):
        Copilot.from_file(file)


# Tools


async def test_a_function_becomes_a_tool_and_stays_a_function() -> None:
    copilot = in_memory(ScriptedModel([calls("get_weather", '{"city": "Bonn"}'), says("Clear.")]))

    @copilot.tool
    async def get_weather(city: str) -> dict[str, str]:
        return {"sky": f"clear over {city}"}

    events = await ask(copilot, "Weather?")

    assert ToolCallReturned("call_1", "get_weather", '{"sky":"clear over Bonn"}') in events
    assert text(events) == "Clear."
    assert await get_weather("Bonn") == {"sky": "clear over Bonn"}


async def test_a_tool_can_have_another_name_and_description() -> None:
    model = ScriptedModel([says("Hi")])
    copilot = in_memory(model, tools=[add])

    @copilot.tool(name="getWeather", description="Weather!")
    def get_weather(city: str) -> str:
        return city

    await ask(copilot, "Hi")

    assert [(tool.name, tool.description) for tool in model.prompts[0].tools] == [
        ("add", "The sum of two numbers."),
        ("getWeather", "Weather!"),
    ]


async def test_invalid_arguments_are_reported_to_the_model() -> None:
    model = ScriptedModel([calls("add", '{"a": 1}'), says("Sorry.")])

    events = await ask(in_memory(model, tools=[add]), "1 + ?")

    (returned,) = [event for event in events if isinstance(event, ToolCallReturned)]
    assert returned.content == "The arguments are invalid: b is missing. The arguments are: a, b."
    assert returned.error == "invalid_arguments"


async def test_what_a_function_raises_is_not_shown_to_anyone() -> None:
    copilot = in_memory(ScriptedModel([calls("explode"), says("Sorry.")]))

    @copilot.tool
    def explode() -> None:
        raise ValueError("the password is hunter2")

    assert "hunter2" not in repr(await ask(copilot, "Go"))


def test_a_tool_for_agents_that_take_none_is_refused() -> None:
    copilot = in_memory(agents={"other": Loop(ScriptedModel([]))})

    with pytest.raises(ConfigError, match="tools of their own"):
        copilot.tool(lambda: None)


# Hooks


async def test_hooks_are_called_around_a_run() -> None:
    copilot = in_memory(ScriptedModel([says("Hi"), [NotConfigured("Not today.")]]))
    seen: list[object] = []

    @copilot.before_request
    async def before(ask: Ask) -> None:
        seen.append(ask.messages[-1].text)

    @copilot.after_request
    async def after(ask: Ask, said: tuple[Message, ...]) -> None:
        seen.append(said[-1].text)

    @copilot.on_error
    async def failed(ask: Ask, failure: Failure) -> None:
        seen.append(failure.code)

    async with asyncio.timeout(30):
        await ask(copilot, "One")
        await until(lambda: len(seen) == 2)  # hooks come after the last event
        await ask(copilot, "Two")
        await until(lambda: len(seen) == 4)

    assert seen == ["One", "Hi", "Two", "not_configured"]


async def test_a_hook_may_refuse() -> None:
    copilot = in_memory(ScriptedModel([says("Hi")]))

    @copilot.before_request
    async def refuse(ask: Ask) -> None:
        raise NotConfigured("Closed on Sundays.")

    with pytest.raises(RightseatError, match="Closed on Sundays"):
        await ask(copilot, "Hi")


def test_a_hook_that_cannot_be_awaited_is_refused() -> None:
    with pytest.raises(ConfigError, match="The hook 'print' should be an async function"):
        in_memory().before_request(print)  # type: ignore[type-var]  # the type checker says so too


# In an application


def mounted(copilot: Copilot, steps: list[str]) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        steps.append("application started")
        yield
        steps.append("application stopped")

    app = FastAPI(lifespan=lifespan)
    app.include_router(copilot.router())
    return app


async def test_the_router_answers_inside_another_application(serve: Serve) -> None:
    app = FastAPI()
    app.include_router(in_memory(path="/pilot").router(), prefix="/api")

    async with serve(app) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.post("/api/pilot", json={"query": "{ hello }"})

    assert answer.json() == {"data": {"hello": "Hello World"}}


async def test_the_lifespan_of_the_router_and_of_the_application_both_run(serve: Serve) -> None:
    steps: list[str] = []

    async with serve(mounted(in_memory(Diarist("model", steps)), steps)):
        assert sorted(steps) == ["application started", "model opened"]

    assert sorted(steps) == ["application started", "application stopped", "model closed", "model opened"]


async def test_the_end_of_the_application_cancels_running_runs(serve: Serve) -> None:
    steps: list[str] = []
    model = Diarist("model", steps)
    copilot = in_memory(model)

    async with asyncio.timeout(30):
        async with serve(mounted(copilot, steps)):
            running = asyncio.create_task(ask(copilot, "Hi"))
            await model.speaking.wait()
        events = await running

    assert events[-1] == RunFinished("cancelled")
    assert steps.index("model cancelled") < steps.index("model closed")


async def test_a_copilot_may_ask_for_keys_in_any_application(serve: Serve) -> None:
    copilot = in_memory(access={"keys": [{"name": "alice", "key": "key-alice"}], "cookie": "session"})
    somebodys = FastAPI()
    somebodys.include_router(copilot.router())

    async with serve(somebodys) as url, httpx2.AsyncClient(base_url=url) as client:
        given: list[dict[str, str]] = [
            {},
            {"x-api-key": "key-alice"},
            {"cookie": "session=key-alice"},
            {"x-api-key": "key-bob"},
        ]
        answers = [await client.post("/copilotkit", json={"query": "{ hello }"}, headers=headers) for headers in given]

    assert [answer.status_code for answer in answers] == [401, 200, 200, 401]


async def test_a_ready_application_accepts_the_given_hosts(serve: Serve) -> None:
    async with serve(in_memory().app(hosts=["testserver"])) as url, httpx2.AsyncClient(base_url=url) as client:
        hosts = ["testserver", "localhost", "evil.com"]
        answers = [await client.get("/health", headers={"host": host}) for host in hosts]

    assert [answer.status_code for answer in answers] == [200, 200, 421]


async def test_a_ready_application_can_be_had_too(serve: Serve) -> None:
    app = in_memory(ScriptedModel([says("Hi")])).app(origins=["https://shop.test"])

    async with serve(app) as url, httpx2.AsyncClient(base_url=url) as client:
        health = await client.get("/health", headers={"origin": "https://shop.test"})
        hello = await client.post("/copilotkit", json={"query": "{ hello }"})

    assert health.json()["status"] == "ok"
    assert health.headers["access-control-allow-origin"] == "https://shop.test"
    assert hello.json() == {"data": {"hello": "Hello World"}}


# Opened again


def configuration(folder: Path) -> str:
    return f"""
models: {{default: {{type: scripted, chunk_delay: 0}}}}
server: {{state_dir: "{folder / "state"}"}}
access: {{keys: [{{name: alice, key: key-alice}}]}}
limits:
  - {{name: some, subject: everyone, concurrent_runs: 1, on_exceed: queue, queue: {{most: 5, wait: 30}}}}
faces: [{{type: copilotkit}}, {{type: openai}}, {{type: operator}}, {{type: usage}}]
"""


def from_file(folder: Path) -> Copilot:
    (folder / "rightseat.yaml").write_text(configuration(folder))
    return Copilot.from_file(folder / "rightseat.yaml")


@pytest.mark.parametrize(
    "build", [lambda _: in_memory(), lambda folder: Copilot(state_dir=folder / "state"), from_file]
)
def test_a_copilot_answers_after_every_start_in_an_event_loop_of_its_own(
    build: Callable[[Path], Copilot], tmp_path: Path
) -> None:
    app = FastAPI()
    app.include_router(build(tmp_path).router())
    body = {"threadId": "t1", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}}

    for number in range(3):
        with TestClient(app, headers={"x-api-key": "key-alice"}) as client:
            message = {"id": f"m{number}", "role": "user", "content": "Hi"}
            answer = client.post(
                "/copilotkit/agent/default/run", json=body | {"runId": f"r{number}", "messages": [message]}
            )
            assert (answer.status_code, "RUN_FINISHED" in answer.text) == (200, True)
            threads = client.get("/copilotkit/threads").json()["threads"]
            assert [thread["id"] for thread in threads] == ["t1"]


async def test_asks_wait_for_a_limit_after_a_second_start_too(tmp_path: Path) -> None:
    copilot = from_file(tmp_path)

    for _ in range(2):
        async with copilot.opened():
            events = await asyncio.gather(ask(copilot, "Hi"), ask(copilot, "Hi"), ask(copilot, "Hi"))
            assert all(isinstance(one[-1], RunFinished) for one in events)


async def test_a_copilot_is_not_open_twice_at_once() -> None:
    copilot = in_memory()

    async with copilot.opened():
        with pytest.raises(ConfigError, match="already open"):
            async with copilot.opened():
                pass
        assert "built-in demo model" in text(await ask(copilot, "Hi"))

    async with copilot.opened():
        assert "built-in demo model" in text(await ask(copilot, "Hi"))


# The public names


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Pilot'"):
        _ = rightseat.Pilot


def test_importing_rightseat_imports_no_framework() -> None:
    program = "import sys, rightseat; print(sorted({'fastapi', 'pydantic', 'yaml'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
