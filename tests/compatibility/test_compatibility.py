"""The page of compatibility has the versions that the tests are locked to, and the results that were recorded."""

import json
import re
from pathlib import Path

import pytest

from tests.compatibility import newest, page
from tests.compatibility.locked import AGENTS, CLIENTS, ROOT, SUITES, TESTS, Client, read_lock

NIGHTLY = ROOT / ".ci" / "nightly"
CI_LOG = """== tests
============================= test session starts ==============================
=========== 5120 passed, 31 skipped in 912.40s (0:15:12) ===========
-- tests: 920 s
== serial tests
=========== 12 passed in 60.10s ===========
== acceptance: openbb
ok      text
FAIL    table: no rows
40 passed, 1 failed, 2 beyond
-- acceptance: openbb: 20 s
== acceptance: copilotkit-current
ok      api-info
== FAILED: acceptance: copilotkit-current (exit 1) after 1000 s
"""


@pytest.mark.parametrize("client", [*CLIENTS, *AGENTS], ids=lambda client: client.name)
def test_every_version_of_the_page_is_exact(client: Client) -> None:
    for name in client.packages:
        package, version = read_lock(ROOT / client.lock)[name]

        assert version[0].isdigit(), "a range is no version that was tried"
        assert f"`{package}` " in page.PAGE.read_text()
    assert client.judge == TESTS or (SUITES / client.judge / "run").exists()
    assert set(client.follows) <= set(client.packages)


def test_a_lock_is_read_for_the_oldest_python(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(
        "crewai[x]==1.1 ; python_full_version >= '3.14' \\\n    --hash=sha256:0\n"
        "crewai==1.9 ; python_full_version < '3.14' \\\n    --hash=sha256:0\nother>=2\n"
    )

    assert read_lock(file) == {"crewai": ("crewai", "1.9")}


def test_an_alias_of_npm_is_the_package_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    file.write_text(json.dumps({"dependencies": {"@a/b": "1.0.0", "old": "npm:@a/b@0.9.0"}}))

    assert read_lock(file) == {"@a/b": ("@a/b", "1.0.0"), "old": ("@a/b", "0.9.0")}


def test_results_are_read_from_the_output_of_ci() -> None:
    assert page.read_ci(CI_LOG, "2026-11-16") == {
        "tests": {"date": "2026-11-16", "form": "whole", "line": "5120 passed, 31 skipped"},
        "openbb": {"date": "2026-11-16", "form": "whole", "line": "40 passed, 1 failed, 2 beyond"},
    }


def test_tests_that_were_repeated_alone_count_with_the_first_run() -> None:
    log = """== tests
=========== 3 failed, 5118 passed, 31 skipped in 912.40s (0:15:12) ===========
repeated alone: tests/test_a.py::test_a
=========== 1 failed, 2 passed, 5149 deselected in 6.02s ===========
-- tests: 930 s
"""
    assert page.read_ci(log, "2026-11-16")["tests"]["line"] == (
        "1 failed, 5120 passed (2 when repeated alone), 31 skipped"
    )

    log = log.replace("1 failed, 2 passed", "3 passed")
    assert page.read_ci(log, "2026-11-16")["tests"]["line"] == "5121 passed (3 when repeated alone), 31 skipped"


def test_a_suite_that_did_not_reach_its_end_is_not_recorded() -> None:
    with pytest.raises(SystemExit, match="openbb did not reach its end"):
        page.read_suite("ok  text\n", "openbb", "2026-11-16")


def test_a_client_that_was_not_tried_is_said_to_be() -> None:
    assert "| not recorded yet |" in page.write_page({})


def test_a_suite_is_locked_to_the_newest_of_those_that_it_follows(tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    file.write_text(json.dumps({"dependencies": {"@a/b": "1.0.0", "new": "npm:@a/b@1.1.0", "@c/d": "3.0.0"}}))

    newest.update_npm(file, ("new", "@c/d"), {"@a/b": "2.0.0", "@c/d": "3.5.0"}.__getitem__)

    assert json.loads(file.read_text())["dependencies"] == {
        "@a/b": "1.0.0",
        "new": "npm:@a/b@2.0.0",
        "@c/d": "3.5.0",
    }


def test_a_version_that_npm_cannot_install_changes_nothing_and_npm_says_why(tmp_path: Path) -> None:
    file = tmp_path / "package.json"
    file.write_text(json.dumps({"dependencies": {"missing": "file:missing.tgz"}}))
    content = file.read_bytes()

    with pytest.raises(newest.Uninstallable, match=r"missing\.tgz"):
        newest.update([(file, ())])

    assert file.read_bytes() == content


def test_the_reason_of_npm_is_the_line_that_names_the_package() -> None:
    printed = (
        "npm warn old\nnpm error code ETARGET\nnpm error notarget No matching version found for @a/core@^0.3.21.\n"
    )

    assert newest.find_reason(printed) == "No matching version found for @a/core@^0.3.21."


def test_requirements_of_a_suite_lose_only_the_versions_that_are_followed() -> None:
    assert newest.unpin("httpx>=0.27,<1\nopenbb-ai==2.2.0\n", ("openbb-ai",)) == "httpx>=0.27,<1\nopenbb-ai\n"


def test_every_lock_file_of_pip_that_is_followed_is_compiled_from_another_file() -> None:
    locks = [ROOT / one.lock for one in CLIENTS if one.follows and one.lock.endswith(".txt")]

    assert locks
    assert all(lock.with_suffix(".in").exists() for lock in locks)


def test_the_workflow_tries_every_suite_that_follows_a_client() -> None:
    tried = re.search(r"^newest=\((.*?)\)", NIGHTLY.read_text(), re.MULTILINE)

    assert tried is not None
    assert set(tried[1].split()) == {client.judge for client in CLIENTS if client.follows}
