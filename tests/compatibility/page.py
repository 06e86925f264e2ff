"""Writes docs/reference/compatibility.md from the locked versions and the recorded results.

    python -m tests.compatibility.page LOG                   records the results in the output of .ci/run
    python -m tests.compatibility.page --suite openbb LOG    records that of one suite; --quick: in its quick form

`results.json` holds the last line of each suite, with the date of the log. `just generate` writes the page from it.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.compatibility.locked import AGENTS, CLIENTS, ROOT, SUITES, TESTS, Client

PAGE = ROOT / "docs" / "reference" / "compatibility.md"
RESULTS = Path(__file__).parent / "results.json"
Results = dict[str, dict[str, str]]

SECTION = re.compile(r"^== (?!all steps passed|FAILED)(?:acceptance: )?(.+)$", re.MULTILINE)
SUITE_END = re.compile(r"^\d+ passed, \d+ failed.*$", re.MULTILINE)
TESTS_END = re.compile(r"^=*\s*((?:\d+ failed, )?\d+ passed.*?) in [\d.]+s", re.MULTILINE)

COUNT = re.compile(r"(\d+) (\w+)")

HEAD = """# Compatibility

The clients and agents that the tests use, with the versions that the tests are locked to. A client is judged by a suite
of `tests/acceptance`: the real package in front of a real server, in Chromium where it is a page. Other versions are
not tested, except by `.ci/nightly newest`, which tries the newest ones and reports.

`just generate` writes this page. *quick* is the part of a suite that runs before each change
lands, *whole* is all of it.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes docs/reference/compatibility.md.")
    parser.add_argument("log", type=Path, help="the output of .ci/run, or of one suite")
    parser.add_argument("--suite", choices=[one.parent.name for one in SUITES.glob("*/run")], help="whose output it is")
    parser.add_argument("--quick", action="store_true", help="the suite was run with the arguments in its file `quick`")
    given = parser.parse_args()
    text, date = given.log.read_text(errors="replace"), day_of(given.log)
    results = read_results()
    results |= read_suite(text, given.suite, date, is_quick=given.quick) if given.suite else read_ci(text, date)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(write_page(results))


def generate() -> dict[Path, str]:
    return {PAGE: write_page(read_results())}


def read_results() -> Results:
    found: Results = json.loads(RESULTS.read_text())
    return found


def day_of(log: Path) -> str:
    return datetime.fromtimestamp(log.stat().st_mtime, UTC).date().isoformat()


def read_ci(text: str, date: str) -> Results:
    """The results of the sections of .ci/run: the tests, and each suite in its quick form if it has one."""
    ends: dict[str, list[str]] = {}
    starts = [*SECTION.finditer(text)]
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        name, section = start[1], text[start.end() : following.start() if following else len(text)]
        found = [match[1] for match in TESTS_END.finditer(section)] if name == TESTS else SUITE_END.findall(section)
        if found:
            ends.setdefault(name, []).extend(found)
    return {name: {"date": date, "form": form_of(name), "line": join_repetition(lines)} for name, lines in ends.items()}


def join_repetition(ends: Sequence[str]) -> str:
    """The line of all tests, or of a suite. If failed ones were repeated alone, the repetition has its own line."""
    if len(ends) == 1:
        return ends[0]
    first, again = ({word: int(count) for count, word in COUNT.findall(end)} for end in (ends[0], ends[-1]))
    first["passed"] += again["passed"]
    first["failed"] = again.get("failed", 0)
    line = ", ".join(f"{count} {word}" for word, count in first.items() if count)
    return line.replace(" passed", f" passed ({again['passed']} when repeated alone)")


def form_of(name: str) -> str:
    return "quick" if (SUITES / name / "quick").exists() else "whole"


def read_suite(text: str, name: str, date: str, *, is_quick: bool = False) -> Results:
    ends = SUITE_END.findall(text)
    if not ends:
        raise SystemExit(f"The log has no line like '12 passed, 0 failed': {name} did not reach its end.")
    return {name: {"date": date, "form": "quick" if is_quick else "whole", "line": ends[-1]}}


def write_page(results: Results) -> str:
    parts = [HEAD, "## Clients\n", *table(CLIENTS, results), "\n## Agents behind rightseat\n", *table(AGENTS, results)]
    return "\n".join(parts) + "\n"


def table(clients: Iterable[Client], results: Results) -> Iterator[str]:
    yield "| client | versions | judged by | last result |\n|---|---|---|---|"
    for one in clients:
        judge = "the tests" if one.judge == TESTS else f"suite `{one.judge}`"
        yield f"| {one.name} | {', '.join(one.versions())} | {judge} | {describe_result(results.get(one.judge))} |"


def describe_result(result: dict[str, str] | None) -> str:
    return "not recorded yet" if result is None else f"{result['line']} ({result['form']}, {result['date']})"


if __name__ == "__main__":
    main()
