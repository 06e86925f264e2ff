#!/usr/bin/env python3
"""Judges whether runs survive; see README.md. Prepares a virtual environment, then runs lib/main.py."""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "acceptance" / "faults"


def interpreter() -> Path:
    """The interpreter of a virtual environment that has the requirements; made once for each state of them."""
    needs = HERE / "requirements.txt"
    mark = hashlib.sha256(needs.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = CACHE / f"venv-{mark}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print("installing what the suite needs (once) ...", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        done = subprocess.run(
            [str(python), *install, "-r", str(needs)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            sys.exit(f"could not install the requirements:\n{done.stdout[-2000:]}")
        (folder / "ready").touch()
    return python


if __name__ == "__main__":
    python = str(interpreter())
    os.chdir(HERE.parent.parent.parent)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.execv(python, [python, str(HERE / "lib" / "main.py"), *sys.argv[1:]])  # noqa: S606
