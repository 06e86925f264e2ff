"""In CI a test may only be skipped if `tests/skips.toml` names it, and none begins after `TESTS_UNTIL`.

Processes of pytest-xdist take the longest files first.
"""

import os
import time
from collections.abc import Iterator

import pytest

from tests.gate.order import read_costs, sort_longest_first
from tests.gate.skips import LATE, find_unlisted, read_skips

UNTIL = float(os.environ.get("TESTS_UNTIL", "inf"))
"""The time, in seconds since 1970, after which no test begins. `.ci/run` sets it."""


def take_files_in_order(config: pytest.Config) -> None:
    """xdist would take the files with most tests first, whatever they cost."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)  # after pytest has grouped tests by their fixtures
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        sort_longest_first(items, read_costs())


def pytest_runtest_setup() -> None:
    if time.time() > UNTIL:
        pytest.skip(LATE)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session for a skip that is not listed; in the process that collects the reports of all."""
    if not os.environ.get("CI") or hasattr(session.config, "workerinput"):
        return
    reporter: pytest.TerminalReporter | None = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    unlisted = find_unlisted(list(read_reports(reporter)), read_skips())
    for name, reason in unlisted:
        reporter.write_line(f"NOT LISTED in tests/skips.toml: {name} was skipped: {reason}", red=True)
    if unlisted and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def read_reports(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, str]]:
    """Yield the name and the reason of each skipped test or module."""
    for report in reporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        yield report.nodeid, reason.removeprefix("Skipped: ")
