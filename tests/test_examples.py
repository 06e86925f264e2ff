"""Every example does what it says."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import httpx2
import pytest

from rightseat import app, config
from tests.conftest import Serve

EXAMPLES = Path(__file__).parent.parent / "examples"
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
    async with httpx2.AsyncClient(timeout=10) as client:
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

    assert said.startswith("You said: “Hello?” I am the built-in scripted model")


async def test_the_to_do_list_can_be_read_and_added_to(serve: Serve) -> None:
    example = load(EXAMPLES / "python-app" / "app.py")

    async with serve(example.app) as url, httpx2.AsyncClient(base_url=url) as client:
        added = await ask(url, "add_task Water the plants")
        tasks = (await client.get("/tasks")).json()

    assert "Added. There are 2 tasks now." in added
    assert tasks == ["Read the quickstart", "Water the plants"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.rglob("rightseat.yaml")), ids=lambda file: file.parent.name)
def test_every_configuration_is_right(file: Path) -> None:
    assert config.read(file, {"OPENAI_API_KEY": "sk"}).path == file
