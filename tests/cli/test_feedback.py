"""`rightseat feedback`, in a folder with a configuration and what users said."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.operations.feedback import JudgedAnswer, Judgement
from rightseat.stores import sql
from tests.cli.conftest import Run

OLD = {"at": "2026-11-01T10:00:00.000Z", "vote": "up", "user_prompt": "Price of AAPL?", "user": "anna"}
NEW = {"at": "2026-11-02T10:00:00.000Z", "vote": -1, "user_comment": "Wrong\x1b[2J year", "user_prompt": "x" * 200}


@pytest.fixture
def file() -> Path:
    """Of OpenBB's votes, from an earlier version."""
    Path("rightseat.yaml").write_text("faces: [{type: openbb}]\n")
    Path(".rightseat").mkdir()
    return Path(".rightseat/openbb-feedback.jsonl")


def give(*votes: tuple[str, Judgement]) -> None:
    async def write() -> None:
        async with sql.build_beside(sql.Options(path=Path(".rightseat/rightseat.db"))) as threads:
            for agent, judgement in votes:
                answer = JudgedAnswer(key=agent, owner="anna", agent=agent, run=f"run-{agent}")
                await threads.feedback.give(answer, judgement, "copilotkit")

    asyncio.run(write())


def lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_feedback_is_listed_oldest_first(run: Run, file: Path) -> None:
    file.with_name("openbb-feedback.jsonl.1").write_text(json.dumps(OLD) + "\n")
    file.write_text(json.dumps(NEW) + "\n{broken\n")
    give(("clerk", Judgement("down", "Too\nslow", ("slow",))))

    result = run("feedback")

    *files, stored = result.stdout.splitlines()
    assert files == [
        '2026-11-01T10:00:00.000Z  up  anna  openbb  "Price of AAPL?"',
        f'2026-11-02T10:00:00.000Z  down  anyone  openbb  "{"x" * 99}…"  "Wrong [2J year"',
    ]
    assert stored.partition("  ")[2] == 'down  anna  clerk  "Too slow"  #slow'
    assert "line 2 is not readable: {broken" in result.stderr


def test_feedback_as_json_has_one_form_whatever_it_is_from(run: Run, file: Path) -> None:
    file.write_text(json.dumps(NEW) + "\n" + json.dumps(OLD | {"row": "feedback_1"}) + "\n")
    give(("clerk", Judgement("up", None, ("fast",))))

    from_file, stored = lines(run("feedback", "--json").stdout)

    assert from_file.keys() == stored.keys()
    assert (from_file["value"], from_file["owner"], from_file["run"], from_file["id"]) == ("down", "anyone", None, "")
    assert (stored["value"], stored["owner"], stored["run"], stored["tags"]) == ("up", "anna", "run-clerk", ["fast"])


def test_feedback_is_filtered(run: Run, file: Path) -> None:
    file.write_text(json.dumps(OLD) + "\n")
    give(("clerk", Judgement("up")), ("judge", Judgement("down", None, ("old",))))

    def count(*options: str) -> int:
        return len(run("feedback", "--json", *options).stdout.splitlines())

    assert (count(), count("--value", "up"), count("--agent", "judge"), count("--tag", "old")) == (3, 2, 1, 1)
    assert (count("--through", "openbb"), count("--user", "ben"), count("--since", "1h")) == (1, 0, 2)


def test_more_than_a_page_of_feedback_is_printed(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightseat.cli.feedback.PAGE_ROWS", 2)
    give(*((f"agent{number}", Judgement("up")) for number in range(5)))

    assert [line["agent"] for line in lines(run("feedback", "--json").stdout)] == [f"agent{n}" for n in range(5)]


def test_without_feedback_a_note_is_printed_to_stderr(run: Run, file: Path) -> None:
    result = run("feedback")

    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("No such feedback is stored in ")


def test_threads_in_memory_are_reported(run: Run) -> None:
    Path("rightseat.yaml").write_text("threads: {type: memory}\n")

    result = run("feedback")

    assert result.exit_code == 1
    assert "only in the memory of the server" in result.stderr


def test_the_file_is_deprecated_and_works(run: Run) -> None:
    Path("rightseat.yaml").write_text("faces: [{type: openbb, feedback_file: votes.jsonl}]\n")

    result = run("check")

    assert result.exit_code == 0
    assert "faces[0].feedback_file is deprecated: votes are stored beside the threads" in result.stderr
