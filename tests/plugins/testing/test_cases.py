"""The plugins' own tests (section 13), and those of the examples (section 17, item 15)."""

import shutil
from pathlib import Path

import pytest

from rightseat.plugins import testing
from rightseat.plugins.testing import BadCases

EXAMPLES = Path(__file__).parents[3] / "examples/plugins"


@pytest.mark.parametrize("name", ["file_convert", "host_security", "sales_insight", "weather"])
async def test_section_17_15_the_cases_of_the_examples_pass(name: str) -> None:
    reports = await testing.run_all(EXAMPLES / name, allow_lib=True)

    assert {report.name: report.problems for report in reports if not report.passed} == {}
    assert len(reports) >= 2


async def failing(folder: Path, text: str) -> list[str]:
    shutil.copytree(EXAMPLES / "weather", folder / "weather")
    (folder / "weather/tests/cases.yaml").write_text(text)
    (report,) = await testing.run_all(folder / "weather")
    return list(report.problems)


CASE = """
- name: one
  flow: forecast
  question: 杭州 3
  model: { start: { city: 杭州, days: 3 }, answer: Fine. }
  http:
    - request: { method: GET, url: "http://127.0.0.1:39182/v1/forecast?city=杭州&days=3&key=${secret:WEATHER_KEY}" }
      reply: { status: 200, json: { city: 杭州, days: [] } }
  expect: { status: succeeded, path: [start, end], answer_contains: Fine }
"""


async def test_a_case_that_passes_has_no_problems(tmp_path: Path) -> None:
    assert await failing(tmp_path, CASE) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("status: succeeded", "status: failed", "status: expected 'failed', was 'succeeded'"),
        ("path: [start, end]", "path: [start]", "path: expected ['start'], was ['start', 'end']"),
        ("answer_contains: Fine", "answer_contains: Rain", "the answer has no 'Rain': 'Fine.'"),
        ("days=3&", "days=4&", "request 1: expected http://127.0.0.1:39182/v1/forecast?city=杭州&days=4"),
        ("method: GET", "method: POST", "request 1: expected POST, was GET"),
        ("answer: Fine.", "other: x", "the model call 1 for 'answer' is not listed"),
        ("expect: {", "expect: { not_in_prompts: [杭州],", "'杭州' is in a prompt"),
        ("expect: {", "expect: { not_in_trace: [杭州],", "'杭州' is in the trace"),
        ("expect: {", "expect: { model_calls: { start: 2 },", "model_calls of start: expected 2, was 1"),
        ("expect: {", "expect: { artifacts: [x],", "artifacts: expected ['x'], was []"),
        ("expect: {", "expect: { missing: [x],", "missing: expected ['x'], was []"),
        ("expect: {", "expect: { error_code: timeout,", "error_code: expected 'timeout', was None"),
        ("expect: {", "expect: { chart: { rows: 1 },", "chart: expected one, there is none"),
        ("flow: forecast", "flow: nothing", "there is no flow 'nothing'; there are current_weather, forecast"),
    ],
)
async def test_a_case_that_fails_lists_the_differences(tmp_path: Path, old: str, new: str, problem: str) -> None:
    problems = await failing(tmp_path, CASE.replace(old, new, 1))

    assert any(one.startswith(problem) for one in problems), problems


async def test_an_unexpected_request_and_a_missing_request_fail_the_case(tmp_path: Path) -> None:
    missing, _, _ = CASE.partition("  http:")
    expect = "  expect: { status: succeeded }\n"
    unlisted = await failing(tmp_path / "a", missing + expect)
    unsent = await failing(
        tmp_path / "b",
        CASE.replace("  expect:", "    - request: { method: GET, url: 'http://127.0.0.1:39182/v1/now' }\n  expect:"),
    )

    assert any(one.startswith("a request that is not listed: GET ") for one in unlisted)
    assert unsent == ["a request was not sent: GET http://127.0.0.1:39182/v1/now"]


@pytest.mark.parametrize("text", ["- {name: x}", "x: 1", "- {name: a, flow: b, question: c, hope: 1}", "["])
async def test_a_file_that_is_no_list_of_cases_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadCases):
        await failing(tmp_path, text)


async def test_a_plugin_without_cases_has_none(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "weather", tmp_path / "weather")
    (tmp_path / "weather/tests/cases.yaml").unlink()

    assert await testing.run_all(tmp_path / "weather") == []
