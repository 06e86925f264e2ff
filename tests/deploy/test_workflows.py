"""The workflows of GitHub: actions are pinned by commit, and jobs have the permissions that they use."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

GITHUB = Path(__file__).parents[2] / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
USES = re.compile(r"^ *(?:- )?uses: (\S+)(.*)$", re.MULTILINE)
PINNED = re.compile(r"[^@]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")

each = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)


def test_every_action_is_pinned_by_its_commit_or_is_a_named_exception() -> None:
    config = yaml.safe_load((GITHUB / "zizmor.yml").read_text())
    exceptions = set(config["rules"]["unpinned-uses"]["config"]["policies"]) - {"*"}
    used = ["".join(match) for file in WORKFLOWS for match in USES.findall(file.read_text())]

    unpinned = {use.partition("@")[0] for use in used if not PINNED.fullmatch(use)}
    assert unpinned == exceptions


def test_an_action_has_one_version() -> None:
    used = {"".join(match) for file in WORKFLOWS for match in USES.findall(file.read_text())}

    assert len(used) == len({use.partition("@")[0] for use in used})


@each
def test_a_workflow_may_only_read_unless_a_job_says_otherwise(file: Path) -> None:
    assert read(file)["permissions"] in ({}, {"contents": "read"})


@each
def test_every_job_has_a_limit_of_time(file: Path) -> None:
    assert [name for name, job in read(file)["jobs"].items() if "timeout-minutes" not in job] == []


def test_a_job_that_can_publish_installs_no_package_and_keeps_no_credentials() -> None:
    jobs = read(GITHUB / "workflows" / "release.yml")["jobs"]

    publishing = [job for job in jobs.values() if "write" in job["permissions"].values()]
    assert len(publishing) == 3
    for job in publishing:
        assert not [step for step in job["steps"] if re.search(r"\b(pip|pipx|npm)\b", step.get("run", ""))]
    checkouts = [step for job in jobs.values() for step in job["steps"] if "actions/checkout@" in step.get("uses", "")]
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found
