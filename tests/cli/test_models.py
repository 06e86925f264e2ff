"""What the command does with models on this machine."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.models.completion.engines.test_spawning import STAND_IN, is_running
from tests.models.completion.test_gguf import WHOLE, head

HERMES = "{% for tool in tools %}<tool_call>{% endfor %}"


@pytest.fixture
def model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GGUF file, and a `llama-server` on the PATH that stands in for the real one."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "llama-server").write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    (programs / "llama-server").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    file = folder / "small.gguf"
    file.write_bytes(head(WHOLE | {"tokenizer.chat_template": HERMES}))
    return file


def test_a_file_is_all_that_is_needed_to_serve_a_model(model: Path) -> None:
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0", "--model", model.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line.rstrip())
            if line.lstrip().startswith("curl"):
                break
        for line in process.stderr:
            if "is loaded" in line:
                break
        engine = int(subprocess.check_output(["pgrep", "-P", str(process.pid)], text=True).split()[0])
        (url,) = re.findall(r"curl (http://\S+)", said[-1])
        answer = httpx2.post(url, json={"model": "default", "messages": [{"role": "user", "content": "Hello"}]})
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)

    assert answer.json()["choices"][0]["message"]["content"] == "!"
    assert f"  model    default  completion with {model}" in said
    assert [line.split()[2] for line in said if "serves" in line] == ["copilotkit", "openai"]
    assert not is_running(engine)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "none.gguf"], "There is no file none.gguf. --model should name a GGUF file."),
        (["--model", "small.gguf", "--config", "x.yaml"], "Either --config or --model."),
    ],
)
def test_what_cannot_be_served_is_told(run: Run, model: Path, arguments: list[str], said: str) -> None:
    result = run("serve", *arguments)

    assert result.exit_code == 1
    assert said in result.stderr


def test_check_says_which_style_was_chosen_and_why(run: Run, model: Path) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, engine: {{model: {model.name}}}}}}}")

    result = run("check")

    assert result.exit_code == 0
    assert f"engine: a llama-server of our own, with {model.name}" in result.stdout
    assert "style: hermes, because its chat template holds '<tool_call>'" in result.stdout


def test_check_goes_on_where_an_engine_does_not_answer(run: Run) -> None:
    Path("rightseat.yaml").write_text('models: {default: {type: completion, engine: {url: "http://127.0.0.1:1"}}}')

    result = run("check")

    assert result.exit_code == 0
    assert "engine: llama-server at http://127.0.0.1:1" in result.stdout
    assert "style: not known yet. The model's engine cannot be relied on" in result.stdout


@pytest.mark.parametrize(
    ("engine", "missing"),
    [
        ("model: small.gguf, binary: nowhere", "models.default: nowhere is no program that can be run"),
        ("model: none.gguf", "models.default: none.gguf cannot be read: No such file or directory."),
    ],
)
def test_check_fails_where_something_is_missing_to_run_a_model(
    run: Run, model: Path, engine: str, missing: str
) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, engine: {{{engine}}}}}}}")

    result = run("check")

    assert result.exit_code == 1
    assert missing in result.stderr
    assert "nothing is wrong" not in result.stdout


def test_a_question_waits_until_the_model_is_loaded(run: Run, model: Path) -> None:
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: completion, engine: {{model: {model.name}}}}}}}")

    result = run("ask", "Hello")

    assert result.exit_code == 0
    assert result.stdout == "!\n"
