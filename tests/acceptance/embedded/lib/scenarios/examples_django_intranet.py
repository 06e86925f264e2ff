"""examples/django-intranet: its own tests pass in a folder of its own, with the packages that its requirements.txt names."""

import os
import shutil
from pathlib import Path

from kit import expect, python

EXAMPLE = Path(__file__).resolve().parents[5] / "examples" / "django-intranet"


def check() -> None:
    shutil.copytree(EXAMPLE, "example", ignore=shutil.ignore_patterns(".rightseat", "__pycache__"))
    os.chdir("example")
    done = python("-m", "pytest", "-q", "--rootdir", ".")
    expect(done.returncode == 0 and "5 passed" in done.stdout, f"the tests fail: {done.stdout[-600:]}")
