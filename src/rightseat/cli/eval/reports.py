"""Formats results and comparisons: for the terminal, as JSON, as JUnit XML and as Markdown.

Texts of models and names of cases may be hostile: a terminal gets no control characters, Markdown no markup.
"""

import string
from collections.abc import Iterator, Sequence
from typing import Literal, get_args
from xml.etree import ElementTree

import msgspec

from rightseat.cli.table import clean, format_table
from rightseat.evals.comparison import ResultComparison
from rightseat.evals.results import CaseResult, EvalResult
from rightseat.text import one_line, truncate

ReportFormat = Literal["table", "json", "junit", "markdown"]
FORMATS: tuple[ReportFormat, ...] = get_args(ReportFormat)
MAX_ROWS = 50  # of a Markdown table
MAX_CELL_CHARS = 160
MAX_REASON_CHARS = 400
MARKUP = str.maketrans(
    {mark: f"\\{mark}" for mark in set(string.punctuation) - set("-,'")}
    | {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "@\u200b"}  # a person named @… gets no message
)


def format_result(result: EvalResult, form: ReportFormat) -> str:
    match form:
        case "json":
            return _format_json(result)
        case "junit":
            return _format_junit(result)
        case "markdown":
            return "\n".join(_markdown_result(result))
        case "table":
            return "\n".join(_table_result(result))


def format_comparison(comparison: ResultComparison, form: ReportFormat) -> str:
    match form:
        case "json":
            return _format_json(comparison)
        case "markdown":
            return "\n".join(_markdown_comparison(comparison))
        case _:
            return "\n".join(_table_comparison(comparison))


def printable(text: str) -> str:
    """On one line, without control characters."""
    return clean(one_line(text))


def _format_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def find_reason(case: CaseResult) -> str:
    """Why the case did not pass, by its first attempt that did not."""
    for attempt in case.attempts:
        if attempt.outcome != "passed":
            scores = (f"{score.scorer}: {score.reason}" for score in attempt.scores if not score.passed)
            reason = attempt.reason or "; ".join(scores)
            return printable(reason or "no scorer: the case proves nothing.")
    return ""


def summarize(result: EvalResult) -> str:
    totals = result.totals
    counts = {
        "failed": totals.failed,
        "diverged": totals.diverged,
        "errors": totals.errors,
        "unscored": totals.unscored,
        "not run": totals.not_run,
    }
    others = "".join(f", {count} {name}" for name, count in counts.items() if count)
    low, high = totals.interval
    rate = f"{100 * totals.pass_rate:.1f} % (95 % interval {100 * low:.1f} to {100 * high:.1f})"
    flaky = sum(case.flaky for case in result.cases)
    ends = [f"{flaky} flaky"] if flaky else []
    ends += [f"cost {totals.cost:.6g}", f"{totals.seconds:.1f} s"]
    stopped = f" Stopped: {result.stopped}." if result.stopped else ""
    return f"{totals.passed} of {totals.cases} cases passed{others}: {rate}; {', '.join(ends)}.{stopped}"


def _table_result(result: EvalResult) -> Iterator[str]:
    rows = []
    for case in result.cases:
        outcome = f"{case.outcome} (flaky, {100 * case.pass_rate:.0f} %)" if case.flaky else case.outcome
        rows.append((f"{case.dataset}/{case.name}", outcome, truncate(find_reason(case), MAX_REASON_CHARS)))
    yield from format_table(("CASE", "OUTCOME", "REASON"), rows)
    yield f"\n{summarize(result)}"
    yield f"Result {result.id}" + (f", label {printable(result.label)}" if result.label else "")


def _table_comparison(comparison: ResultComparison) -> Iterator[str]:
    rows = [(f"{case.dataset}/{case.name}", case.a, case.b, truncate(case.b_text, 80)) for case in comparison.changed]
    if rows:
        yield from format_table(("CHANGED CASE", "A", "B", "ANSWER OF B"), rows)
        yield ""
    yield from map(printable, _list_facts(comparison))
    yield printable(comparison.sentence)


def _list_facts(comparison: ResultComparison) -> Iterator[str]:
    """What else is to be said about the comparison, a line each."""
    yield (
        f"Passed in both {comparison.both_passed}, only in A {comparison.only_a_passed}, only in B "
        f"{comparison.only_b_passed}, in neither {comparison.neither_passed}."
    )
    for name, figure in comparison.figures.items():
        label = name.replace("_ms", " in ms")
        yield f"Mean {label} of an attempt: {figure.a:.6g} → {figure.b:.6g} (p = {figure.p_value:.4f})."
    named = {
        "only in A": comparison.only_in_a,
        "only in B": comparison.only_in_b,
        "edited in between": comparison.edited,
        "with an error": comparison.not_judged,
    }
    for reason, names in named.items():
        if names:
            yield f"Not compared, {reason}: {truncate(', '.join(names), MAX_REASON_CHARS)}."
    for line in comparison.variant_difference[:MAX_ROWS]:
        yield f"Different: {line}"
    if more := len(comparison.variant_difference[MAX_ROWS:]):
        yield f"Different: {more} more settings."


def escape(text: str) -> str:
    """As Markdown in a cell of a table."""
    return truncate(printable(text), MAX_CELL_CHARS).translate(MARKUP)


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield from ("", f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}")
    for row in rows[:MAX_ROWS]:
        yield f"| {' | '.join(map(escape, row))} |"
    if len(rows) > MAX_ROWS:
        yield f"\n{len(rows) - MAX_ROWS} more cases are not shown."


def _markdown_result(result: EvalResult) -> Iterator[str]:
    yield f"**{summarize(result)}**"
    open_cases = [case for case in result.cases if case.outcome != "passed"]
    rows = [(f"{case.dataset}/{case.name}", case.outcome, find_reason(case)) for case in open_cases]
    yield from _markdown_table(("case", "outcome", "reason"), rows)


def _markdown_comparison(comparison: ResultComparison) -> Iterator[str]:
    yield f"**{comparison.sentence}**"
    rows = [(f"{case.dataset}/{case.name}", case.a, case.b, case.b_text) for case in comparison.changed]
    yield from _markdown_table(("changed case", "before", "after", "answer after"), rows)
    yield ""
    for fact in _list_facts(comparison):
        yield f"- {truncate(printable(fact), MAX_REASON_CHARS).translate(MARKUP)}"


def _format_junit(result: EvalResult) -> str:
    """One `testcase` a case. `failure` for what did not pass, `error` for what could not be judged."""
    totals = result.totals
    failures = totals.failed + totals.diverged + totals.unscored
    suite = ElementTree.Element(
        "testsuite",
        name="rightseat eval",
        tests=str(len(result.cases)),
        failures=str(failures),
        errors=str(totals.errors),
        time=f"{totals.seconds:.3f}",
        timestamp=result.at,
    )
    for case in result.cases:
        seconds = sum(attempt.latency_ms for attempt in case.attempts) / 1000
        test = ElementTree.SubElement(
            suite, "testcase", classname=printable(case.dataset), name=printable(case.name), time=f"{seconds:.3f}"
        )
        if case.outcome != "passed":
            reason = find_reason(case)
            tag = "error" if case.outcome == "error" else "failure"
            message = truncate(reason, MAX_REASON_CHARS)
            ElementTree.SubElement(test, tag, type=case.outcome, message=message).text = reason
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")
