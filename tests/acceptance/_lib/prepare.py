"""Prepares what a suite runs with, then hands over to its main program.

`run` of a suite calls this with the system's Python, so it imports the standard library only. All that is installed is
in `${XDG_CACHE_HOME:-~/.cache}/rightseat/acceptance/SUITE`: a virtual environment for each state of the requirements,
and a folder with node_modules for each state of the lock file. The file `ready` is written last. A lock keeps two runs
from installing the same.

    prepare.py SUITE REQUIREMENTS...

prints the interpreter of the environment that has these files, for programs in other languages.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

LIB = Path(__file__).resolve().parent
ROOT = LIB.parents[2]
COPY_AGE_S = 2 * 86400
INSTALLATION_AGE_S = 30 * 86400
"""Copies and installations that no run has used for so long are removed."""
UV = (str(ROOT / ".venv" / "bin" / "uv"), "pip", "install", "--quiet", "--python")  # what `just setup` installs
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
HASHED = ("--no-deps", "--require-hashes")
NPM = ("--no-audit", "--no-fund", "--loglevel=error")


def run_python(suite: Path, python: Path, *, main: str = "lib/main.py", keeps_bytecode: bool = False) -> NoReturn:
    """Replace this process by the suite's main program, in the root of the project, with this script's arguments.

    The program imports `tests.acceptance._lib` from there. No byte code is written beside the sources. With
    `keeps_bytecode` the program's is in the cache, and servers keep theirs as always.
    """
    options = []
    if keeps_bytecode:
        options = ["-X", f"pycache_prefix={find_cache(suite) / 'pycache'}"]
    else:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    before = filter(None, [os.environ.get("PYTHONPATH")])
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *before])
    os.chdir(ROOT)
    os.execv(python, [str(python), *options, str(suite / main), *sys.argv[1:]])  # noqa: S606


def run_node(suite: Path, *npm_options: str, main: str = "lib/main.mjs", needs_packages: bool = True) -> NoReturn:
    """The same in Node: the main program of a copy of the suite beside its packages, or of the suite itself."""
    require_node()
    sources = copy_sources(suite, install_packages(suite, *npm_options)) if needs_packages else suite
    os.environ["RS_SUITE_CACHE"] = str(find_cache(suite))
    os.chdir(ROOT)
    os.execvp("node", ["node", str(sources / main), *sys.argv[1:]])  # noqa: S606


def require_node() -> None:
    if not shutil.which("node") or not shutil.which("npm"):
        sys.exit("node (20 or newer) and npm are needed")


def find_cache(suite: Path) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "rightseat" / "acceptance" / suite.name


def find_python(
    suite: Path, *requirements: Path, name: str = "venv", is_hashed: bool = True, has_pip: bool = False
) -> Path:
    """The interpreter of a virtual environment that has these requirements; made once for each state of them.

    It gets pip, whose installation takes as long as that of most requirements, only where the suite or this needs it.
    """
    folder = find_cache(suite) / f"{name}-{digest(requirements, sys.version)}"
    python = folder / "bin" / "python"

    def install() -> None:
        has_uv = Path(UV[0]).exists()
        venv.create(folder, with_pip=has_pip or not has_uv)
        files = [word for file in requirements for word in ("-r", str(file))]
        installer = [*UV, str(python)] if has_uv else [str(python), *PIP]
        check_call([*installer, *(HASHED if is_hashed else ()), *files])

    install_once(folder, " and ".join(str(file.relative_to(suite.parent)) for file in requirements), install)
    return python


def install_packages(suite: Path, *npm_options: str, source: Path | None = None) -> Path:
    """The folder with node_modules as the package-lock.json in `source` says, the suite's own by default.

    Without that file npm takes the newest that package.json allows.
    """
    source = source or suite
    names = ("package.json", "package-lock.json", ".npmrc")
    files = [source / name for name in names if (source / name).exists()]
    name = "node" if source == suite else f"node-{source.name}"
    folder = find_cache(suite) / f"{name}-{digest(files, *npm_options)}"

    def install() -> None:
        for file in files:
            shutil.copy(file, folder)
        command = "ci" if (folder / "package-lock.json").exists() else "install"
        check_call(["npm", command, *NPM, *npm_options], folder)

    install_once(folder, f"{(source / 'package.json').relative_to(suite.parent)}, for some minutes", install)
    return folder


def install_once(folder: Path, title: str, install: Callable[[], None]) -> None:
    """Call `install` with a new, locked folder, unless an earlier call has come to its end."""
    ready = folder / "ready"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            print(f"installing {title} (once) ...", file=sys.stderr, flush=True)
            remove_unused(folder.parent.glob("*/ready"), INSTALLATION_AGE_S)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install()
        ready.touch()


def copy_sources(suite: Path, packages: Path) -> Path:
    """The suite in a copy beside node_modules, where Node looks for packages, and `_lib` beside the suite.

    The name of the copy follows the content of both, so that a run goes on with the sources that it began with.
    """
    sources = [path for folder in (suite, LIB) for path in sorted(folder.rglob("*")) if is_source(path)]
    names = [str(path.relative_to(suite.parent)) for path in sources]
    copy = packages / f"src-{digest(sources, *names)}"
    with (packages.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (copy / "ready").exists():
            remove_unused(packages.glob("src-*/ready"), COPY_AGE_S)
            shutil.rmtree(copy, ignore_errors=True)
            for path, name in zip(sources, names, strict=True):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy / name)
        (copy / "ready").touch()
    return copy / suite.name


def is_source(path: Path) -> bool:
    return path.is_file() and not {"__pycache__", "node_modules"} & set(path.parts)


def remove_unused(marks: Iterable[Path], age_s: float) -> None:
    for mark in marks:
        if mark.stat().st_mtime < time.time() - age_s:
            shutil.rmtree(mark.parent, ignore_errors=True)


def digest(files: Iterable[Path], *words: str) -> str:
    content = b"".join(path.read_bytes() for path in files) + "\0".join(words).encode()
    return hashlib.sha256(content).hexdigest()[:12]


def check_call(command: Sequence[str], folder: Path | None = None) -> None:
    """End this process with the last lines of the output if the command fails."""
    # Without byte code every start of what is installed would compile it anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"could not install, {' '.join(command[:4])} failed:\n{done.stdout[-2000:]}")


if __name__ == "__main__":
    suite, *requirements = (Path(word).resolve() for word in sys.argv[1:])
    print(find_python(suite, *requirements))
