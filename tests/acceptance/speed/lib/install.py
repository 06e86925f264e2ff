"""The suite's dependencies live in a cache folder outside the repo; they are installed again when their pins change.

Run by `run` with the system's Python, so it imports the standard library only.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

SUITE = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "acceptance" / SUITE.name
PYTHON = CACHE / "venv" / "bin" / "python"
NODE_PEERS = ("copilotkit-current", "copilotkit-graphql")


def main() -> None:
    python_packages(CACHE, SUITE / "requirements.txt", "--no-deps", "--require-hashes")
    if "--peers" in sys.argv or "--reference" in sys.argv:
        for name in NODE_PEERS:
            node_packages(CACHE / name, SUITE / "peers" / name)
        python_packages(CACHE / "litellm", SUITE / "peers" / "litellm" / "requirements.txt")
    own = f"pycache_prefix={CACHE / 'pycache'}"  # no byte code beside the sources
    os.execv(PYTHON, [str(PYTHON), "-X", own, str(SUITE / "lib" / "main.py"), *sys.argv[1:]])


def python_packages(folder: Path, pins: Path, *options: str) -> None:
    if installed(folder, pins):
        return
    venv.create(folder / "venv", with_pip=True, clear=True)
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, "-r", pins)
    must(folder / "venv" / "bin" / "python", *install)
    stamp(folder, pins)


def node_packages(folder: Path, source: Path) -> None:
    pins = source / "package.json"
    if not installed(folder, pins):
        shutil.copy(pins, folder)
        must("npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts", "--loglevel=error", "--prefix", folder)
        stamp(folder, pins)
    shutil.copy(source / "server.mjs", folder)


def installed(folder: Path, pins: Path) -> bool:
    mark = folder / ".installed"
    if mark.exists() and mark.read_text() == digest(pins):
        return True
    folder.mkdir(parents=True, exist_ok=True)
    print(f"installing {pins.parent.name}/{pins.name} into {folder}", file=sys.stderr)
    return False


def stamp(folder: Path, pins: Path) -> None:
    (folder / ".installed").write_text(digest(pins))


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def must(*command: object) -> None:
    # Without byte code every start of a peer would compile it anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([str(part) for part in command], stdout=sys.stderr, env=environment)
    if done.returncode:
        sys.exit(f"{command[0]} failed with {done.returncode}")


if __name__ == "__main__":
    main()
