"""Which tests `just check` runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.check import ALWAYS, ROOT, find_tests, plan_everything, plan_tests, remove_nested


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


@pytest.mark.parametrize(
    ("codes", "verdict", "code"),
    [
        ({}, "passed", 0),
        ({"pytest": 5}, "passed", 0),  # no test was selected
        ({"mypy": 1, "ruff": 1}, "failed: ruff check, ruff format, mypy", 1),
    ],
)
def test_a_run_tests_what_changed_and_its_last_line_names_what_failed(
    tmp_path: Path, codes: dict[str, int], verdict: str, code: int
) -> None:
    """In a project that has the helpers of ours, and programs that print what they were called with."""
    project, programs = tmp_path / "project", tmp_path / "programs"
    shutil.copytree(ROOT / "tests" / "gate", project / "tests" / "gate")
    shutil.copytree(ROOT / "requirements", project / "requirements")
    for helper in (ROOT / "tests").glob("*.py"):
        shutil.copy(helper, project / "tests")
    subprocess.run(["git", "init", "--quiet", project], check=True)
    for command in (["add", "."], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@test", *command], cwd=project, check=True)
    for folder in ("src/rightseat/faces/ai_sdk", "tests/faces/ai_sdk"):
        (project / folder).mkdir(parents=True)
    (project / "src/rightseat/faces/ai_sdk/encoder.py").touch()
    programs.mkdir()
    for name in ("ruff", "lint-imports", "mypy", "pytest"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*"\nexit {codes.get(name, 0)}\n')
        (programs / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    ended = subprocess.run(
        [sys.executable, "-m", "tests.gate.check"], cwd=project, env=environment, capture_output=True, text=True
    )

    lines = [line.strip() for line in ended.stdout.splitlines()]
    assert any(line.startswith("pytest ") and " tests/faces/ai_sdk " in f"{line} " for line in lines)
    assert {"ruff check", "ruff format --check", "lint-imports --no-logo", "mypy"} <= set(lines)
    assert lines[-1].startswith(f"{verdict} in ")
    assert ended.returncode == code
