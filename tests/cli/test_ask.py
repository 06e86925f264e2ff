"""`rightseat ask`"""

from pathlib import Path

from tests.cli.conftest import Run

QUICK = "models: {default: {type: scripted, pause: 0}}\n"


def test_an_answer_is_printed(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK)

    result = run("ask", "How are you?")

    assert result.exit_code == 0
    assert result.stdout.startswith("You said: “How are you?” I am the built-in scripted model")
    assert result.stdout.endswith("\n")
    assert result.stderr == ""


def test_calls_of_tools_are_shown_beside_the_answer(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK + "agents: {default: {tools: ['tests.acme.tools:both']}}")

    result = run("ask", "get_weather Bonn")

    assert result.stdout == 'The tool get_weather said: {"city":"Bonn","sky":"clear"}\n'
    assert result.stderr == '→ get_weather({"city": "Bonn"})\n← get_weather: {"city":"Bonn","sky":"clear"}\n'


def test_the_only_agent_answers(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK + "agents: {helper: {}}")

    assert "built-in scripted model" in run("ask", "Hi").stdout


def test_another_agent_and_another_file_can_be_named(run: Run) -> None:
    Path("other.yaml").write_text(QUICK + "agents: {default: {}, helper: {tools: ['tests.acme.tools:add']}}")

    assert run("ask", "-c", "other.yaml", "--agent", "helper", "add").stdout.startswith("The tool add said:")


def test_an_agent_that_is_not_there_is_told(run: Run) -> None:
    result = run("ask", "--agent", "nobody", "Hi")

    assert result.exit_code == 1
    assert result.stderr == "Error: No agent named 'nobody'. Configured: default.\n"


def test_a_run_that_fails_is_told_in_a_line(run: Run) -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}")

    result = run("ask", "Hi")

    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("Error: The model's server cannot be relied on: ")
    assert "Traceback" not in result.stderr


def test_a_run_that_fails_is_not_told_twice(run: Run) -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}")

    lines = run("ask", "Hi").stderr.splitlines()

    assert len(lines) == 2  # the log says where, the error what
    assert "http://127.0.0.1:1/v1" in lines[0]


def test_a_run_that_waits_for_a_person_says_so(run: Run) -> None:
    Path("rightseat.yaml").write_text(QUICK + "agents: {default: {tools: ['asking:wipe']}}")
    Path("asking.py").write_text(
        "from rightseat import tool\n\n\n"
        "@tool(effect='write')\nasync def wipe(city: str) -> str:\n    'Deletes a city.'\n    return 'gone'\n"
    )

    result = run("ask", "wipe Ulm")

    assert result.exit_code == 1
    assert "Error: The run waits for a person, who cannot be asked here." in result.stderr
    assert "wipe" in result.stderr.splitlines()[-1]
