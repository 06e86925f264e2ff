"""`rightseat users`, where there is nothing to find. `tests/test_deletion.py` has what it finds, and deletes."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from rightseat.cli import main
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def configuration() -> None:
    Path("rightseat.yaml").write_text("faces: [{type: openbb}]\n")


def test_nothing_is_deleted_before_the_operator_confirms(run: Run) -> None:
    result = CliRunner().invoke(main, ["users", "forget", "alice"], input="n\n")

    assert result.exit_code == 1
    assert "Delete all data of 'alice'? This cannot be undone." in result.output
    assert not Path(".rightseat").exists()


def test_a_user_without_stored_data_can_be_deleted(run: Run) -> None:
    result = run("users", "forget", "alice", "--yes")

    assert (
        result.output == "Deleted the data of 'alice': 0 threads, 0 runs, 0 files, 0 feedback, 0 memories, "
        "0 annotations, 0 recordings, 0 model calls, 0 usage rows.\n"
    )


def test_an_archive_is_named_after_its_user_and_overwrites_no_file(run: Run) -> None:
    first = run("users", "export", "../alice@example.com")
    second = run("users", "export", "../alice@example.com")

    assert first.output == (
        "Wrote the data of '../alice@example.com' to alice-example.com.zip: "
        "0 threads, 0 files, 0 feedback, 0 memories, 0 annotations, 0 recordings, 0 model calls, 0 usage rows.\n"
    )
    assert second.exit_code == 1
    assert second.output == "Error: alice-example.com.zip cannot be created: File exists.\n"


def test_threads_in_the_memory_of_a_server_cannot_be_exported(run: Run) -> None:
    Path("rightseat.yaml").write_text("threads: {type: memory}\n")

    result = run("users", "export", "alice")

    assert result.exit_code == 1
    assert "are only in the memory of the server" in result.output
    assert not list(Path().glob("*.zip"))
