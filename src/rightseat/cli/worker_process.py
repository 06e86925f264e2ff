"""A worker of `rightseat serve --workers`, as its supervisor starts it.

It imports the server and its parts as soon as it starts, and serves when it gets its socket. So its supervisor can
start it before it has read the configuration, and both import at the same time.
"""

import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import Self

import click

from rightseat.cli.child_process import SPAWN, start_process
from rightseat.cli.serve_options import ServeOptions
from rightseat.cli.startup import blocked_interrupts, paused_gc
from rightseat.core.errors import RightseatError
from rightseat.parent_death import die_with_parent

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable by which the Prometheus client shares the metrics of several processes."""


@contextmanager
def share_metrics() -> Iterator[Path]:
    """Before the first worker starts, whose Prometheus client reads the variable when it is imported."""
    with tempfile.TemporaryDirectory(prefix="rightseat-metrics-") as folder:
        os.environ[METRICS_FOLDER] = folder
        try:
            yield Path(folder)
        finally:
            del os.environ[METRICS_FOLDER]


class WorkerProcess:
    """At the end of the context, a process that did not get its socket is ended."""

    def __init__(self, options: ServeOptions) -> None:
        resource_tracker.ensure_running()  # its start would unblock Ctrl-C
        self.channel, channel = SPAWN.Pipe()
        with channel, blocked_interrupts():
            self.process = start_process(run_worker, options, channel)
        self.pid = self.process.pid or 0
        self._is_serving = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_serving:
            self.process.kill()
            self.process.join()
            self.channel.close()

    def serve(self, listener: socket.socket) -> None:
        """`channel` then gets True when the server has started, or its end if that failed."""
        self._is_serving = True
        try:
            send_handle(self.channel, listener.fileno(), self.pid)
        except OSError:
            return  # the process has ended


def run_worker(parent: int, options: ServeOptions, channel: "Connection[bool, bool]") -> None:
    die_with_parent(parent)
    try:
        with paused_gc():
            server = import_module("rightseat.cli.server")
            with suppress(RightseatError):  # `serve` raises it again
                server.load_config(options)  # imports the parts that it names
            try:
                listener = socket.socket(fileno=recv_handle(channel))
            except EOFError:
                return  # Ctrl-C has ended the supervisor
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            server.serve(replace(options, is_worker=True), listener, on_started=lambda: channel.send(True))
    except RightseatError as error:
        raise SystemExit(f"Error: {error.message}") from error
    except (click.exceptions.Exit, KeyboardInterrupt):
        raise SystemExit(1) from None
