"""Locks a suite to the newest versions of its clients, in this checkout, and reports which.

    python -m tests.compatibility.newest copilotkit-current >> summary.md

`.ci/nightly newest` does so in a copy, and then runs the suite. Clients that stay at a version on purpose are left
alone (`Client.follows`). So is a client whose newest version cannot be installed, and the table says why. Needs npm for
packages of JavaScript and uv for those of Python.
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


class Uninstallable(Exception):
    """A registry has a version and lacks what this version depends on; what the installer says."""


def main() -> None:
    (suite,) = sys.argv[1:]
    followed = [(ROOT / one.lock, one.follows) for one in CLIENTS if one.judge == suite and one.follows]
    if not followed:
        sys.exit(f"No client of the suite {suite!r} is followed.")
    before = {file: read_lock(file) for file, _ in followed}
    refused = dict[tuple[str, ...], str]()
    try:
        update(followed)
    except Uninstallable:  # one client at a time, so that the others are tried
        for file, names in followed:
            try:
                update([(file, names)])
            except Uninstallable as error:
                refused[names] = str(error)
                sys.stderr.write(f"not tried: the newest {', '.join(names)}: {error}\n")
    read_lock.cache_clear()
    sys.stdout.write(f"### {suite}\n\n| client | locked | newest |\n|---|---|---|\n")
    for file, names in followed:
        for name in names:
            package, locked = before[file][name]
            newest = refused.get(names) or read_lock(file)[name][1]
            sys.stdout.write(f"| `{package}` | {locked} | {newest} |\n")


def update(followed: Iterable[tuple[Path, tuple[str, ...]]]) -> None:
    """Lock these to their newest versions, or leave all files as they were."""
    places = [path for file, _ in followed for path in (file, file.parent / "package-lock.json") if path.exists()]
    kept = {path: path.read_bytes() for path in places}
    try:
        for file, names in followed:
            update_npm(file, names) if file.suffix == ".json" else update_pip(file, names)
        for folder in {file.parent for file, _ in followed if file.suffix == ".json"}:
            lock_npm(folder)
    except Uninstallable:
        for path, content in kept.items():
            path.write_bytes(content)
        raise


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
    command = ["npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--loglevel=error"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    if ended.returncode:
        sys.stderr.write(ended.stderr)
        raise Uninstallable(find_reason(ended.stderr))


def find_reason(printed: str) -> str:
    """The first sentence of npm's, without the words before it, which name its kind."""
    sentences = re.findall(r"^npm (?:error|ERR!) (?:[a-z]+ )?(\S+(?: \S+){2,})$", printed, re.MULTILINE)
    return sentences[0] if sentences else f"npm failed: {printed.strip()[-200:]}"


def newest_npm(package: str) -> str:
    return subprocess.run(
        ["npm", "view", package, "version"], check=True, capture_output=True, text=True, timeout=120
    ).stdout.strip()


def update_pip(file: Path, names: Iterable[str]) -> None:
    """Compile the file that the lock file is made from, without the versions of these packages."""
    ended = subprocess.run(
        [*COMPILE, *UNPINNED, "--upgrade", "-", "--output-file", str(file)],
        input=unpin(file.with_suffix(".in").read_text(), names),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if ended.returncode:
        raise Uninstallable(" ".join(ended.stderr.split()))


def unpin(text: str, names: Iterable[str]) -> str:
    for name in names:
        text = re.sub(rf"^({re.escape(name)})==\S+", r"\1", text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    main()
