"""Compares two results: pairs of equal cases, an exact test, and a sentence that claims no more than is shown."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from rightseat.core.types import JsonValue
from rightseat.evals.results import CaseResult, EvalResult
from rightseat.evals.statistics import (
    SIGNIFICANCE,
    agreement_to_show_a_difference,
    bootstrap_interval,
    sign_flip_p_value,
)
from rightseat.text import one_line, truncate

Verdict = Literal["better", "worse", "no difference shown"]
MAX_TEXT_CHARS = 300  # of an answer in a comparison
MAX_VALUE_CHARS = 100  # of a setting


class ResultName(msgspec.Struct, frozen=True):
    id: str
    label: str | None


class ChangedCase(msgspec.Struct, frozen=True):
    """A case with another outcome or pass rate. `a_text` and `b_text` are the answers of the first attempts."""

    dataset: str
    name: str
    a: str
    b: str
    a_pass_rate: float
    b_pass_rate: float
    a_text: str
    b_text: str


class Figure(msgspec.Struct, frozen=True):
    """A mean per attempt in both results. The test and the interval are those of the differences between cases."""

    a: float
    b: float
    p_value: float
    interval: tuple[float, float]


class ResultComparison(msgspec.Struct, frozen=True, kw_only=True):
    """`cases` are compared: they are in both results with the same content, and no attempt had an error."""

    a: ResultName
    b: ResultName
    cases: int
    both_passed: int
    only_a_passed: int
    only_b_passed: int
    neither_passed: int
    diverged: int
    """Changed cases of which one result cannot say how they went."""
    only_in_a: Sequence[str]
    only_in_b: Sequence[str]
    edited: Sequence[str]
    not_judged: Sequence[str]
    p_value: float
    difference: float
    interval: tuple[float, float]
    verdict: Verdict
    sentence: str
    variant_difference: Sequence[str]
    changed: Sequence[ChangedCase]
    figures: dict[str, Figure]


def compare(a: EvalResult, b: EvalResult) -> ResultComparison:
    in_a, in_b = ({(case.dataset, case.name): case for case in result.cases} for result in (a, b))
    both = [key for key in in_a if key in in_b]
    equal = [key for key in both if in_a[key].content == in_b[key].content]
    judged = [key for key in equal if "error" not in (in_a[key].outcome, in_b[key].outcome)]
    pairs = [(in_a[key], in_b[key]) for key in judged]
    differences = [_pass_rate(second) - _pass_rate(first) for first, second in pairs]
    changed = [pair for pair, difference in zip(pairs, differences, strict=True) if difference or _differs(*pair)]
    passed = [(first.outcome == "passed", second.outcome == "passed") for first, second in pairs]
    p_value = sign_flip_p_value(differences)
    difference = float(sum(differences, Fraction()) / max(1, len(differences)))
    verdict: Verdict = "no difference shown"
    if p_value < SIGNIFICANCE:
        verdict = "better" if difference > 0 else "worse"
    interval = bootstrap_interval([float(one) for one in differences])
    diverged = sum("diverged" in (first.outcome, second.outcome) for first, second in changed)
    return ResultComparison(
        a=ResultName(a.id, a.label),
        b=ResultName(b.id, b.label),
        cases=len(pairs),
        both_passed=passed.count((True, True)),
        only_a_passed=passed.count((True, False)),
        only_b_passed=passed.count((False, True)),
        neither_passed=passed.count((False, False)),
        diverged=diverged,
        only_in_a=[name for dataset, name in in_a if (dataset, name) not in in_b],
        only_in_b=[name for dataset, name in in_b if (dataset, name) not in in_a],
        edited=[name for dataset, name in both if (dataset, name) not in equal],
        not_judged=[name for dataset, name in equal if (dataset, name) not in judged],
        p_value=p_value,
        difference=difference,
        interval=interval,
        verdict=verdict,
        sentence=_describe(verdict, differences, p_value, interval, diverged),
        variant_difference=list(_differ(dict(a.variant.settings), dict(b.variant.settings))),
        changed=[_describe_changed(*pair) for pair in changed],
        figures={name: figure for name, get in FIGURES.items() if (figure := _compare_figure(pairs, get)) is not None},
    )


def _pass_rate(case: CaseResult) -> Fraction:
    return Fraction(sum(attempt.outcome == "passed" for attempt in case.attempts), len(case.attempts))


def _differs(first: CaseResult, second: CaseResult) -> bool:
    return first.outcome != second.outcome


def _describe(
    verdict: Verdict,
    differences: Sequence[Fraction],
    p_value: float,
    interval: tuple[float, float],
    diverged: int,
) -> str:
    if not differences:
        return "no difference shown: no case is in both results with the same content and judged in both."
    better, worse = sum(difference > 0 for difference in differences), sum(difference < 0 for difference in differences)
    mean = float(sum(differences, Fraction()) / len(differences))
    parts = [
        f"{verdict}: of {len(differences)} cases, {better} passed more often and {worse} less often "
        f"(p = {p_value:.4f}); the pass rate changed by {100 * mean:+.1f} points (95 % interval "
        f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f})."
    ]
    if verdict == "no difference shown":
        agreeing, count = agreement_to_show_a_difference(better + worse)
        parts.append(f"To show a difference, {agreeing} of {count} cases that differ would have to agree.")
    if diverged:
        parts.append(f"{diverged} of the changed cases diverged: their recordings cannot say how they would have gone.")
    return " ".join(parts)


def _describe_changed(first: CaseResult, second: CaseResult) -> ChangedCase:
    texts = (truncate(one_line(case.attempts[0].text), MAX_TEXT_CHARS) for case in (first, second))
    rates = first.pass_rate, second.pass_rate
    return ChangedCase(first.dataset, first.name, first.outcome, second.outcome, *rates, *texts)


def _mean(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction()) / len(known) if known and len(known) == len(values) else None


FIGURES: dict[str, Callable[[CaseResult], Fraction | None]] = {
    "cost": lambda case: _mean(
        [None if one.cost is None else Fraction(round(one.cost * 10**9), 10**9) for one in case.attempts]
    ),
    "tokens": lambda case: _mean([Fraction(one.input_tokens + one.output_tokens) for one in case.attempts]),
    "latency_ms": lambda case: _mean([Fraction(round(one.latency_ms)) for one in case.attempts]),
}


def _compare_figure(
    pairs: Sequence[tuple[CaseResult, CaseResult]], get: Callable[[CaseResult], Fraction | None]
) -> Figure | None:
    """None if a case has no such figure."""
    firsts, seconds = [get(first) for first, _ in pairs], [get(second) for _, second in pairs]
    a, b = _mean(firsts), _mean(seconds)
    if a is None or b is None:
        return None
    differences = [
        second - first
        for first, second in zip(firsts, seconds, strict=True)
        if first is not None and second is not None
    ]
    interval = bootstrap_interval([float(difference) for difference in differences])
    return Figure(float(a), float(b), sign_flip_p_value(differences), interval)


def _differ(a: JsonValue, b: JsonValue, path: str = "") -> Iterator[str]:
    """The settings that differ, each on a line."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in {**a, **b}:
            yield from _differ(a.get(key), b.get(key), f"{path}.{key}".lstrip("."))
    elif a != b:
        yield f"{path}: {_show(a)} → {_show(b)}"


def _show(value: JsonValue) -> str:
    return truncate(one_line(msgspec.json.encode(value).decode()), MAX_VALUE_CHARS)
