"""Locks a suite to the newest versions of its clients, in this checkout, and reports which.

    python -m tests.compatibility.newest copilotkit-current >> summary.md

`.ci/nightly newest` does so in a copy, and then runs the suite. Clients that stay at a version on purpose are left
alone (`Client.follows`). Needs npm for packages of JavaScript and uv for those of Python.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.compatibility.locked import CLIENTS, ROOT, read_lock, read_npm

Newest = Callable[[str], str]
COMPILE = ("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes")
UNPINNED = ("--no-emit-index-url", "--no-emit-find-links")


def main() -> None:
    (suite,) = sys.argv[1:]
    followed = [(ROOT / one.lock, one.follows) for one in CLIENTS if one.judge == suite and one.follows]
    if not followed:
        sys.exit(f"No client of the suite {suite!r} is followed.")
    before = {file: read_lock(file) for file, _ in followed}
    for file, names in followed:
        update_npm(file, names) if file.suffix == ".json" else update_pip(file, names)
    for folder in {file.parent for file, _ in followed if file.suffix == ".json"}:
        lock_npm(folder)
    read_lock.cache_clear()
    sys.stdout.write(f"### {suite}\n\n| client | locked | newest |\n|---|---|---|\n")
    for file, names in followed:
        for name in names:
            package, locked = before[file][name]
            sys.stdout.write(f"| `{package}` | {locked} | {read_lock(file)[name][1]} |\n")


def update_npm(file: Path, names: Iterable[str], newest: Newest | None = None) -> None:
    newest = newest or newest_npm
    content = json.loads(file.read_text())
    dependencies = content["dependencies"]
    for name in names:
        package, _ = read_npm(name, dependencies[name])
        version = newest(package)
        dependencies[name] = version if package == name else f"npm:{package}@{version}"
    file.write_text(json.dumps(content, indent=2) + "\n")


def lock_npm(folder: Path) -> None:
    """Compute package-lock.json anew, which `npm ci` installs. An `.npmrc` in the folder applies."""
    subprocess.run(
        ["npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        check=True,
        stdout=sys.stderr,
        timeout=900,
    )


def newest_npm(package: str) -> str:
    return subprocess.run(
        ["npm", "view", package, "version"], check=True, capture_output=True, text=True, timeout=120
    ).stdout.strip()


def update_pip(file: Path, names: Iterable[str]) -> None:
    """Compile the file that the lock file is made from, without the versions of these packages."""
    subprocess.run(
        [*COMPILE, *UNPINNED, "--upgrade", "-", "--output-file", str(file)],
        input=unpin(file.with_suffix(".in").read_text(), names),
        check=True,
        text=True,
        timeout=600,
    )


def unpin(text: str, names: Iterable[str]) -> str:
    for name in names:
        text = re.sub(rf"^({re.escape(name)})==\S+", r"\1", text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    main()
