"""Where a llama-server is found: named by the operator, on the PATH, or within a package that brings one."""

import os
import shutil
from importlib import metadata
from pathlib import Path

from rightseat.core.errors import ConfigError

NAME = "llama-server"
NAMES = (NAME, f"{NAME}.exe")

ADVICE = (
    "Install llama.cpp (`brew install llama.cpp`, or a release of its project), or a Python package that brings "
    f"{NAME}, and see that it is on the PATH; or say where it is with `engine.binary`."
)


def find(named: Path | None = None) -> Path:
    """Raises `ConfigError`, with what to install."""
    if named is not None:
        found = shutil.which(named.expanduser()) or shutil.which(str(named.expanduser().absolute()))
        if found is None:
            raise ConfigError(f"{named} is no program that can be run. `engine.binary` should name a {NAME}.")
        return Path(found).absolute()
    if on_path := shutil.which(NAME):
        return Path(on_path).absolute()
    if packaged := _in_packages():
        return packaged
    raise ConfigError(f"There is no {NAME} here to run the model with. {ADVICE}")


def _in_packages() -> Path | None:
    """A wheel cannot say that a file of it may be run, so that is mended where it is ours to mend."""
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
