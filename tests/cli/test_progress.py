"""Progress of work that takes long."""

import io
import sys
import time

import pytest

from rightseat.cli import progress
from rightseat.cli.progress import show_progress


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 0.05)
    monkeypatch.setattr(progress, "UPDATE_INTERVAL_S", 0.05)


def wait_for(shown: io.StringIO, text: str) -> None:
    until = time.monotonic() + 5
    while text not in shown.getvalue() and time.monotonic() < until:
        time.sleep(0.01)
    assert text in shown.getvalue()


def test_short_work_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER_S", 30.0)
    monkeypatch.setattr(sys, "stderr", shown := TerminalText())

    with show_progress("Loading"):
        pass

    assert shown.getvalue() == ""


def test_without_a_terminal_long_work_prints_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown := io.StringIO())

    with show_progress("Loading"):
        wait_for(shown, "Loading …\n")
        time.sleep(0.2)  # four updates at a terminal

    assert shown.getvalue() == "Loading …\n"


def test_at_a_terminal_the_progress_line_is_updated_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown := TerminalText())

    with show_progress("Loading"):
        wait_for(shown, "\r\x1b[KLoading … 0 s\r\x1b[KLoading … 0 s")

    assert shown.getvalue().endswith(" s\r\x1b[K")
