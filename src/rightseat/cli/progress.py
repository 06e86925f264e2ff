"""Reports work that takes longer than two seconds on stderr."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

SHOW_AFTER_S = 2.0
UPDATE_INTERVAL_S = 1.0


@contextmanager
def show_progress(work: str) -> Iterator[None]:
    """At a terminal, one line with the seconds so far, removed at the end; elsewhere one plain line."""
    done = threading.Event()
    reporter = threading.Thread(target=report, args=(work, done), daemon=True)
    reporter.start()
    try:
        yield
    finally:
        done.set()
        reporter.join()


def report(work: str, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(SHOW_AFTER_S):
        return
    if not sys.stderr.isatty():
        click.echo(f"{work} …", err=True)
        return
    while True:
        click.echo(f"\r\x1b[K{work} … {time.monotonic() - started:.0f} s", nl=False, err=True)
        if done.wait(UPDATE_INTERVAL_S):
            break
    click.echo("\r\x1b[K", nl=False, err=True)
