"""`rightseat ask`"""

import threading
from pathlib import Path

import pytest

from rightseat.cli import progress
from tests.cli import silent_model
from tests.cli.conftest import Run

QUICK = "models: {default: {type: scripted, chunk_delay: 0}}\n"


def test_ask_prints_the_response(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK)

    result = run("ask", "How are you?")

    assert result.exit_code == 0
    assert result.stdout.startswith("You said: “How are you?” I am the built-in demo model")
    assert result.stdout.endswith("\n")
    assert result.stderr == ""


def test_ask_says_that_it_waits_for_a_silent_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither spans nor reasoning are a response."""

    def report_and_tell(work: str, done: threading.Event, after: float) -> None:
        report(work, done, after)
        if "response" in work:
            silent_model.HAS_SAID.set()

    report = progress.report
    monkeypatch.setattr(progress, "report", report_and_tell)
    monkeypatch.setattr(progress, "SHOW_WAITING_AFTER_S", 0.01)
    Path("rightseat.yaml").write_text("models: {default: {type: tests.cli.silent_model}}")

    result = run("ask", "Hello")

    assert result.exit_code == 0
    assert result.stdout == "At last.\n"
    assert "Waiting for the response …\n" in result.stderr


def test_tool_calls_are_printed_to_stderr(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK + "agents: {default: {tools: ['tests.acme.tools:both']}}")

    result = run("ask", "get_weather Bonn")

    assert result.stdout == 'The tool get_weather returned: {"city":"Bonn","sky":"clear"}\n'
    assert result.stderr == '→ get_weather({"city": "Bonn"})\n← get_weather: {"city":"Bonn","sky":"clear"}\n'


def test_ask_uses_the_only_agent(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK + "agents: {helper: {}}")

    assert "built-in demo model" in run("ask", "Hi").stdout


def test_ask_takes_an_agent_and_a_file(run: Run) -> None:
    Path("other.yaml").write_text(QUICK + "agents: {default: {}, helper: {tools: ['tests.acme.tools:add']}}")

    assert run("ask", "-c", "other.yaml", "--agent", "helper", "add").stdout.startswith("The tool add returned:")


def test_an_unknown_agent_is_reported(run: Run) -> None:
    result = run("ask", "--agent", "nobody", "Hi")

    assert result.exit_code == 1
    assert result.stderr == "Error: No agent named 'nobody'. Configured: default.\n"


def test_a_failed_run_prints_one_line(run: Run) -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}")

    result = run("ask", "Hi")

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("Error: Cannot reach the model server: ")
    assert "Traceback" not in result.stderr


def test_a_failed_run_is_reported_once(run: Run) -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}")

    lines = run("ask", "Hi").stderr.splitlines()

    assert len(lines) == 2  # the log says where, the error what
    assert "http://127.0.0.1:1/v1" in lines[0]


def test_a_run_that_waits_for_an_answer_prints_the_question(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK + "agents: {default: {tools: ['asking:wipe']}}")
    Path("asking.py").write_text(
        "from rightseat import tool\n\n\n"
        "@tool(effect='write')\nasync def wipe(city: str) -> str:\n    'Deletes a city.'\n    return 'gone'\n"
    )

    result = run("ask", "wipe Ulm")

    assert result.exit_code == 1
    assert (
        "Error: The run waits for a person, and there is no terminal to ask at:\n  May wipe be run?\n" in result.stderr
    )
    assert "`approval: never` under agents.default" in result.stderr
    assert "`read_only_tools: [wipe]`" in result.stderr
