"""The servers under judgement: started with the project's own script from a file of their own, and their logs read."""

import asyncio
import json
import re
import time
from pathlib import Path

import aiohttp

from tests.acceptance._lib import processes
from tests.acceptance._lib.processes import NotStarted, free_port, inherit, serve

PROJECT = Path(__file__).resolve().parents[4]


class Server(processes.Server):
    """One rightseat process with its children: a process group of its own, a folder and a configuration file."""

    def __init__(self, configuration: dict, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "written.yaml"  # the script prints it to operations.yaml
        file.write_text(json.dumps(configuration, indent=1))  # JSON is YAML
        port = free_port()
        environment = inherit() | {"RS_CONFIG": str(file), "RS_STATE_DIR": str(folder)}
        super().__init__(serve("operations", port), port, environment, folder.with_suffix(".log"))
        self.url = self.origin

    async def ready(self, within: float = 60) -> None:
        """Until it answers GET /health; `/ready` is what some scenarios judge. The last line of a server that ended is in the error."""
        try:
            await super().ready(within)
        except NotStarted as error:
            raise NotStarted(f"{str(error).partition(chr(10))[0]} {self.last_line()}") from None

    async def get(self, path: str) -> int | None:
        return (await self.read(path))[0]

    async def read(self, path: str, timeout: float = 5) -> tuple[int | None, str]:
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.get(self.url + path, timeout=aiohttp.ClientTimeout(timeout)) as answer,
            ):
                return answer.status, await answer.text()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None, ""

    async def ended(self, within: float) -> int | None:
        """The exit code, or None if it lives after so many seconds."""
        deadline = time.monotonic() + within
        while self.is_alive() and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        return self.process.poll()

    def text(self, since: int = 0) -> str:
        return self.log.read_bytes()[since:].decode(errors="replace") if self.log.exists() else ""

    def mark(self) -> int:
        """Where the log ends now, for `text`."""
        return self.log.stat().st_size if self.log.exists() else 0

    def last_line(self) -> str:
        lines = [line for line in self.text().splitlines() if line.strip()]
        return lines[-1].strip()[:200] if lines else "it printed nothing"


def tracebacks(text: str) -> int:
    return len(re.findall(r"^Traceback \(most recent call last\)", text, re.M)) + text.count('"exception": "Traceback')


def lines_a_second(text: str, seconds: float) -> float:
    return len([line for line in text.splitlines() if line.strip()]) / max(1.0, seconds)
