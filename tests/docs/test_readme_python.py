"""README's Python example has every feature of its YAML example, in at most 40 lines, and does what it says."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from fastapi.testclient import TestClient

from rightseat.testing import ScriptedModel, calls, says
from tests.docs.blocks import ROOT, read_blocks

README = ROOT / "README.md"
MAX_LINES = 40
WITH_USERS = "    authenticate=principal,\n"


def block(language: str) -> str:
    (code,) = [one.code for one in read_blocks(README) if one.language == language]
    return code


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def load(name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    file = folder / f"{name}.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_the_example_has_what_the_file_has_in_forty_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = block("python")
    assert len(code.splitlines()) <= MAX_LINES
    assert WITH_USERS in code
    module = load("example_without_users", code.replace(WITH_USERS, ""), folder, monkeypatch)  # no key of a file

    written = yaml.safe_load(module.copilot.to_yaml())

    wanted = yaml.safe_load(block("yaml"))
    for name, model in wanted["models"].items():
        assert written["models"][name].items() >= model.items()
    for name, agent in wanted["agents"].items():
        assert written["agents"][name].items() >= agent.items()
    assert [face["type"] for face in written["faces"]] == [face["type"] for face in wanted["faces"]]


def test_the_example_serves_its_users_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("example_with_users", block("python"), folder, monkeypatch)
    question = {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
    with (
        module.copilot.override(model=ScriptedModel([says("Hello.")]), database="memory"),
        TestClient(module.app) as client,
    ):
        nobody = client.post("/ai/v1/chat/completions", json=question)
        client.cookies.set("session", "alice")
        answer = client.post("/ai/v1/chat/completions", json=question)
        info = client.get("/ai/copilotkit/info")

    assert [nobody.status_code, answer.status_code, info.status_code] == [401, 200, 200]
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."


async def test_the_tools_of_the_example_are_called_and_ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copilot = load("example_with_tools", block("python"), folder, monkeypatch).copilot
    model = ScriptedModel(
        [
            calls("get_weather", '{"city": "Oslo"}'),
            calls("cancel_order", '{"order_id": 3}', id="call_2"),
            says("Done."),
        ]
    )
    with copilot.override(model=model, database="memory"):
        async with copilot:
            asked = await copilot.ask("Weather, and cancel order 3", user="alice")
            done = await asked.approve()

    assert [call.result for call in asked.tool_calls if call.name == "get_weather"] == ['{"celsius":21.5}']
    assert [question.message for question in asked.questions] == ["Cancel this order?"]
    assert [call.result for call in done.tool_calls] == ["Order 3 of alice is cancelled."]
    assert done.text == "Done."
