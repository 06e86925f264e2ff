"""`rightseat init`"""

import json
import re
from pathlib import Path

import pytest
import yaml

from rightseat import config
from rightseat.json_schema import find_faults
from tests.cli.conftest import Run
from tests.cli.terminal import terminal


def test_init_without_a_key_writes_the_built_in_model(run: Run) -> None:
    result = run("init")

    assert result.exit_code == 0
    assert "Wrote rightseat.yaml: the built-in demo model, which needs no key." in result.stdout
    assert "Next: `rightseat chat`, or `rightseat serve`." in result.stdout
    assert config.read(Path("rightseat.yaml"), {}).models["default"].type == "scripted"


def test_init_with_a_key_writes_openai_without_the_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")

    run("init")

    written = Path("rightseat.yaml").read_text()
    assert "${OPENAI_API_KEY}" in written
    assert "sk-canary" not in written
    assert config.read(Path("rightseat.yaml")).models["default"].type == "openai"


@pytest.mark.parametrize(
    ("provider", "variable", "type"),
    [
        ("openai", "OPENAI_API_KEY", "openai"),
        ("anthropic", "ANTHROPIC_API_KEY", "anthropic"),
        ("google", "GEMINI_API_KEY", "google"),
        ("ollama", None, "openai"),
        ("gguf", None, "completion"),
        ("demo", None, "scripted"),
    ],
)
def test_the_file_of_every_provider_passes_check(
    run: Run, monkeypatch: pytest.MonkeyPatch, provider: str, variable: str | None, type: str
) -> None:
    if variable:
        monkeypatch.delenv(variable, raising=False)

    written = run("init", "--provider", provider)

    assert written.exit_code == 0
    if variable:
        assert f"First set {variable} to your API key" in written.stdout
        monkeypatch.setenv(variable, "sk-canary")
    assert config.read(Path("rightseat.yaml")).models["default"].type == type
    if provider == "gguf":
        assert "There is no file model.gguf yet." in written.stdout
        return  # `check` reads the file; see test_models.py
    checked = run("check")
    assert checked.exit_code == 0
    assert checked.stdout.startswith("rightseat.yaml: valid.\n")


def test_init_takes_a_model_and_an_address(run: Run) -> None:
    run("init", "--provider", "ollama", "--model", "qwen3:8b", "--base-url", "http://10.0.0.5:8000/v1")

    options = config.read(Path("rightseat.yaml")).models["default"].options
    assert (getattr(options, "model", None), getattr(options, "base_url", None)) == (
        "qwen3:8b",
        "http://10.0.0.5:8000/v1",
    )


@pytest.mark.parametrize("option", [("--model", "m"), ("--base-url", "http://localhost/v1")])
def test_options_that_have_no_effect_are_refused(run: Run, option: tuple[str, str]) -> None:
    result = run("init", "--provider", "demo", *option)

    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {option[0]}")
    assert not Path("rightseat.yaml").exists()


def test_init_at_a_terminal_asks_for_the_provider() -> None:
    with terminal("init") as init:
        init.wait_for("  4  Ollama, or another OpenAI-compatible server")
        init.wait_for("Number [6]: ")
        init.enter("4")
        init.wait_for("Address [http://localhost:11434/v1]: ")
        init.enter("")
        init.wait_for("Model [llama3.2]: ")
        init.enter("qwen3")
        assert init.wait_for_end() == 0

    assert "Wrote rightseat.yaml: Ollama, qwen3." in init.shown
    assert getattr(config.read(Path("rightseat.yaml")).models["default"].options, "model", None) == "qwen3"


def test_the_first_line_names_an_existing_schema_that_the_file_fits(run: Run) -> None:
    Path("inner").mkdir()

    run("init", "inner/rightseat.yaml")

    text = Path("inner/rightseat.yaml").read_text()
    (named,) = re.findall(r"\A# yaml-language-server: \$schema=(\S+)\n", text)
    schema = json.loads(Path("inner", named).read_text())
    assert find_faults("file", schema, yaml.safe_load(text)) == []
    assert find_faults("file", schema, yaml.safe_load(text) | {"modles": {}})


def test_the_commented_lines_are_valid_when_uncommented(run: Run) -> None:
    run("init")
    lines = Path("rightseat.yaml").read_text().splitlines()[1:]
    real = [line.replace("# ", "", 1) if ": " in line else line for line in lines if "type: scripted" not in line]
    text = "\n".join(
        line for line in real if "my_tools" not in line and "A real one" not in line and "What" not in line
    )

    read = config.parse(text, environ={"OPENAI_API_KEY": "sk"})

    assert read.models["default"].type == "openai"
    assert read.server.origins == ("http://localhost:3000",)


def test_the_file_deletes_threads_that_are_not_used(run: Run) -> None:
    run("init", "--provider", "demo")

    assert yaml.safe_load(Path("rightseat.yaml").read_text())["threads"] == {"retention_days": 90}


def test_init_overwrites_no_file(run: Run) -> None:
    Path("rightseat.yaml").write_text("mine")

    result = run("init")

    assert result.exit_code == 1
    assert result.stderr == "Error: rightseat.yaml already exists. Remove it, or write another: rightseat init FILE.\n"
    assert Path("rightseat.yaml").read_text() == "mine"


def test_init_takes_another_file_name(run: Run) -> None:
    assert "`rightseat serve -c other.yaml`" in run("init", "other.yaml").stdout
    assert Path("other.yaml").exists()


def test_init_reports_a_missing_folder(run: Run) -> None:
    result = run("init", "nowhere/rightseat.yaml")

    assert result.exit_code == 1
    assert result.stderr == "Error: nowhere/rightseat.yaml cannot be written: No such file or directory.\n"
