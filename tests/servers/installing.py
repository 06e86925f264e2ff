"""The packages of one server, in a virtual environment of its own: they conflict with ours, and with each other's.

`python -m tests.servers.installing NAME…` installs ahead of the tests; without names, all of them.
"""

import faulthandler
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent.parent.parent / "requirements" / "servers"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "servers"
MOST = 900  # seconds


def install(name: str) -> Path:
    """The Python with the packages of `requirements/servers/NAME.txt`. They are installed once, in about a minute."""
    pinned = REQUIREMENTS / f"{name}.txt"
    home = CACHE / f"{name}-{hashlib.sha256(pinned.read_bytes()).hexdigest()[:16]}"
    python = home / "bin" / "python"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f".{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (home / ".installed").exists():
            faulthandler.cancel_dump_traceback_later()  # it would end the test after a minute
            for earlier in CACHE.glob(f"{name}-{'?' * 16}"):
                shutil.rmtree(earlier)
            run([sys.executable, "-m", "venv", home])
            run(
                [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--require-hashes", "-r", pinned]
            )
            (home / ".installed").touch()
    return python


def run(command: list[Path | str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    for chosen in sys.argv[1:] or sorted(file.stem for file in REQUIREMENTS.glob("*.txt")):
        install(chosen)
