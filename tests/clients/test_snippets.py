"""The code for JavaScript clients in the console runs as it is, with the real packages, if the key is filled in."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.clients import test_ai_sdk_app as notes
from tests.clients import test_codex as codex
from tests.clients import test_react_app as board

HERE = Path(__file__).parent
KEY = "key-alice"
CONFIGURATION = f"""
models: {{default: {{type: scripted, chunk_delay: 0}}}}
log: {{type: memory}}
threads: {{type: memory}}
access: {{keys: [{{name: alice, key: {KEY}, user: alice}}]}}
faces: [{{type: copilotkit}}, {{type: openai}}, {{type: ai_sdk}}, {{type: operator}}]
"""
ANSWER = "I am the built-in demo model"

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    (folder / "rightseat.yaml").write_text(CONFIGURATION)
    with board.serving(folder) as url:
        yield url


def test_the_code_for_openai_prints_an_answer(server: str, tmp_path: Path) -> None:
    packages = codex.install_clients() / "node_modules"

    assert ANSWER in run_script(read_code(server, "openai", "JavaScript"), packages, tmp_path)


def test_the_code_for_ag_ui_prints_an_answer(server: str, tmp_path: Path) -> None:
    board.find_programs()
    packages = board.install()

    assert ANSWER in run_script(read_code(server, "copilotkit", "AG-UI: JavaScript"), packages, tmp_path)


def test_the_component_with_use_chat_shows_an_answer(server: str, tmp_path: Path) -> None:
    node, browser = board.find_programs()
    app = tmp_path / "app"
    shutil.copytree(notes.EXAMPLE, app, ignore=shutil.ignore_patterns("node_modules", "dist", "server", "src"))
    (app / "node_modules").symlink_to(board.install(notes.EXAMPLE))
    (app / "src").mkdir()
    main = (notes.EXAMPLE / "src" / "main.jsx").read_text()
    (app / "src" / "main.jsx").write_text(main.replace("{ App }", "App"))  # the code has it as its default
    (app / "src" / "App.jsx").write_text(read_code(server, "ai_sdk", "React"))
    (app / "src" / "styles.css").touch()
    board.run(["npm", "run", "build", "--", "--logLevel", "error"], app)
    with board.pages(app / "dist") as url:
        seen = json.loads(
            board.run([node, HERE / "snippet-app.mjs", app, url], app, os.environ | {"CHROMIUM": browser})
        )

    assert seen["complaints"] == []
    assert seen["shown"][0].startswith("user:")
    assert seen["shown"][1].startswith("assistant:")


def read_code(server: str, face: str, title: str) -> str:
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx2.get(f"{server}/operator/snippets/{face}", headers=headers)
    answer.raise_for_status()
    (code,) = [one["code"] for one in answer.json() if one["title"] == title]
    assert isinstance(code, str)
    return code.replace("YOUR_KEY", KEY)


def run_script(code: str, packages: Path, folder: Path) -> str:
    (folder / "node_modules").symlink_to(packages)
    (folder / "script.mjs").write_text(code)
    return board.run(["node", "script.mjs"], folder)
