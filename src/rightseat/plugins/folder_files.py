"""Reads, creates and replaces single files in the folder of a plugin, without following links out of it."""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

from rightseat.operations.workbench import PluginFileProtected
from rightseat.plugins.loading.files import is_ignored

EDITABLE_SUFFIXES = (".json", ".yaml", ".yml", ".md", ".csv")
CODE_FOLDER = "lib"
MAX_PATH_CHARS = 500


def is_editable(path: str) -> bool:
    return explain_protection(path) is None


def check_editable(path: str) -> None:
    """Raises `PluginFileProtected`."""
    if reason := explain_protection(path):
        raise PluginFileProtected(path[:MAX_PATH_CHARS], reason)


def explain_protection(path: str) -> str | None:
    """Why the workbench may not change the path; None if it may."""
    if not is_inside(path):
        return "it is not a path inside of the plugin's folder"
    if path.casefold().split("/")[0] == CODE_FOLDER:
        return "code is changed where it is reviewed"
    if not path.casefold().endswith(EDITABLE_SUFFIXES):
        return f"only {', '.join(EDITABLE_SUFFIXES)} files are"
    return None


def is_inside(path: str) -> bool:
    """Whether the path is relative and normal, with slashes, and names no file that plugins ignore."""
    names = path.split("/")
    is_plain = path.isprintable() and len(path) <= MAX_PATH_CHARS and not any(mark in path for mark in "\\:")
    return is_plain and str(PurePosixPath(path)) == path and not any(not one or is_ignored(one) for one in names)


def find_file(folder: Path, path: str) -> Path | None:
    """The regular file at the path. None if there is none, or if a part of its path is a link."""
    if not is_inside(path):
        return None
    place = folder
    *folders, name = path.split("/")
    for one in folders:
        place /= one
        if not has_kind(place, stat.S_IFDIR):
            return None
    return place / name if has_kind(place / name, stat.S_IFREG) else None


def create_file(folder: Path, path: str, content: bytes) -> None:
    """Write a new file, and the folders of its path that are missing.

    Raises `FileExistsError`, and `OSError` if a part of its path is a link or a file.
    """
    place = folder
    *folders, name = path.split("/")
    for one in folders:
        place /= one
        with suppress(FileExistsError):
            place.mkdir()
        if not has_kind(place, stat.S_IFDIR):
            raise NotADirectoryError(errno.ENOTDIR, f"{one} is not a folder")
    with (place / name).open("xb") as new:  # exclusive: a link at this place is not followed
        new.write(content)


def has_kind(place: Path, kind: int) -> bool:
    """Whether the place itself, and not the target of a link, is of this kind."""
    try:
        return stat.S_IFMT(place.lstat().st_mode) == kind
    except OSError:
        return False


def compute_etag(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def replace_file(place: Path, content: bytes) -> None:
    """Atomic: a reader finds the old or the new content. The mode of the file stays. Raises `OSError`."""
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".saving-", delete=False) as new:
        beside = Path(new.name)
        try:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
            shutil.copymode(place, beside)
            beside.replace(place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
