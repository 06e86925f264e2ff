"""The server of an older commit, which is in the history of this repository, and servers as processes."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0


def extract(commit: str, folder: Path) -> Path:
    """Write the sources of a commit into `folder`, and return their root. Skip without the commit."""
    found = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"this clone does not have the commit {commit}")
    subprocess.run(["tar", "--extract", "--directory", folder], input=found.stdout, check=True)
    return folder / "src"


class Server:
    """One replica: a process with the code of `source`."""

    def __init__(self, source: Path, file: Path, environment: Mapping[str, str] | None = None) -> None:
        self._source = source
        self._file = file
        self._environment = environment or {}
        self.url = ""

    async def start(self) -> "Server":
        command = ("serve", "--config", str(self._file), "--port", "0")
        self.process = await start_program(self._source, *command, environment=self._environment)
        self.output: list[str] = []
        self._is_open = asyncio.Event()
        self._reader = asyncio.create_task(self._read())
        await asyncio.wait_for(self._is_open.wait(), WAIT_S)
        assert self.url, "\n".join(self.output)
        return self

    async def end(self, how: signal.Signals) -> None:
        if self.process.returncode is None:
            self.process.send_signal(how)
        await asyncio.wait_for(self.process.wait(), WAIT_S)
        await self._reader

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.output.append(line.decode().rstrip())
            if "  serves " in self.output[-1]:
                (self.url,) = re.findall(r"http://127\.0\.0\.1:\d+", self.output[-1])
                self._is_open.set()
        self._is_open.set()


async def start_program(
    source: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "rightseat",
        *arguments,
        env={**os.environ, "PYTHONPATH": str(source), **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
