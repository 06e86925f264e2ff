"""`rightseat threads` lists, exports and deletes threads. `tests/test_deletion.py` does so beside a server."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from rightseat.cli import main
from rightseat.copilot import Copilot
from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def configuration() -> None:
    Path("rightseat.yaml").write_text("models: {default: {type: scripted, chunk_delay: 0}}\n")


def chat(thread_id: str, text: str = "Hi", owner: str = "alice") -> None:
    async def finish() -> None:
        copilot = Copilot.from_file("rightseat.yaml")
        async with copilot.opened():
            asked = Ask(messages=(user(text),), thread_id=thread_id, principal=Principal(owner))
            await copilot.runtime.start(asked)
            async for _ in copilot.runtime.follow(asked.run_id):
                pass

    asyncio.run(finish())


def test_threads_of_all_users_are_listed_last_used_first(run: Run) -> None:
    chat("t1", "What is the weather?")
    chat("t2", owner="bob")

    listed = run("threads", "list").stdout.splitlines()
    bobs = run("threads", "list", "--user", "bob", "--json").stdout.splitlines()

    assert listed[0].split() == ["THREAD", "TITLE", "USER", "AGENT", "UPDATED", "(UTC)", "RUNS"]
    assert [line.split()[0] for line in listed[1:]] == ["t2", "t1"]
    assert "  What is the weather?  alice  default  " in listed[2]
    assert [json.loads(line)["id"] for line in bobs] == ["t2"]


def test_a_long_list_prints_the_command_for_the_next_page(run: Run) -> None:
    chat("t 1")
    chat("t 2")

    first = run("threads", "list", "--limit", "1", "--json")
    cursor = first.stderr.partition("--after ")[2].strip().strip("'")
    second = run("threads", "list", "--limit", "1", "--json", "--after", cursor)

    assert cursor.endswith("/t 2")
    assert json.loads(second.stdout)["id"] == "t 1"
    assert second.stderr == ""


def test_escape_sequences_in_user_text_are_not_printed(run: Run) -> None:
    chat("t\x9b2J1", "a\x1b[31mred\x07")

    listed = run("threads", "list").stdout

    assert "t 2J1" in listed
    assert "a [31mred" in listed
    assert not {"\x1b", "\x9b"} & set(listed)


def test_a_thread_is_exported_as_json(run: Run) -> None:
    chat("t1", "What is the weather?")

    exported = json.loads(run("threads", "export", "t1").stdout)

    question, answer = exported["thread"]["messages"]
    assert question["parts"][0]["text"] == "What is the weather?"
    assert answer["role"] == "assistant"
    assert exported["thread"]["summary"]["name"] == "What is the weather?"


def test_nothing_is_deleted_before_the_operator_confirms(run: Run) -> None:
    chat("t1")

    refused = CliRunner().invoke(main, ["threads", "delete", "t1"], input="n\n")
    confirmed = CliRunner().invoke(main, ["threads", "delete", "t1"], input="y\n")
    again = run("threads", "delete", "t1", "--yes")

    assert refused.exit_code == 1
    assert "Delete the thread 't1' ('Hi', of 'alice') with 1 runs? This cannot be undone." in refused.output
    assert confirmed.output.endswith("Deleted the thread 't1' with 1 runs.\n")
    assert again.output == "Error: Thread 't1' not found.\n"


def test_an_empty_list_names_the_store_that_was_read(run: Run) -> None:
    result = run("threads", "list")

    assert result.stderr == "No thread is stored in .rightseat/rightseat.db.\n"


@pytest.mark.parametrize("arguments", [("export", "t"), ("delete", "t", "--yes"), ("list",)], ids=lambda one: one[0])
def test_threads_in_the_memory_of_a_server_cannot_be_listed(run: Run, arguments: tuple[str, ...]) -> None:
    Path("rightseat.yaml").write_text("threads: {type: memory}\n")

    result = run("threads", *arguments)

    assert result.exit_code == 1
    assert "are only in the memory of the server" in result.output
