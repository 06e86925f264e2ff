"""Writes the state folder of a server into one archive, while the server uses it."""

import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from rightseat.config import Config, ConfiguredPart
from rightseat.core.errors import ConfigError

BUSY_TIMEOUT_S = 30.0  # while the server migrates or rewrites a database
SIDE_FILES = ("-wal", "-shm", "-journal", ".lock")
"""What SQLite and locks leave beside a database. A copy has none of it."""
CACHES = ("prompt_cache",)  # large, and computed again


def write_backup(config: Config, file: Path) -> Sequence[str]:
    """Write the archive, which only this user can read. Returns the names in it. Raises `ConfigError`.

    `file` appears when it is complete, and is never overwritten.
    """
    folder = find_state_folder(config)
    databases = find_databases(config, folder)
    if file.exists():
        raise ConfigError(f"{file} already exists. Remove it, or name another file.")
    if file.resolve().is_relative_to(folder):
        raise ConfigError(f"{file} is in the state folder itself. Name a file outside of it.")
    try:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".rightseat-backup-") as scratch:
            archive = Path(scratch) / "archive"
            names = list(add_files(archive, folder, databases, Path(scratch) / "copy.db"))
            os.link(archive, file)  # unlike a rename, it refuses to overwrite
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"Cannot back up {folder} to {file}: {error}.") from error
    return names


def find_state_folder(config: Config) -> Path:
    return ((config.path.parent if config.path else Path()) / config.server.state_dir).resolve()


def find_databases(config: Config, folder: Path) -> list[Path]:
    """The SQLite files, that of the threads first.

    Steps are copied after the threads: an unfinished run of a restored thread then never lacks a step that it had
    finished, and no tool is called twice.
    """
    parts = {"threads": config.threads, "log": config.log, "engine": config.engine}
    found = [find_database(key, part, folder) for key, part in parts.items()]
    return [path for path in dict.fromkeys(found) if path is not None and path.exists()]


def find_database(key: str, part: ConfiguredPart, folder: Path) -> Path | None:
    if getattr(part.options, "url", None):
        raise ConfigError(
            f"`{key}` is in the database of `{part.type}`, which this command does not copy. Use the tools of that "
            "database: the page `Back up and restore` of the documentation has the order."
        )
    path: Path | None = getattr(part.options, "path", None)
    if path is None:
        return None  # it is in memory, or stores nothing
    path = path.resolve()
    if not path.is_relative_to(folder):
        raise ConfigError(
            f"`{key}.path` is {path}, outside of the state folder {folder}, which is what this command copies. "
            "Use a path in that folder."
        )
    return path


def add_files(archive: Path, folder: Path, databases: Sequence[Path], copy: Path) -> Iterator[str]:
    others = list(list_other_files(folder, databases))
    if not (databases or others):
        raise ConfigError(f"There is nothing to back up in {folder}. Has a server run with this configuration?")
    archive.touch(0o600)
    with tarfile.open(archive, "w:gz") as tar:
        for path in (*databases, *others):
            name = path.relative_to(folder).as_posix()
            if path in databases:
                copy_database(path, copy)
                tar.add(copy, name)
                copy.unlink()
            else:
                tar.add(path, name)
            yield name


def list_other_files(folder: Path, databases: Sequence[Path]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        is_cache = path.relative_to(folder).parts[0] in CACHES
        if path.is_file() and path not in databases and not is_cache and not path.name.endswith(SIDE_FILES):
            yield path


def copy_database(path: Path, copy: Path) -> None:
    """One snapshot; writers do not wait for it. Unlike the file, it has no space of deleted rows."""
    copy.touch(0o600)
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT_S)) as source:
        source.execute("VACUUM INTO ?", (str(copy),))
