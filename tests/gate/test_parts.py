"""Gate and night are scripts with parts, and GitHub's workflows run each part."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SUITES = {path.parent.name for path in (ROOT / "tests" / "acceptance").glob("*/run")}
GATE = {"lint", "types", "tests", "serial", "build", "docs", "package", "simulations"}
NIGHT = {"entries", "tests", "simulations", "cycles", "fuzz", "newest", "vllm", "auto"}


def test_the_workflow_of_each_change_runs_every_part_of_the_gate() -> None:
    cells = read_jobs("ci.yml")["part"]["strategy"]["matrix"]["include"]

    assert {part for cell in cells for part in cell["parts"].split()} == GATE | SUITES
    assert {cell["python"] for cell in cells if "tests" in cell["parts"].split()} == {"3.11", "3.14"}


def test_the_workflow_of_each_night_runs_every_part_of_the_night() -> None:
    parts = read_jobs("nightly.yml")["part"]["strategy"]["matrix"]["part"]

    assert {part for cell in parts for part in cell.split()} == NIGHT | SUITES


def test_the_night_plays_more_than_two_hundred_kills_and_outages_of_a_fleet() -> None:
    played = 0
    for suite in ("faults", "operations"):
        options, *scenarios = (ROOT / "tests" / "acceptance" / suite / "cycles").read_text().splitlines()
        played += int(re.findall(r"--cycles (\d+)", options)[0]) * len(scenarios)

    assert played > 200


def test_suites_that_run_two_at_a_time_exist() -> None:
    names = re.search(r"^concurrent=\((.*)\)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)

    assert names is not None
    assert set(names[1].split()) < SUITES


@pytest.mark.parametrize("script", ["run", "nightly"])
def test_a_part_that_does_not_exist_is_refused(script: str) -> None:
    ended = subprocess.run(["bash", ROOT / ".ci" / script, "openbb", "nothing"], capture_output=True, text=True)

    assert ended.returncode == 2
    assert "There is no part 'nothing'." in ended.stdout


def read_jobs(name: str) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text())["jobs"]
    return jobs
