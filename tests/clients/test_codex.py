"""examples/codex with the real Codex CLI, in a home of its own, and a real `rightseat serve` with the demo model."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance._lib.prepare import install_packages
from tests.clients import test_react_app as board

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "codex"
SUITE = ROOT / "tests" / "acceptance" / "responses"
NO_SERVER = "http://127.0.0.1:9"  # as a proxy: Codex must reach nothing but rightseat

pytestmark = pytest.mark.clients


def test_codex_runs_a_command_that_the_model_calls_and_shows_the_answer(tmp_path: Path) -> None:
    program, work = find_codex(), tmp_path / "work"
    work.mkdir()
    (work / "notes.txt").write_text("Buy bread\nCall Mira\n")
    server, home = write_example(tmp_path)
    with board.serving(server) as url:
        config = (home / "config.toml").read_text().replace("http://127.0.0.1:8000", url)
        (home / "config.toml").write_text(config)
        events = run_codex(program, home, work, "exec_command wc -l notes.txt")

    [ran] = [event["item"] for event in events if is_completed(event, "command_execution")]
    assert (ran["exit_code"], ran["aggregated_output"]) == (0, "2 notes.txt\n")
    [answer] = [event["item"]["text"] for event in events if is_completed(event, "agent_message")]
    assert answer.startswith("The tool exec_command returned:")
    assert "2 notes.txt" in answer
    assert events[-1]["type"] == "turn.completed"


def test_codex_and_the_server_have_the_same_context() -> None:
    served = yaml.safe_load((EXAMPLE / "rightseat.yaml").read_text())["models"]["default"]["backend"]
    codex = tomllib.loads((EXAMPLE / "config.toml").read_text())

    assert codex["model_context_window"] == served["context_window"]
    assert (EXAMPLE / codex["model_instructions_file"]).exists()


def find_codex() -> Path:
    program = install_clients() / "node_modules" / "@openai" / "codex" / "bin" / "codex.js"
    if not program.exists():
        pytest.skip("Codex is not available for this platform")
    return program


def install_clients() -> Path:
    """The folder with the packages of the acceptance suite, which are installed once (450 MB)."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    return install_packages(SUITE)


def write_example(folder: Path) -> tuple[Path, Path]:
    """The folders of the server, with the demo model instead of the GGUF file, and of Codex."""
    server, home = folder / "server", folder / "home"
    server.mkdir()
    home.mkdir()
    served = yaml.safe_load((EXAMPLE / "rightseat.yaml").read_text())
    served["models"]["default"] = {"type": "scripted", "chunk_delay": 0}
    (server / "rightseat.yaml").write_text(yaml.safe_dump(served))
    for name in ("config.toml", "instructions.md"):
        shutil.copy(EXAMPLE / name, home)
    return server, home


def run_codex(program: Path, home: Path, work: Path, prompt: str) -> list[dict[str, Any]]:
    """`--strict-config` fails on a key in config.toml that this version of Codex does not know."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NO_SERVER)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    options = ["--strict-config", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    done = subprocess.run(
        ["node", program, "exec", *options, prompt],
        cwd=work,
        env=environ | proxies,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_completed(event: dict[str, Any], kind: str) -> bool:
    return bool(event["type"] == "item.completed" and event["item"]["type"] == kind)
