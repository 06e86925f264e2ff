"""Finds the llama-server to start: named in the options, on the PATH, or in an installed package."""

import os
import shutil
from importlib import metadata
from pathlib import Path

from rightseat.core.errors import ConfigError

NAME = "llama-server"
NAMES = (NAME, f"{NAME}.exe")

ADVICE = (
    "Install llama.cpp (`brew install llama.cpp`, or a release of its project), or a Python package that contains "
    f"{NAME}, and put it on the PATH; or set `backend.binary`."
)


def find(path: Path | None = None) -> Path:
    """Raises `ConfigError` with the package to install."""
    if path is not None:
        found = shutil.which(path.expanduser()) or shutil.which(str(path.expanduser().absolute()))
        if found is None:
            raise ConfigError(f"{path} is not an executable file. Set `backend.binary` to a {NAME}.")
        return Path(found).absolute()
    if on_path := shutil.which(NAME):
        return Path(on_path).absolute()
    if packaged := _in_packages():
        return packaged
    raise ConfigError(f"No {NAME} found. {ADVICE}")


def _in_packages() -> Path | None:
    """Set the executable bit if it is missing: a wheel cannot carry it."""
    for distribution in metadata.distributions():
        for file in distribution.files or ():
            if file.name not in NAMES:
                continue
            path = Path(str(distribution.locate_file(file)))
            if not path.is_file():
                continue
            if not os.access(path, os.X_OK):
                try:
                    path.chmod(path.stat().st_mode | 0o100)
                except OSError:
                    continue
            return path.absolute()
    return None
