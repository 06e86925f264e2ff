"""Reads the files of a plugin folder as bytes, within limits, and computes their digest."""

import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from rightseat.plugins.loading.limits import PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport

Files = Mapping[str, bytes]
"""Contents by path, relative to the plugin's folder, with slashes."""


def read_folder(folder: Path, limits: PluginLimits, report: DiagnosticReport) -> dict[str, bytes]:
    """Read all files. Links are not followed; files over the limits are reported and not read."""
    found: dict[str, bytes] = {}
    size = 0
    for path, entry in _walk(folder, "", limits.max_depth, report):
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
            report.add_file(
                "E109",
                ascii(path)[1:-1],
                "the file name has control characters or is not UTF-8.",
                "use letters and digits",
            )
            continue
        if not entry.is_file(follow_symlinks=False):
            report.add_file(
                "E109",
                path,
                f"{path} is {_describe_kind(entry)}.",
                "a plugin may contain only regular files and folders",
            )
            continue
        size += entry.stat(follow_symlinks=False).st_size
        if len(found) >= limits.max_files:
            report.add_file("E108", path, f"the folder has more than {limits.max_files} files.")
            return found
        if size > limits.max_bytes:
            report.add_file("E108", path, f"the folder has more than {limits.max_bytes:,} bytes.")
            return found
        try:
            found[path] = Path(entry.path).read_bytes()
        except OSError as error:
            report.add_file("E109", path, f"{path} cannot be read: {error.strerror}.")
    return found


def check_limits(files: Files, limits: PluginLimits, report: DiagnosticReport) -> None:
    """Report files of a draft that `read_folder` would not read once they are stored."""
    if len(files) > limits.max_files:
        report.add_file("E108", "", f"the folder has more than {limits.max_files} files.")
    if sum(len(content) for content in files.values()) > limits.max_bytes:
        report.add_file("E108", "", f"the folder has more than {limits.max_bytes:,} bytes.")
    for path in files:
        if path.count("/") >= limits.max_depth:
            report.add_file("E108", path, "folders are nested too deeply.")


def list_folder(folder: Path, limits: PluginLimits) -> list[tuple[str, int]]:
    """The paths and sizes of the files that `read_folder` reads, without their contents. Raises `OSError`."""
    found = _walk(folder, "", limits.max_depth, DiagnosticReport("compat"))
    files = [(path, entry.stat(follow_symlinks=False)) for path, entry in islice(found, limits.max_files)]
    return [(path, about.st_size) for path, about in files if stat.S_ISREG(about.st_mode)]


def is_ignored(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__"


def compute_digest(files: Files) -> str:
    """Return the SHA-256 over the sorted paths and contents, each prefixed with its length."""
    sha256 = hashlib.sha256()
    for path in sorted(files):
        for part in (path.encode(), files[path]):
            sha256.update(len(part).to_bytes(8, "big"))
            sha256.update(part)
    return sha256.hexdigest()


def select_folder(files: Files, folder: str) -> dict[str, bytes]:
    return {path: content for path, content in files.items() if path.startswith(f"{folder}/")}


def _walk(folder: Path, above: str, depth: int, report: DiagnosticReport) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Yield everything but folders. An unreadable subfolder is reported; the plugin's own raises `OSError`."""
    if depth == 0:
        report.add_file("E108", f"{above.partition('/')[0]}/…", "folders are nested too deeply.")
        return
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if not above:
            raise
        report.add_file("E109", above, f"{above} cannot be read: {error.strerror}.")
        return
    for entry in ordered:
        if is_ignored(entry.name):
            continue
        path = f"{above}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{path}/", depth - 1, report)
        else:
            yield path, entry


def _describe_kind(entry: "os.DirEntry[str]") -> str:
    return "a link" if stat.S_ISLNK(entry.stat(follow_symlinks=False).st_mode) else "a special file"
