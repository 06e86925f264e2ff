"""The arguments of a copilot are the keys of a configuration file."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rightseat import Agent, Copilot, Limit, tool
from rightseat.config.shape import ConfigFile
from rightseat.copilot.arguments import CopilotArguments
from rightseat.core.errors import ConfigError
from rightseat.faces import OpenAI
from rightseat.testing import ScriptedModel, calls, says
from tests.copilot.echo import Echo

FILE = """
models: {default: {type: scripted, chunk_delay: 0}}
agents: {default: {model: default, instructions: Be brief.}}
faces: [{type: copilotkit, path: /copilotkit}]
"""


@tool
def whoami() -> str:
    return "me"


def test_every_key_is_an_argument() -> None:
    arguments = set(inspect.signature(Copilot).parameters)

    assert set(ConfigFile.model_fields) <= arguments
    assert arguments == set(CopilotArguments.__annotations__)


async def test_a_file_and_arguments_are_mixed(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.yaml"
    file.write_text(FILE)
    copilot = Copilot.from_file(
        file, tools=[whoami], database="memory", limits=[{"name": "x", "subject": "user", "concurrent_runs": 9}]
    )

    result = await copilot.ask("whoami")

    assert result.text == "The tool whoami returned: me"
    assert not (tmp_path / ".rightseat").exists()


def test_a_copilot_is_written_as_the_file_of_the_same_copilot(tmp_path: Path) -> None:
    copilot = Copilot(
        agents={"default": Agent("anthropic:claude-sonnet-5", instructions="Be brief.", tools=[whoami])},
        faces=["copilotkit", OpenAI(path="/v2")],
        limits=[Limit(name="free", subject="user", requests_per_minute=2)],
        database="postgresql://app:secret@db/app",
    )
    text = copilot.to_yaml()
    (tmp_path / "rightseat.yaml").write_text(
        text.replace("${DATABASE_URL}", "postgresql://app@db/app").replace("${ANTHROPIC_API_KEY}", "sk-1")
    )

    again = Copilot.from_file(tmp_path / "rightseat.yaml")

    assert "secret" not in text
    assert again.to_yaml().replace("sk-1", "") == text
    assert [face.path for face in again.runtime.faces] == ["/copilotkit", "/v2"]


def make_local() -> Callable[[], str]:
    def local() -> str:
        return "here"

    return local


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"model": Echo()}, "Echo"),
        ({"model": "demo", "tools": [whoami, make_local()]}, "make_local.<locals>.local"),
    ],
)
def test_what_a_file_cannot_name_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)):
        Copilot(**arguments).to_yaml()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"faces": ["copilotkitt"]}, "Did you mean 'copilotkit'"),
        ({"faces": "openai"}, "should be a list such as"),
        ({"model": "opnai:gpt-4o-mini"}, "Did you mean 'openai'"),
        ({"model": "gpt-4o-mini"}, "should be like 'openai:gpt-4o-mini'"),
        ({"model": 7}, "an object with a method `stream`, not int"),
        (
            {"database": "mysql://user:secret@host/db"},
            "should be 'postgresql://user:password@host/name' or 'memory', not 'mysql'",
        ),
        ({"database": "memory", "durable": True}, "`durable` runs need a database"),
        ({"tools": [whoami, whoami]}, "two tools named 'whoami'"),
        ({"limits": [{"name": "x"}]}, r"Copilot: limits\[0\]\.subject is missing"),
        ({"path": "copilotkit"}, r"Copilot: faces\[0\]\.path: .*'\^/'"),
        ({"agents": {"a": 7}}, "The agent 'a' should be an `Agent`, not int"),
        ({"prices": {"default": {"input": 1}}}, r"Copilot: prices\.default\.output is missing"),
    ],
)
def test_a_mistake_names_the_argument_and_the_cure(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        Copilot(**{"model": Echo(), **arguments} if "agents" not in arguments else arguments)

    assert "secret" not in error.value.message


async def test_agents_have_tools_of_their_own_and_those_of_the_copilot() -> None:
    def stock(sku: str) -> str:
        return f"7 of {sku}"

    agents = {"warehouse": Agent(Echo(), tools=[stock]), "office": Agent(Echo(), agents=["warehouse"])}
    copilot = Copilot(agents=agents, tools=[whoami], database="memory")

    assert (await copilot.ask('call stock {"sku": "AB"}', agent="warehouse")).text == "echo: 7 of AB"
    assert (await copilot.ask("call whoami {}", agent="office")).text == "echo: me"
    assert "7 of" not in (await copilot.ask('call stock {"sku": "AB"}', agent="office")).text
    with pytest.raises(ConfigError, match=r"Which agent\?"):
        await copilot.ask("Hi")


async def test_an_agent_with_memory_remembers_what_its_user_says() -> None:
    model = ScriptedModel([calls("memory_save", '{"text": "Likes tea"}'), says("Noted."), says("Tea?")])
    copilot = Copilot(agents={"default": Agent(model, memory={"kinds": ["topical"]})}, database="memory")

    await copilot.ask("I like tea.")
    await copilot.ask("What do I like?")

    assert "Likes tea" not in model.prompts[0].messages[0].text
    assert model.prompts[2].messages[0].text.endswith("\n- Likes tea")
