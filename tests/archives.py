"""Unpacks archives that the project has made."""

import tarfile
from pathlib import Path


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Python 3.11.2, Debian's, has no filters yet; Python 3.14 uses the filter `data` by itself."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)  # noqa: S202  # made by the project
