"""Progress of work that takes long."""

import io
import sys
import threading

import pytest

from rightseat.cli import progress
from rightseat.cli.progress import show_progress
from tests.conditions import wait_until


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


def is_reporting() -> bool:
    return any("(report)" in thread.name for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0.05)
    monkeypatch.setattr(progress, "UPDATE_INTERVAL_S", 0.05)


def test_short_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 30.0)
    monkeypatch.setattr(sys, "stderr", shown := TerminalText())

    with show_progress("Loading"):
        pass

    assert shown.getvalue() == ""


def test_without_a_terminal_long_work_prints_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown := io.StringIO())

    with show_progress("Loading"):
        wait_until(lambda: "Loading …\n" in shown.getvalue())
        wait_until(lambda: not is_reporting())  # it has no more to print

    assert shown.getvalue() == "Loading …\n"


def test_at_a_terminal_the_progress_line_is_updated_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown := TerminalText())

    with show_progress("Loading"):
        wait_until(lambda: "\r\x1b[KLoading … 0 s\r\x1b[KLoading … 0 s" in shown.getvalue())
        assert is_reporting()

    assert shown.getvalue().endswith(" s\r\x1b[K")
