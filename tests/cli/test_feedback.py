"""`rightseat feedback`, in a folder with a configuration and what users said."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def kept() -> Path:
    Path("rightseat.yaml").write_text("faces: [{type: openbb}]\n")
    Path(".rightseat").mkdir()
    return Path(".rightseat/openbb-feedback.jsonl")


def test_feedback_is_listed_oldest_first(run: Run, kept: Path) -> None:
    old = {"at": "2026-11-01T10:00:00.000Z", "vote": "up", "user_prompt": "Price of AAPL?"}
    new = {
        "at": "2026-11-02T10:00:00.000Z",
        "vote": "down",
        "user_comment": "Wrong\x1b[2J year",
        "user_prompt": "x" * 200,
    }
    kept.with_name("openbb-feedback.jsonl.1").write_text(json.dumps(old) + "\n")
    kept.write_text(json.dumps(new) + "\n{broken\n")

    result = run("feedback")

    assert result.output.splitlines() == [
        '2026-11-01T10:00:00.000Z  up  "Price of AAPL?"',
        f'2026-11-02T10:00:00.000Z  down  "{"x" * 99}…"  "Wrong [2J year"',
        "(not readable) {broken",
    ]


def test_feedback_as_json_prints_the_stored_lines(run: Run, kept: Path) -> None:
    line = json.dumps({"vote": "up", "ai_response": "a\nb"})
    kept.write_text(line + "\n")

    assert run("feedback", "--json").output == line + "\n"


def test_without_feedback_a_note_is_printed_to_stderr(run: Run, kept: Path) -> None:
    result = run("feedback")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "There is no feedback yet.\n"


@pytest.mark.parametrize("faces", ["[{type: copilotkit}]", "[{type: openbb, feedback_file: null}]"])
def test_a_server_without_stored_feedback_is_reported(run: Run, faces: str) -> None:
    Path("rightseat.yaml").write_text(f"faces: {faces}\n")

    result = run("feedback")

    assert result.exit_code == 1
    assert "stores feedback" in result.stderr
