"""`rightseat serve --reload`: restarts the server when the configuration, Python files or plugins change.

The server is a child process. This process keeps the listening socket, so that requests during a restart wait and are
not refused. A change is first built in another child process: if that fails, the old server goes on.
"""

import os
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import click

from rightseat import app
from rightseat.cli.child_process import SPAWN, start_process
from rightseat.cli.progress import show_progress
from rightseat.cli.serve_options import ServeOptions
from rightseat.cli.server import listen, load_config, serve
from rightseat.config import FILE, Config, Server
from rightseat.core.errors import RightseatError
from rightseat.parent_death import die_with_parent

POLL_INTERVAL_S = 0.5
SKIPPED_FOLDERS = {"__pycache__", "node_modules"}

Snapshot = dict[Path, int]
"""The times at which files were last changed, in nanoseconds."""


class Build(NamedTuple):
    """What this process needs of a configuration. It imports no modules of the operator again, so it cannot read it."""

    server: Server
    plugin_folders: tuple[Path, ...]


def serve_and_reload(options: ServeOptions) -> None:
    """Serve until SIGINT or SIGTERM."""
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    reloader = Reloader(options, describe_build(load_config(options)))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    reloader.start()
    while not stopped.wait(POLL_INTERVAL_S):
        reloader.look()
    reloader.end()


class Reloader:
    """The server process, its listening socket, and the files whose changes restart it."""

    def __init__(self, options: ServeOptions, build: Build) -> None:
        self._options = options
        self._build = build
        self._listener = listen(build.server)
        self._snapshot = self._take_snapshot()
        self._child: SpawnProcess | None = None

    def start(self) -> None:
        self._child = start_process(run_server, self._options, self._listener)

    def end(self) -> None:
        """SIGTERM: open responses have `server.shutdown_timeout` seconds to end."""
        if self._child is None:
            return
        self._child.terminate()
        with show_progress("Waiting for open responses"):
            self._child.join()
        self._child = None

    def look(self) -> None:
        """Restart the server if a file has changed and the new state is valid."""
        now = self._take_snapshot()
        if now == self._snapshot:
            return
        click.echo(f"Changed: {', '.join(list_changes(self._snapshot, now))}.", err=True)
        self._snapshot = now
        try:
            self._restart(build_in_process(self._options))
        except RightseatError as error:
            is_running = self._child is not None and self._child.is_alive()
            state = "The server goes on as before" if is_running else "The server is stopped"
            click.echo(f"Error: {error.message}\n{state}, until the next change.", err=True)

    def _restart(self, build: Build) -> None:
        self.end()
        if (build.server.host, build.server.port) != (self._build.server.host, self._build.server.port):
            self._listener.close()
            self._listener = listen(build.server)
        self._build = build
        self._snapshot = {file: self._snapshot.get(file, at) for file, at in self._take_snapshot().items()}
        self.start()

    def _take_snapshot(self) -> Snapshot:
        file = self._options.path or Path(FILE)
        return take_snapshot([file, *find_files(file.parent, ".py")], self._build.plugin_folders)


class BuildFailed(RightseatError):
    """The configuration, or a module that it names, has errors."""


def run_server(parent: int, options: ServeOptions, listener: socket.socket) -> None:
    die_with_parent(parent)
    try:
        serve(options, listener)
    except RightseatError as error:
        raise SystemExit(f"Error: {error.message}\nThe server is stopped, until the next change.") from error
    except (click.exceptions.Exit, KeyboardInterrupt):
        raise SystemExit(1) from None


def build_in_process(options: ServeOptions) -> Build:
    """Raises `BuildFailed`."""
    receiver, sender = SPAWN.Pipe(duplex=False)
    with receiver:
        with sender:
            builder = start_process(run_build, options, sender)
        try:
            result: Build | str = receiver.recv()
        except EOFError:
            result = "The configuration cannot be loaded."
        builder.join()
    if isinstance(result, str):
        raise BuildFailed(result)
    return result


def run_build(parent: int, options: ServeOptions, sender: "Connection[Build | str, None]") -> None:
    """An unexpected error, such as a syntax error in a module, prints its traceback and sends nothing."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops
    try:
        config = load_config(options)
        app.build(config)
        sender.send(describe_build(config))
    except RightseatError as error:
        sender.send(error.message)


def describe_build(config: Config) -> Build:
    folders = (getattr(toolbox.options, "folders", ()) for toolbox in config.toolboxes.values())
    return Build(config.server, tuple(folder for found in folders for folder in found if isinstance(folder, Path)))


def list_changes(before: Snapshot, after: Snapshot) -> list[str]:
    return sorted({os.path.relpath(path) for path, _ in before.items() ^ after.items()})


def take_snapshot(files: Iterable[Path], folders: Iterable[Path]) -> Snapshot:
    watched = [*files, *(file for folder in folders for file in find_files(folder))]
    return {file: changed_at for file in watched if (changed_at := read_change(file)) is not None}


def find_files(folder: Path, ending: str = "") -> Iterator[Path]:
    """The files of a folder and its subfolders, except hidden ones, installed packages and virtual environments."""
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if is_watched(Path(where, name))]
        yield from (Path(where, name) for name in names if name.endswith(ending) and not name.startswith("."))


def is_watched(folder: Path) -> bool:
    is_skipped = folder.name.startswith(".") or folder.name in SKIPPED_FOLDERS
    return not is_skipped and not (folder / "pyvenv.cfg").exists()


def read_change(path: Path) -> int | None:
    """None if the file does not exist, such as while an editor replaces it."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
