"""The files of a plugin: found, measured, read as bytes, and named by a digest. Nothing of them is run."""

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from rightseat.plugins.loading.limits import Limits
from rightseat.plugins.loading.notes import Notes

Files = Mapping[str, bytes]
"""Contents by path, with slashes, from the plugin's folder on."""


def gather(folder: Path, limits: Limits, notes: Notes) -> dict[str, bytes]:
    """Links are not followed, and what is over the limits is not read."""
    found: dict[str, bytes] = {}
    size = 0
    for path, entry in _walk(folder, "", limits.depth, notes):
        if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in path):
            notes.add_file("E109", ascii(path)[1:-1], "the name of a file cannot be read.", "use letters and digits")
            continue
        if not entry.is_file(follow_symlinks=False):
            notes.add_file("E109", path, f"{path} is {_kind(entry)}.", "a plugin has plain files and folders only")
            continue
        size += entry.stat(follow_symlinks=False).st_size
        if len(found) >= limits.files:
            notes.add_file("E108", path, f"the folder has more than {limits.files} files.")
            return found
        if size > limits.size:
            notes.add_file("E108", path, f"the folder has more than {limits.size:,} bytes.")
            return found
        try:
            found[path] = Path(entry.path).read_bytes()
        except OSError as error:
            notes.add_file("E109", path, f"{path} cannot be read: {error.strerror}.")
    return found


def is_ignored(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def digest(files: Files) -> str:
    """The SHA-256 over the sorted paths and the contents, each with its length before it."""
    whole = hashlib.sha256()
    for path in sorted(files):
        for part in (path.encode(), files[path]):
            whole.update(len(part).to_bytes(8, "big"))
            whole.update(part)
    return whole.hexdigest()


def below(files: Files, folder: str) -> dict[str, bytes]:
    return {path: content for path, content in files.items() if path.startswith(f"{folder}/")}


def _walk(folder: Path, above: str, depth: int, notes: Notes) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """All but folders. A folder inside that cannot be looked into is told; the plugin's own raises `OSError`."""
    if depth == 0:
        notes.add_file("E108", f"{above.partition('/')[0]}/…", "folders are nested too deep.")
        return
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if not above:
            raise
        notes.add_file("E109", above, f"{above} cannot be read: {error.strerror}.")
        return
    for entry in ordered:
        if is_ignored(entry.name):
            continue
        path = f"{above}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{path}/", depth - 1, notes)
        else:
            yield path, entry


def _kind(entry: "os.DirEntry[str]") -> str:
    return "a link" if stat.S_ISLNK(entry.stat(follow_symlinks=False).st_mode) else "a special file"
