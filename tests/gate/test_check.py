"""Which tests `just check` runs."""

from pathlib import Path

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
