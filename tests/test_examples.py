"""Every example does what it says."""

import ast
import asyncio
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from tests.conftest import Serve

EXAMPLES = Path(__file__).parent.parent / "examples"
CONFIGURATIONS = sorted([*EXAMPLES.glob("*/rightseat.yaml"), *EXAMPLES.glob("*/server/rightseat.yaml")])
RECORDINGS = Path(__file__).parent / "recordings" / "copilotkit-graphql"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.parent.name.replace("-", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def ask(url: str, question: str) -> str:
    """Ask as CopilotKit's client does. Returns the whole answer as it came."""
    body = json.loads((RECORDINGS / "plain-chat.request.txt").read_text().partition("\n\n")[2])
    for message in body["variables"]["data"]["messages"]:
        if message["textMessage"]["role"] == "user":
            message["textMessage"]["content"] = question
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/copilotkit", json=body, headers={"accept": "multipart/mixed"})
    return answer.text


def words(answer: str) -> str:
    """The text of an answer, put together from its pieces."""
    found = []
    for part in answer.split("\r\n\r\n"):
        if part.startswith("{"):
            patch = json.loads(part.partition("\r\n---")[0])
            for piece in patch.get("incremental", ()):
                if "content" in piece["path"]:
                    found += piece["items"]
    return "".join(found)


async def test_the_smallest_configuration_answers(serve: Serve) -> None:
    read = config.read(EXAMPLES / "hello" / "rightseat.yaml", {})

    async with serve(app.build(read)) as url:
        said = words(await ask(url, "Hello?"))

    assert said.startswith("You said: “Hello?” I am the built-in demo model")


async def test_the_to_do_list_can_be_read_and_added_to(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = load(EXAMPLES / "python-app" / "app.py")

    async with serve(example.app) as url, httpx2.AsyncClient(base_url=url) as client:
        added = await ask(url, "add_task Water the plants")
        tasks = (await client.get("/tasks")).json()

    assert "Added. There are 2 tasks now." in added
    assert tasks == ["Read the quickstart", "Water the plants"]


async def test_openais_own_client_runs_its_tool_and_gets_an_answer(serve: Serve) -> None:
    example = load(EXAMPLES / "openai-client" / "chat.py")
    read = config.read(EXAMPLES / "hello" / "rightseat.yaml", {})

    async with serve(app.build(read)) as url:
        said = await asyncio.to_thread(example.chat, "read_clock UTC", f"{url}/v1")

    assert said.startswith("The tool read_clock returned: It is ")
    assert said.endswith(" in UTC.")


def test_the_demo_apis_take_a_free_port_where_theirs_is_in_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(EXAMPLES / "plugins-app" / "server")
    apis = load(EXAMPLES / "plugins-app" / "server" / "ops" / "apis.py")
    for name in ("WEATHER_KEY", "HOST_SECURITY_TOKEN", "FILE_CONVERT_SECRET"):
        monkeypatch.setenv(f"RIGHTSEAT_SECRET_{name}", "demo")
    with socket.create_server(("127.0.0.1", 0)) as taken, apis.serve("weather", taken.getsockname()[1]) as api:
        api.shutdown()
        port = api.server_port
        assert port != taken.getsockname()[1]

    file = apis.configure({**apis.PORTS, "weather": port}, tmp_path)

    assert config.read(file, {}).toolboxes["ops"].options.model_dump()["allow_private"]["weather"] == (
        f"127.0.0.1:{port}",
    )
    assert f"http://127.0.0.1:{port}/v1" in (tmp_path / "plugins" / "weather" / "openapi.yaml").read_text()
    assert apis.configure(apis.PORTS, tmp_path) == EXAMPLES / "plugins-app" / "server" / "rightseat.yaml"


async def test_the_task_board_is_changed_once_a_person_agrees(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a browser; tests/clients has it with one."""
    server = shutil.copytree(EXAMPLES / "react-app" / "server", tmp_path / "server")
    monkeypatch.syspath_prepend(server)
    read = config.read(server / "rightseat.yaml", {})
    task = {"id": "HB-21", "title": "Write the release notes", "owner": "Mira", "column": "todo", "blocked": ""}
    told = {"id": "m1", "role": "user", "content": "Mark the release notes as done"}

    async with serve(app.build(read)) as url:
        *_, waiting = await run(url, messages=[told], state={"tasks": [task]})
        (asked,) = waiting["outcome"]["interrupts"]
        resume = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
        events = await run(url, messages=[told], state={"tasks": [task]}, resume=resume)

    assert asked["message"] == "May I change this task?"
    assert [event["snapshot"]["tasks"][0]["column"] for event in events if event["type"] == "STATE_SNAPSHOT"] == [
        "done"
    ]


async def run(url: str, **given: object) -> list[dict[str, Any]]:
    """The events of a run that is asked for as CopilotKit's clients since 1.50 do it."""
    body = {"threadId": "t", "runId": "r", "tools": [], "context": [], "forwardedProps": {}, **given}
    async with httpx2.AsyncClient() as client:
        answer = await client.post(f"{url}/copilotkit/agent/default/run", json=body)
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: ")]


@pytest.mark.parametrize("file", CONFIGURATIONS, ids=lambda file: str(file.parent.relative_to(EXAMPLES)))
def test_every_configuration_is_right(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(file.parent)

    assert config.read(file, {"OPENAI_API_KEY": "sk"}).path == file


async def test_an_agent_for_openbb_answers(serve: Serve) -> None:
    read = config.read(EXAMPLES / "openbb-agent" / "rightseat.yaml", {})

    async with serve(app.build(read)) as url, httpx2.AsyncClient(base_url=url) as client:
        agents = (await client.get("/agents.json")).json()
        body = {"messages": [{"role": "human", "content": "Hello?"}]}
        answer = await client.post(agents["default"]["endpoints"]["query"], json=body)

    assert agents["default"]["name"] == "My analyst"
    assert agents["default"]["features"]["prompt-suggestions"]["default"] is True
    assert "event: copilotMessageChunk" in answer.text


async def test_the_notebook_runs_from_the_first_cell_to_the_last(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "notebook" / "ask.ipynb").read_text())
    names: dict[str, object] = {"__name__": "notebook"}

    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), cell["id"], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            made = eval(code, names)  # noqa: S307 - as a notebook runs it
            if made is not None:
                await made

    shown = capsys.readouterr().out
    assert "average {'numbers': []} → 0.0" in shown
    assert "waiting ['Delete this file?']" in shown
    assert "The tool delete_file returned: notes.txt is deleted." in shown
    assert not any(cell.get("outputs") for cell in notebook["cells"])


def test_the_analyst_for_openbb_reads_a_widget_and_shows_a_table_with_its_source(tmp_path: Path) -> None:
    """As its README says, in a folder of its own. The shop and the intranet have packages that this environment lacks:
    the suite `embedded` runs their tests."""
    folder = shutil.copytree(EXAMPLES / "openbb-python", tmp_path / "openbb-python")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", "."], cwd=folder, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_copy_of_the_analyst_that_was_modified_answers_with_what_was_changed(tmp_path: Path) -> None:
    """Clone an example, change its data, its tool and its name: the way to begin with an agent for OpenBB in Python."""
    folder = shutil.copytree(EXAMPLES / "openbb-python", tmp_path / "mine")
    code = (folder / "analyst.py").read_text()
    changes = {
        '{"AAPL": 187.5, "MSFT": 402.0}': '{"NVDA": 99.25}',
        "fair_value": "house_view",
        "Our analyst": "My copilot",
    }
    for old, new in changes.items():
        assert old in code
        code = code.replace(old, new)
    (folder / "analyst.py").write_text(code)

    done = subprocess.run([sys.executable, "-c", ASK_THE_ANALYST], cwd=folder, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("My copilot\n")
    assert "99.25" in done.stdout


ASK_THE_ANALYST = """
from analyst import app
from fastapi.testclient import TestClient

with TestClient(app) as client:
    described = client.get("/agents.json").json()["analyst"]
    print(described["name"])
    body = {"messages": [{"role": "human", "content": "house_view NVDA"}]}
    print(client.post(described["endpoints"]["query"], json=body).text)
"""
