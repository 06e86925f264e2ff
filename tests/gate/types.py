"""`python -m tests.gate.types`: mypy, with what it has found out in another checkout of this machine.

Without a cache mypy reads every file of every package. A new checkout begins with a copy of the cache that the last
passed run has left in `${XDG_CACHE_HOME:-~/.cache}/rightseat/mypy`, for the same packages and the same Python. mypy
compares the hash of each file, so the paths and the times of files may differ.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = ("base.txt", "dev.txt", "docs.txt")
MAX_AGE_S = 30 * 86400
"""Caches that no run has used for so long are deleted."""


def main() -> int:
    cache = ROOT / ".mypy_cache"
    fetch(cache, find_shared(ROOT))
    status = subprocess.run(["mypy", *sys.argv[1:]], cwd=ROOT, check=False).returncode
    if status == 0 and not sys.argv[1:]:
        share(cache, find_shared(ROOT))
    return status


def find_shared(root: Path) -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "mypy"
    locks = b"".join((root / "requirements" / name).read_bytes() for name in LOCKS)
    return home / hashlib.sha256(locks + sys.version.encode()).hexdigest()[:16]


def fetch(cache: Path, shared: Path) -> None:
    """Copy the shared cache to where mypy looks, unless this checkout has one of its own."""
    if cache.exists():
        return
    with locked(shared.parent):
        if shared.exists():
            copy(shared, cache)
            os.utime(shared)


def share(cache: Path, shared: Path) -> None:
    with locked(shared.parent):
        for unused in shared.parent.iterdir():
            if unused.is_dir() and unused.stat().st_mtime < time.time() - MAX_AGE_S:
                shutil.rmtree(unused)
        copy(cache, shared)
        os.utime(shared)


def copy(source: Path, target: Path) -> None:
    """All of it or nothing, also where this process is killed."""
    unfinished = target.with_name(f"{target.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(source, unfinished)
    shutil.rmtree(target, ignore_errors=True)
    unfinished.rename(target)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
