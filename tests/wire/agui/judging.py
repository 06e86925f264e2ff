"""AG-UI's own clients, 0.0.59 and 1.0, asked what they make of our events.

They live in a cache folder outside the repository, and are installed again when their pins change.
"""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "client"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "agui-client"
PINS = ("package.json", "package-lock.json")


class Refused(Exception):
    """The client raised an error."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refused) and str(self) == str(other)

    __hash__ = Exception.__hash__


def ask(do: str, version: str, questions: Sequence[dict[str, Any]]) -> list[Any]:
    """The client's answers, or `Refused` where it raised. All questions go to one process."""
    install()
    lines = "".join(json.dumps({"do": do, "version": version, **question}) + "\n" for question in questions)
    asked = subprocess.run(
        ["node", HERE / "judge.mjs", CACHE], input=lines, capture_output=True, text=True, check=True, timeout=120
    )
    answers = [json.loads(line) for line in asked.stdout.split("\n") if line]
    assert len(answers) == len(questions), asked.stderr
    return [Refused(answer["error"]) if "error" in answer else answer["is"] for answer in answers]


def about(sequences: Iterable[Any]) -> list[dict[str, Any]]:
    return [{"events": events} for events in sequences]


def install() -> None:
    pins = "".join((HERE / name).read_text() for name in PINS)
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = CACHE / ".installed"
        if stamp.exists() and stamp.read_text() == pins:
            return
        for name in PINS:
            shutil.copy(HERE / name, CACHE / name)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(command, cwd=CACHE, check=True, timeout=300)
        stamp.write_text(pins)
