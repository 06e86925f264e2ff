"""Which tests `just check` runs, and what it makes of the programs that it starts."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gate import check
from tests.gate.check import ALWAYS, ROOT, find_tests, plan_everything, plan_tests, remove_nested

PROGRAM = """#!/bin/sh
echo "$(basename "$0") $* profile=$HYPOTHESIS_PROFILE bytecode=${PYTHONDONTWRITEBYTECODE:-kept}" >>PLACE
exit STATUS
"""
Ended = Callable[..., list[str]]
"""Write programs that only note how they are called and end with these statuses, by default 0; return the notes."""


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """A repository in which one file of a face was added."""
    subprocess.run(["git", "init", "--quiet"], check=True)
    commit = ["commit", "--quiet", "--allow-empty", "--message", "Begin"]
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@localhost", *commit], check=True)
    changed = tmp_path / "src" / "rightseat" / "faces" / "ai_sdk" / "encoder.py"
    changed.parent.mkdir(parents=True)
    changed.touch()
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr(check, "TYPES", ("mypy",))
    monkeypatch.setattr(sys, "argv", ["check"])

    def end(**statuses: int) -> list[str]:
        notes = tmp_path / "notes"
        notes.unlink(missing_ok=True)
        (tmp_path / "bin").mkdir(exist_ok=True)
        for name in ("ruff", "lint-imports", "pytest", "mypy"):
            program = tmp_path / "bin" / name
            status = str(statuses.get(name.replace("-", "_"), 0))
            program.write_text(PROGRAM.replace("PLACE", str(notes)).replace("STATUS", status))
            program.chmod(0o755)
        assert check.main() == bool(set(statuses.values()) - {5})
        return sorted(notes.read_text().splitlines())

    return end


def test_a_change_is_linted_and_checked_and_its_tests_run(ended: Ended, capfd: pytest.CaptureFixture[str]) -> None:
    called = ended()

    tests = "-q -n auto --dist loadfile -m not clients and not servers and not serial and not night and not backends"
    paths = "tests/faces/ai_sdk tests/test_class_names.py tests/test_dependencies.py"
    assert [line.removesuffix(" profile=check bytecode=kept") for line in called] == [
        "lint-imports --no-logo",
        "mypy ",
        f"pytest {tests} {paths}",
        "ruff check",
        "ruff format --check",
    ]
    printed = capfd.readouterr().out
    assert f"tests of {paths}" in printed
    assert printed.splitlines()[-1].startswith("passed in ")


def test_each_program_that_fails_is_named(ended: Ended, capfd: pytest.CaptureFixture[str]) -> None:
    ended(mypy=2, lint_imports=1, pytest=1)

    assert capfd.readouterr().out.splitlines()[-1].startswith("failed: lint-imports --no-logo, pytest -q, mypy in ")


def test_a_change_without_tests_passes(ended: Ended, capfd: pytest.CaptureFixture[str]) -> None:
    ended(pytest=5)

    assert capfd.readouterr().out.splitlines()[-1].startswith("passed in ")


def test_code_has_its_tests_in_the_folder_or_file_of_the_same_name() -> None:
    assert list(find_tests("src/rightseat/faces/ai_sdk/encoder.py", ROOT)) == ["tests/faces/ai_sdk"]
    assert list(find_tests("src/rightseat/models/openai.py", ROOT)) == ["tests/models/test_openai.py"]
    assert list(find_tests("src/rightseat/stores/migrations/versions/0001_first.py", ROOT)) == ["tests/stores"]
    assert list(find_tests("src/rightseat/erasure.py", ROOT)) == ["tests/test_erasure.py"]
    assert list(find_tests("src/rightseat/py.typed", ROOT)) == []


def test_a_helper_of_tests_has_the_tests_of_its_folder(tmp_path: Path) -> None:
    assert list(find_tests("tests/stores/conftest.py", ROOT)) == ["tests/stores"]
    assert list(find_tests("tests/stores/test_sql.py", ROOT)) == ["tests/stores/test_sql.py"]
    assert list(find_tests("tests/stores/test_that_was_deleted.py", ROOT)) == ["tests/stores"]
    assert list(find_tests("tests/acceptance/openbb/lib/runner.py", ROOT)) == []


def test_a_change_of_the_core_runs_the_fast_tests_of_everything() -> None:
    assert plan_tests(["src/rightseat/core/events.py"], ROOT) == plan_everything()
    assert plan_tests(["README.md"], ROOT).paths == ["tests/docs", *ALWAYS]


def test_the_fast_tests_leave_out_folders_with_servers_and_databases() -> None:
    paths = plan_everything().paths

    assert "tests/core" in paths
    assert "tests/stores" not in paths
    assert "--ignore=tests/models/completion" in paths


def test_a_path_in_a_folder_that_is_named_too_is_left_out() -> None:
    assert remove_nested(["tests/faces", "tests/faces/ai_sdk", "tests/test_app.py"]) == [
        "tests/faces",
        "tests/test_app.py",
    ]
