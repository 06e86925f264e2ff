"""The page about flows says what the code does."""

import re
import shutil
from pathlib import Path
from typing import get_args

from rightseat.plugins import testing
from rightseat.plugins.expressions import templates
from rightseat.plugins.results import StepErrorCode
from rightseat.plugins.testing.cases import ExpectedRun

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/flows.md").read_text()


def test_the_page_has_every_error_and_every_placeholder() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Errors")[2].partition("##")[0], re.M) == [
        *get_args(StepErrorCode)
    ]
    assert [name for name in (*templates.PLAIN_NAMES, *templates.ERROR_NAMES) if f"`{{{name}}}`" not in PAGE] == []


def test_the_page_has_all_that_a_case_may_expect() -> None:
    assert [name for name in ExpectedRun.model_fields if f"`{name}`" not in PAGE] == []


async def test_the_case_on_the_page_passes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples/plugins/weather", tmp_path / "weather")
    case = PAGE.partition('title="tests/cases.yaml"\n- name')[2].partition("```")[0]
    (tmp_path / "weather/tests/cases.yaml").write_text(f"- name{case}")

    assert [report.problems for report in await testing.run_all(tmp_path / "weather")] == [()]
