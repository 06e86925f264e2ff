"""Which skips the gate allows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate import skips
from tests.gate.skips import LATE, Skip, find_unlisted, read_scenario_skips, read_skips

HELM = Skip("tests/deploy/*", re.compile("no Helm"), "Helm is in no registry", "the templates are read")


def test_a_listed_skip_is_allowed_and_any_other_one_is_not() -> None:
    skipped = [
        ("tests/deploy/test_chart.py::test_lint", "there is no Helm on this machine"),
        ("tests/deploy/test_chart.py::test_lint", "there is no Redis"),
        ("tests/stores/test_sql.py::test_lint", "there is no Helm on this machine"),
        ("tests/stores/test_sql.py::test_late", LATE),
    ]

    assert find_unlisted(skipped, [HELM]) == skipped[1:3]


def test_every_entry_says_why_and_what_shows_the_same_instead() -> None:
    for skip in read_skips():
        assert skip.why.strip()
        assert skip.instead.strip()


def test_scenarios_that_a_suite_names_itself_are_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "skips.txt").write_text("# known\nsoak-*-files*  the pools are not full yet\n")
    monkeypatch.setattr(skips, "SUITES", tmp_path)
    output = "\n".join(
        [
            "ok     soak-laptop-runs (4.0 s)",
            "skip   soak-laptop-files               12; target <= 3; the pools are not full yet",
            "skip   redis-restart-aof               there is no redis-server",
            "skip   soak-postgres-files-of-a-long-name 12; target <= 3; the pools are not full yet",
            "skip   spawn-one: llama-server was killed by SIGILL",
            "skip pooler: PgBouncer is not installed",
            "2 passed, 0 failed, 4 skipped",
        ]
    )

    assert list(read_scenario_skips("scale", output)) == [
        ("scale/redis-restart-aof", "there is no redis-server"),
        ("scale/spawn-one", "llama-server was killed by SIGILL"),
        ("scale/pooler", "PgBouncer is not installed"),
    ]


def test_a_session_with_a_skip_that_is_not_listed_fails_in_ci(tmp_path: Path) -> None:
    (tmp_path / "test_probe.py").write_text("import pytest\n\ndef test_it():\n    pytest.skip('no reason at all')\n")
    program = [sys.executable, "-m", "pytest", "-q", "-p", "tests.gate.plugin", "-p", "no:cacheprovider", str(tmp_path)]
    outcomes = {}
    for ci in ("true", ""):
        environment = {"CI": ci, "PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""}
        outcomes[ci] = subprocess.run(program, env=environment, capture_output=True, text=True, cwd=tmp_path)

    assert outcomes["true"].returncode == 1
    assert (
        "NOT LISTED in tests/skips.toml: test_probe.py::test_it was skipped: no reason at all"
        in outcomes["true"].stdout
    )
    assert outcomes[""].returncode == 0
