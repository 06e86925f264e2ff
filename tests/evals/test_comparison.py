"""Comparisons and reports of results."""

from collections.abc import Sequence
from xml.etree import ElementTree

import msgspec
import pytest

from rightseat.cli.eval.reports import format_comparison, format_result
from rightseat.core.types import JsonValue
from rightseat.evals.attempts import Attempt, Score
from rightseat.evals.cases import Case, Dataset
from rightseat.evals.comparison import compare
from rightseat.evals.results import (
    CaseResult,
    EvalResult,
    Variant,
    fingerprint_case,
    make_attempt_result,
    make_case_result,
    make_totals,
)

EVIL = "| x | [click](http://evil.test) <img src=x> @everyone `y` \x1b[31m\n\n# Title ]]>"


def case_result(
    name: str, passes: Sequence[bool | None], *, text: str = "yes", ask: str = "Hello", dataset: str = "d"
) -> CaseResult:
    """None is an attempt with an error."""
    attempts = [
        make_attempt_result(
            Attempt(case=name, number=number, text=text, cost=0.25, error="HTTP 500" if passed is None else None),
            [] if passed is None else [Score("equals", passed, "" if passed else f"got {text}")],
        )
        for number, passed in enumerate(passes, 1)
    ]
    case = Case(name=name, ask=ask)
    return make_case_result(dataset, Dataset(version=1, cases=(case,)), case, attempts)


def result(cases: Sequence[CaseResult], **settings: JsonValue) -> EvalResult:
    return EvalResult(
        id="eval_1",
        label="main",
        at="2026-11-19T12:00:00+00:00",
        repeat=1,
        complete=True,
        stopped=None,
        variant=Variant(config="rightseat.yaml", settings=settings),
        totals=make_totals(len(cases), cases, 1.5, 2.0),
        cases=cases,
    )


def pair(both: int, only_a: int, only_b: int, neither: int) -> tuple[EvalResult, EvalResult]:
    groups = [(both, True, True), (only_a, True, False), (only_b, False, True), (neither, False, False)]
    passes = [(a, b) for count, a, b in groups for _ in range(count)]
    return (
        result([case_result(f"c{number}", [a]) for number, (a, _) in enumerate(passes)]),
        result([case_result(f"c{number}", [b]) for number, (_, b) in enumerate(passes)]),
    )


def test_better_is_shown_by_an_exact_test() -> None:
    a, b = pair(15, 1, 8, 6)
    found = compare(a, b)
    counts = (found.cases, found.both_passed, found.only_a_passed, found.only_b_passed, found.neither_passed)
    assert counts == (30, 15, 1, 8, 6)
    assert found.p_value == pytest.approx(20 / 512)
    assert found.verdict == "better"
    assert found.interval[0] > 0
    assert compare(b, a).verdict == "worse"


def test_no_difference_is_shown_and_how_many_cases_would() -> None:
    found = compare(*pair(10, 0, 5, 0))
    assert found.verdict == "no difference shown"
    assert "6 of 6 cases that differ would have to agree" in found.sentence
    a, _ = pair(4, 0, 0, 2)
    same = compare(a, a)
    assert (same.p_value, same.difference, same.verdict, same.changed) == (1.0, 0.0, "no difference shown", [])


def test_the_case_is_the_unit_of_repetitions() -> None:
    a = result([case_result(f"c{number}", [False] * 3) for number in range(6)])
    b = result([case_result(f"c{number}", [True, False, False]) for number in range(6)])
    found = compare(a, b)
    assert found.p_value == pytest.approx(2 / 64)
    assert found.difference == pytest.approx(1 / 3)
    assert all(case.flaky for case in b.cases)


def test_cases_that_cannot_be_compared_are_named() -> None:
    a = result([case_result(name, [True]) for name in ("kept", "gone", "edited", "down")])
    edited = case_result("edited", [True], ask="Bye")
    b = result([case_result("kept", [True]), edited, case_result("new", [True]), case_result("down", [None])])
    found = compare(a, b)
    assert (found.cases, found.only_in_a, found.only_in_b) == (1, ["gone"], ["new"])
    assert (found.edited, found.not_judged) == (["edited"], ["down"])
    text = format_comparison(found, "table")
    assert "Not compared, with an error: down." in text
    assert compare(a, result([])).verdict == "no difference shown"


def test_the_settings_that_differ_are_named() -> None:
    a = result([], agents={"default": {"model": "a", "tools": ["x"]}})
    b = result([], agents={"default": {"model": "b", "tools": ["x"], "max_turns": 3}})
    assert compare(a, b).variant_difference == ['agents.default.model: "a" → "b"', "agents.default.max_turns: null → 3"]


def test_cost_tokens_and_latency_are_compared_in_the_same_way() -> None:
    a, b = pair(3, 0, 0, 0)
    figure = compare(a, b).figures["cost"]
    assert (figure.a, figure.b, figure.p_value) == (0.25, 0.25, 1.0)


def test_texts_of_a_model_are_no_markup_in_markdown() -> None:
    a = result([case_result("bad", [True]), case_result("good", [True])])
    b = result([case_result("bad", [False], text=EVIL), case_result("good", [True])])
    for text in (format_comparison(compare(a, b), "markdown"), format_result(b, "markdown")):
        assert "| d/bad |".replace("/", "\\/") in text
        for markup in ("\n# Title", "](http", "<img", "@everyone", "`y`", "\x1b", "://"):
            assert markup not in text


def test_a_terminal_gets_no_control_characters() -> None:
    made = result([case_result("bad", [False], text=EVIL)])
    for text in (format_result(made, "table"), format_comparison(compare(made, made), "table")):
        assert "\x1b" not in text
    assert "0 of 1 cases passed, 1 failed: 0.0 %" in format_result(made, "table")


def test_junit_has_a_testcase_for_each_case() -> None:
    odd = "bad <&>\"'"
    made = result([case_result("good", [True]), case_result(odd, [False], text=EVIL), case_result("down", [None])])
    suite = ElementTree.fromstring(format_result(made, "junit"))  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    good, bad, down = suite.findall("testcase")
    assert (bad.get("name"), bad.get("classname")) == (odd, "d")
    assert list(good) == []
    assert "equals: got" in str(bad[0].get("message"))
    assert (down[0].tag, down[0].get("message")) == ("error", "HTTP 500")


def test_json_has_the_whole_result() -> None:
    made = result([case_result("flaky", [True, False, True])])
    data = msgspec.json.decode(format_result(made, "json"))
    (case,) = data["cases"]
    assert (case["outcome"], round(case["pass_rate"], 3), case["flaky"]) == ("failed", 0.667, True)
    assert data["totals"]["cost"] == 1.5
    assert msgspec.json.encode(msgspec.convert(data, EvalResult)) == msgspec.json.encode(made)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [([True, None], "error"), ([True, True], "passed"), ([True, False], "failed")],
)
def test_the_outcome_of_a_case(outcomes: list[bool | None], expected: str) -> None:
    assert case_result("c", outcomes).outcome == expected


def test_equal_content_has_an_equal_fingerprint() -> None:
    case, scored = Case(name="a", ask="Hello"), Case(name="a", ask="Hello", scorers=({"contains": "x"},))
    plain = Dataset(version=1, cases=(case,))
    assert fingerprint_case(plain, case) == fingerprint_case(plain, Case(name="b", ask="Hello", tags=("x",)))
    assert fingerprint_case(plain, case) != fingerprint_case(plain, scored)
    other = Dataset(version=1, cases=(case,), missing="stub", scorers=({"contains": "x"},))
    assert fingerprint_case(plain, case) != fingerprint_case(other, case)
