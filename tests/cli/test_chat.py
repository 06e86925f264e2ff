"""`rightseat chat`, and `rightseat ask` with questions, as programs at a terminal."""

import re
import sqlite3
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.terminal import CTRL_D, terminal
from tests.cli.test_serve import serving

QUICK = "models: {default: {type: scripted, chunk_delay: 0}}\n"
SLOW = "models: {default: {type: scripted, chunk_delay: 0.5}}\n"
TOOL = """
from rightseat import tool

@tool(effect="write")
async def wipe(city: str) -> str:
    "Deletes a city."
    return "gone"
"""


def write_wipe(config: str = QUICK) -> None:
    Path("rightseat.yaml").write_text(config + "agents: {default: {tools: ['asking:wipe']}}")
    Path("asking.py").write_text(TOOL)


def test_a_chat_keeps_its_thread_and_can_be_continued() -> None:
    Path("rightseat.yaml").write_text(QUICK)

    with terminal("chat") as chat:
        chat.wait_for("> ")
        chat.enter("Hello **there**")
        chat.wait_for("You said: “Hello there”")  # Markdown, rendered
        chat.wait_for("> ")
        chat.type(CTRL_D)
        assert chat.wait_for_end() == 0
    found = re.search(r"Continue with: rightseat chat --thread (thread_\w+)", chat.shown)
    assert found
    with terminal("chat", "--thread", found[1]) as chat:
        chat.wait_for("> ")
        chat.enter("And again")
        chat.wait_for("You said: “And again”")
        chat.wait_for("> ")
        chat.type(CTRL_D)
        assert chat.wait_for_end() == 0

    (runs,) = sqlite3.connect(".rightseat/rightseat.db").execute("select count(*) from runs").fetchone()
    assert runs == 2
    assert "Traceback" not in chat.shown


def test_ctrl_c_stops_the_response_and_not_the_chat() -> None:
    Path("rightseat.yaml").write_text(SLOW)

    with terminal("chat") as chat:
        chat.wait_for("> ")
        chat.enter("One two three four five")
        chat.wait_for("You said:")
        chat.interrupt("Stopped.")
        chat.wait_for("Stopped.")
        chat.wait_for("> ")
        chat.type("half a line")
        chat.wait_for("half a line")  # readline waits for keys now
        chat.interrupt("> ")
        chat.wait_for("> ")
        chat.type(CTRL_D)
        assert chat.wait_for_end() == 0

    assert "use no file" not in chat.shown  # the end of the response
    assert "Traceback" not in chat.shown


def test_a_call_that_needs_approval_runs_after_yes_and_not_after_no() -> None:
    write_wipe()

    with terminal("chat") as chat:
        chat.wait_for("> ")
        chat.enter("wipe Ulm")
        chat.wait_for('→ wipe({"city": "Ulm"})')
        chat.wait_for("May wipe be run? [y/N]:")
        chat.enter("y")
        chat.wait_for("← wipe: gone")
        chat.wait_for("> ")
        chat.enter("wipe Bonn")
        chat.wait_for("May wipe be run? [y/N]:")
        chat.enter("n")
        chat.wait_for("← wipe: The user denied the call")
        chat.wait_for("> ")
        chat.enter("wipe Köln")
        chat.wait_for("May wipe be run? [y/N]:")
        chat.interrupt("← wipe: The user denied the call")
        chat.wait_for("← wipe: The user denied the call")
        chat.wait_for("> ")
        chat.type(CTRL_D)
        assert chat.wait_for_end() == 0


def test_a_run_that_fails_does_not_end_the_chat() -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: openai, model: m, base_url: 'http://127.0.0.1:1/v1'}}")

    with terminal("chat") as chat:
        chat.wait_for("> ")
        chat.enter("Hello")
        chat.wait_for("Error: ")
        chat.wait_for("> ")
        chat.type(CTRL_D)
        assert chat.wait_for_end() == 0


def test_a_thread_that_does_not_exist_is_an_error() -> None:
    Path("rightseat.yaml").write_text(QUICK)

    with terminal("chat", "--thread", "thread_x") as chat:
        assert chat.wait_for_end() == 1

    assert "Error: Thread 'thread_x' not found." in chat.shown


def test_chat_without_a_terminal_refers_to_ask(run: Run) -> None:
    result = run("chat")

    assert result.exit_code == 1
    assert "Without one, use `rightseat ask QUESTION`." in result.stderr


def test_ask_at_a_terminal_asks_for_approval() -> None:
    write_wipe()

    with terminal("ask", "wipe Ulm") as ask:
        ask.wait_for("May wipe be run? [y/N]:")
        ask.enter("y")
        ask.wait_for("The tool wipe returned: gone")
        assert ask.wait_for_end() == 0


def test_ctrl_c_at_a_question_ends_ask() -> None:
    write_wipe()

    with terminal("ask", "wipe Ulm") as ask:
        ask.wait_for("May wipe be run? [y/N]:")
        ask.interrupt("Aborted")
        assert ask.wait_for_end() == 1

    assert "gone" not in ask.shown
    assert "Traceback" not in ask.shown


def test_a_chat_beside_a_running_server_is_not_stored_and_prints_a_note() -> None:
    Path("rightseat.yaml").write_text(QUICK)

    with serving(), terminal("chat") as chat:
        chat.wait_for("This chat is not stored: .rightseat/rightseat.db is in use by another rightseat.")
        chat.wait_for("> ")
        chat.enter("Hello")
        chat.wait_for("You said: “Hello”")
        chat.wait_for("> ")
        chat.type(CTRL_D)
        assert chat.wait_for_end() == 0

    assert "Continue with" not in chat.shown
