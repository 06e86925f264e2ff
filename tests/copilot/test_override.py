"""What tests replace: models, the user, the database, dependencies."""

import asyncio
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

from rightseat import Agent, Copilot, RightseatError
from rightseat.core.errors import ConfigError
from rightseat.models import OpenAI
from rightseat.testing import ScriptedModel, calls, forbid_models, says
from tests.copilot.echo import RUN, Echo, run_input


def test_a_model_is_replaced_in_a_running_application_and_comes_back() -> None:
    copilot = Copilot(Echo(), database="memory")
    app = FastAPI()
    app.include_router(copilot.router())

    with TestClient(app) as client:
        with copilot.override(model=ScriptedModel([says("Scripted.")])):
            inside = client.post(RUN, json=run_input("Hello", "t1")).text
        after = client.post(RUN, json=run_input("Hello", "t2")).text

    assert ("Scripted." in inside, "echo: Hello" in after) == (True, True)


async def test_a_missing_key_is_an_error_of_the_start_that_an_override_prevents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    copilot = Copilot("openai:gpt-4o-mini", database="memory")

    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        await copilot.ask("Hi")
    with copilot.override(model=ScriptedModel([says("Hello.")])):
        assert (await copilot.ask("Hi")).text == "Hello."


async def test_a_key_that_is_set_later_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    copilot = Copilot("openai:gpt-4o-mini", database="memory")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")

    async with copilot:
        model = copilot.runtime.models["default"]

    assert isinstance(model, OpenAI)
    assert model.options.api_key is not None


async def test_durable_agents_and_their_database_are_replaced_by_memory() -> None:
    agent = Agent(Echo(), durable=True)
    copilot = Copilot(agents={"default": agent}, database="postgresql://nobody@127.0.0.1:1/none")

    with copilot.override(database="memory"):
        assert (await copilot.ask("Hi")).text == "echo: Hi"


async def test_a_database_is_not_replaced_while_it_is_open() -> None:
    copilot = Copilot(Echo(), database="memory")

    async with copilot:
        with pytest.raises(ConfigError, match="already open"), copilot.override(database="memory"):
            pass


async def test_dependencies_of_tools_are_replaced() -> None:
    def get_name() -> str:
        return "real"

    copilot = Copilot(Echo(), database="memory")

    @copilot.tool
    def name(found: Annotated[str, Depends(get_name)]) -> str:
        return found

    with copilot.override(dependencies={get_name: lambda: "fake"}):
        assert (await copilot.ask("call name {}")).text == "echo: fake"
    assert (await copilot.ask("call name {}")).text == "echo: real"


async def test_real_models_may_be_forbidden() -> None:
    copilot = Copilot(OpenAI("gpt-4o-mini", api_key="sk-x", base_url="http://127.0.0.1:9/v1"), database="memory")

    with forbid_models():
        with pytest.raises(RightseatError, match=r"copilot\.override"):
            await copilot.ask("Hello")
        with copilot.override(model=ScriptedModel([says("Hello.")])):
            assert (await copilot.ask("Hello")).text == "Hello."


async def test_the_fixture_replaces_the_models_of_all_copilots(scripted_model: ScriptedModel) -> None:
    copilot = Copilot("openai:gpt-4o-mini")

    @copilot.tool
    def double(number: int) -> int:
        return 2 * number

    scripted_model.responses(calls("double", '{"number": 21}'), says("It is 42."))

    assert (await copilot.ask("What is twice 21?")).text == "It is 42."
    assert scripted_model.prompts[0].messages[-1].text == "What is twice 21?"
    assert copilot.runtime.threads is not Copilot("demo").runtime.threads


def test_a_copilot_is_open_in_one_application_at_a_time() -> None:
    copilot = Copilot(Echo(), database="memory")
    first, second = FastAPI(), FastAPI()
    first.include_router(copilot.router())
    second.include_router(copilot.router())

    with TestClient(first) as client:
        with pytest.raises(ConfigError, match="already open"), TestClient(second):
            pass
        assert client.get("/copilotkit/threads").status_code == 200

    assert asyncio.run(copilot.ask("Hi")).text == "echo: Hi"
