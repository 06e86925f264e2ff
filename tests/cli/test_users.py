"""`rightseat users`, where there is nothing to find. `tests/test_deletion.py` has what it finds, and deletes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rightseat.cli import main
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def configuration() -> None:
    Path("rightseat.yaml").write_text("faces: [{type: openbb}]\n")


def test_nothing_is_deleted_before_the_operator_says_yes(run: Run) -> None:
    result = CliRunner().invoke(main, ["users", "forget", "alice"], input="n\n")

    assert result.exit_code == 1
    assert "Delete all that is kept of 'alice'? This cannot be undone." in result.output
    assert not Path(".rightseat").exists()


def test_a_user_of_whom_nothing_is_kept_can_be_forgotten(run: Run) -> None:
    result = run("users", "forget", "alice", "--yes")

    assert result.output == "Deleted of 'alice': 0 threads, 0 runs, 0 files, 0 feedback.\n"


def test_an_archive_has_the_name_of_its_user_and_replaces_no_other(run: Run) -> None:
    first = run("users", "export", "../alice@example.com")
    second = run("users", "export", "../alice@example.com")

    assert first.output == (
        "alice-example.com.zip has all that is kept of '../alice@example.com': 0 threads, 0 files, 0 feedback.\n"
    )
    assert second.exit_code == 1
    assert second.output == "Error: alice-example.com.zip cannot be made: File exists.\n"


def test_threads_in_the_memory_of_a_server_are_out_of_reach_and_leave_no_archive(run: Run) -> None:
    Path("rightseat.yaml").write_text("threads: {type: memory}\n")

    result = run("users", "export", "alice")

    assert result.exit_code == 1
    assert "are in the memory of the server alone" in result.output
    assert not list(Path().glob("*.zip"))
