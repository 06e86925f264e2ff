"""The page about evaluations: the steps of its workflow run, and its tables have every scorer and every key."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from rightseat.evals.cases import Case
from rightseat.evals.scorer_options import SCORERS
from tests.docs.blocks import ROOT, read_blocks

PAGE = ROOT / "docs" / "how-to" / "evaluations.md"


def test_the_steps_of_the_workflow_run(tmp_path: Path) -> None:
    blocks = {block.title or "rightseat.yaml": block for block in read_blocks(PAGE) if block.language == "yaml"}
    for name in ("rightseat.yaml", "evals/orders.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(blocks[name].code, encoding="utf-8")
    programs = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "BASE": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    commit = "git init -qb main && git add . && git -c user.name=x -c user.email=x@example.com commit -qm x"
    subprocess.run(commit, shell=True, cwd=tmp_path, check=True)  # noqa: S602  # the test's own
    (job,) = yaml.safe_load(blocks[".github/workflows/evaluations.yml"].code)["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step and not step["run"].startswith("pip ")]
    for command in commands:
        subprocess.run(command, shell=True, cwd=tmp_path, env=environment, check=True)  # noqa: S602  # of the page
    assert len(commands) == 4
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("**no difference shown: of 2 cases")
    assert "<testcase" in (tmp_path / "evals.xml").read_text(encoding="utf-8")


def test_the_page_names_every_scorer_and_every_key_of_a_case() -> None:
    text = PAGE.read_text(encoding="utf-8")
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for cell in first for name in re.findall(r"`(\w+)", cell)}
    assert set(SCORERS) <= named
    assert set(Case.model_fields) <= named
