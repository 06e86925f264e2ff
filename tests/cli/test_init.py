"""`rightseat init`"""

from pathlib import Path

import pytest

from rightseat import config
from tests.cli.conftest import Run


def test_without_a_key_it_writes_the_built_in_model(run: Run) -> None:
    result = run("init")

    assert result.exit_code == 0
    assert "Wrote rightseat.yaml: a model that needs no key." in result.stdout
    assert "Next: `rightseat serve`" in result.stdout
    assert config.read(Path("rightseat.yaml"), {}).models["default"].type == "scripted"


def test_with_a_key_it_writes_openai_and_not_the_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")

    run("init")

    written = Path("rightseat.yaml").read_text()
    assert "${OPENAI_API_KEY}" in written
    assert "sk-canary" not in written
    assert config.read(Path("rightseat.yaml")).models["default"].type == "openai"


def test_the_commented_lines_are_right_when_they_are_uncommented(run: Run) -> None:
    run("init")
    lines = Path("rightseat.yaml").read_text().splitlines()
    real = [line.replace("# ", "", 1) if ": " in line else line for line in lines if "type: scripted" not in line]
    text = "\n".join(
        line for line in real if "my_tools" not in line and "A real one" not in line and "What" not in line
    )

    read = config.parse(text, environ={"OPENAI_API_KEY": "sk"})

    assert read.models["default"].type == "openai"
    assert read.server.origins == ("http://localhost:3000",)


def test_it_overwrites_nothing(run: Run) -> None:
    Path("rightseat.yaml").write_text("mine")

    result = run("init")

    assert result.exit_code == 1
    assert result.stderr == "Error: rightseat.yaml is there already. Remove it, or name another: rightseat init FILE.\n"
    assert Path("rightseat.yaml").read_text() == "mine"


def test_another_file_can_be_named(run: Run) -> None:
    assert "`rightseat serve -c other.yaml`" in run("init", "other.yaml").stdout
    assert Path("other.yaml").exists()


def test_a_folder_that_is_not_there_is_told(run: Run) -> None:
    result = run("init", "nowhere/rightseat.yaml")

    assert result.exit_code == 1
    assert result.stderr == "Error: nowhere/rightseat.yaml cannot be written: No such file or directory.\n"
