"""Servers of `programs`, each started once when a test first needs it, and ended when all tests are done."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conditions import is_listening, until, wait_until
from tests.servers.installing import install

PROGRAMS = Path(__file__).parent / "programs"
START = 60.0  # seconds
SERVERS = {
    "pydantic-ai": ("pydantic-ai", "agui_pydantic_ai.py"),
    "ag-ui-langgraph": ("langgraph", "agui_langgraph.py"),
    "ag-ui-crewai": ("crewai", "agui_crewai.py"),
    "copilotkit 0.1.63": ("copilotkit-0.1.63", "copilotkit_lines.py"),
    "copilotkit 0.1.96": ("langgraph", "copilotkit_today.py"),
    "langgraph dev": ("langgraph", "langgraph_dev.py"),
}
"""What tests call them → whose packages they need, and the program."""

HERE = "in this process"
"""In place of a server: what a program notes, where its parts run in the tests' own process."""


class Server:
    """`url` is where it listens."""

    def __init__(self, url: str, notes: Path) -> None:
        self.url = url
        self._notes = notes

    def notes(self) -> list[Any]:
        """What it has noted by now."""
        return [json.loads(line) for line in self._notes.read_text().splitlines()] if self._notes.exists() else []

    def requests(self, path: str | None = None) -> list[dict[str, Any]]:
        found = [one for one in self.notes() if isinstance(one, dict)]
        return [one for one in found if path is None or one["path"] == path]

    async def notes_more(self, what: str, earlier: int) -> None:
        """Waits until it has noted `what` more often than `earlier`."""
        await until(lambda: self.notes().count(what) > earlier)


Start = Callable[[str], Server]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Return a server by its name. None outlives its module, for some go on with an endless run without a client."""
    running: dict[str, Server] = {}
    with ExitStack() as stack:

        def get(name: str) -> Server:
            if name not in running:
                running[name] = stack.enter_context(serving(name, tmp_path_factory.mktemp(name)))
            return running[name]

        yield get


@contextmanager
def serving(name: str, folder: Path) -> Iterator[Server]:
    """What it says of itself goes to a file in `folder`."""
    notes, log = folder / "notes.jsonl", folder / "server.log"
    if name == HERE:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NOTES", str(notes))
            patch.syspath_prepend(PROGRAMS)
            yield Server("", notes)
        return
    packages, program = SERVERS[name]
    python = install(packages)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "NOTES": str(notes), "PYTHONPATH": str(PROGRAMS)}
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [python, PROGRAMS / program], env=environ, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port.isdecimal(), log.read_text()
            wait_for(int(port), log)
            yield Server(f"http://127.0.0.1:{port}", notes)
        finally:
            process.kill()


def wait_for(port: int, log: Path) -> None:
    """A server may say where it will be found before it can be."""
    try:
        wait_until(lambda: is_listening(port), START)
    except TimeoutError:
        raise AssertionError(log.read_text()) from None
