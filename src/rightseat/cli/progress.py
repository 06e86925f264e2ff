"""Reports work that takes long on stderr."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

import click

SHOW_AFTER_S = 2.0
SHOW_WAITING_AFTER_S = 10.0
"""Without a terminal: a line about a response that takes long is of use in a log, one about each response is not."""
UPDATE_INTERVAL_S = 1.0


class Waiting:
    """Shows that a response is awaited, from `begin` until `end`. Both may be called again at any time."""

    def __init__(self, work: str) -> None:
        self._work = work
        self._shown = ExitStack()

    def begin(self) -> None:
        self.end()
        after = SHOW_AFTER_S if sys.stderr.isatty() else SHOW_WAITING_AFTER_S
        self._shown.enter_context(show_progress(self._work, after))

    def end(self) -> None:
        self._shown.close()

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


@contextmanager
def show_progress(work: str, after: float | None = None) -> Iterator[None]:
    """At a terminal, one line with the seconds so far, removed at the end; elsewhere one plain line.

    `after` is how many seconds it is silent, by default 2.
    """
    done = threading.Event()
    reporter = threading.Thread(target=report, args=(work, done, SHOW_AFTER_S if after is None else after), daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()


def report(work: str, done: threading.Event, after: float) -> None:
    started = time.monotonic()
    if done.wait(after):
        return
    if not sys.stderr.isatty():
        click.echo(f"{work} …", err=True)
        return
    while True:
        click.echo(f"\r\x1b[K{work} … {time.monotonic() - started:.0f} s", nl=False, err=True)
        if done.wait(UPDATE_INTERVAL_S):
            break
    click.echo("\r\x1b[K", nl=False, err=True)
