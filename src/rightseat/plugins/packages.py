"""A plugin as it comes: a folder, a .zip or a .tar.gz. What could write elsewhere, or swell, is refused unread."""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, cast

from rightseat.core.errors import RightseatError
from rightseat.plugins.loading import files as folders
from rightseat.plugins.loading.limits import Limits
from rightseat.plugins.loading.notes import Notes

LONGEST_NAME = 200  # bytes
MOST_RATIO = 100
RATIO_FROM = 1_000_000  # bytes
_AT_ONCE = 64 * 1024


class PackageRefused(RightseatError):
    """`reason` is for programs."""

    code = "package_refused"
    status = 422

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Package:
    """`id` is the name of its one top folder."""

    id: str
    files: dict[str, bytes] = field(repr=False)


def read(path: Path, limits: Limits) -> Package:
    """Raises `PackageRefused`."""
    try:
        if path.is_dir():
            return _read_folder(path, limits)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return _gather(_zip_entries(archive), limits)
        with gzip.open(path) as unpacked:
            bounded = Bounded(unpacked, 2 * limits.size)
            with tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r|") as tar:
                return _gather(_tar_entries(tar, path.stat().st_size), limits)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        message = f"{path.name} is no .zip and no .tar.gz that can be read: {error}"
        raise PackageRefused("unreadable", message) from error
    except (OSError, UnicodeError) as error:
        raise PackageRefused("unreadable", f"{path} cannot be read: {error}") from error


class Bounded:
    """No more comes out of it than is allowed, whatever an archive's headers ask for."""

    def __init__(self, file: gzip.GzipFile, most: int) -> None:
        self._file = file
        self._left = most

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, self._left + 1))
        self._left -= len(piece)
        if self._left < 0:
            raise PackageRefused("limits", "More comes out of the archive than is allowed.")
        return piece


@dataclass(frozen=True, slots=True)
class Entry:
    """`packed` is how many bytes it takes in the archive; of a .tar.gz, which is packed as a whole, all of them."""

    name: str
    kind: str
    size: int
    packed: int
    open: Callable[[], IO[bytes] | None]


def _read_folder(path: Path, limits: Limits) -> Package:
    notes = Notes("compat")
    files = folders.gather(path, limits, notes)
    for one in notes.found:
        raise PackageRefused("link" if one.code == "E109" else "limits", f"{path}: {one.message}")
    for name in files:
        _check_name(name)
    _check_duplicates(files)
    return Package(path.resolve().name, files)


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[Entry]:
    for info in archive.infolist():
        mode = info.external_attr >> 16
        name = info.orig_filename
        if info.flag_bits & 1:
            raise PackageRefused("encrypted", f"{name!r} is locked with a password.")
        is_folder = info.is_dir() or stat.S_ISDIR(mode)
        is_file = stat.S_IFMT(mode) in (0, stat.S_IFREG)
        kind = "folder" if is_folder else "file" if is_file else "link" if stat.S_ISLNK(mode) else "special"
        yield Entry(name, kind, info.file_size, info.compress_size, partial(archive.open, info))


def _tar_entries(archive: tarfile.TarFile, packed: int) -> Iterator[Entry]:
    for member in archive:
        is_link = member.issym() or member.islnk()
        kind = "folder" if member.isdir() else "file" if member.isreg() else "link" if is_link else "special"
        yield Entry(member.name, kind, member.size, packed, partial(archive.extractfile, member))


def _gather(entries: Iterator[Entry], limits: Limits) -> Package:
    files: dict[str, bytes] = {}
    tops: set[str] = set()
    seen: set[str] = set()
    size = count = 0
    for entry in entries:
        count += 1
        if count > 4 * limits.files:
            raise PackageRefused("limits", f"The archive has more than {limits.files} files.")
        name = entry.name.rstrip("/") if entry.kind == "folder" else entry.name
        if name in ("", ".") and entry.kind == "folder":
            continue
        _check_name(name.removeprefix("./"))
        if entry.kind in ("link", "special"):
            raise PackageRefused(entry.kind, f"{name!r} is a link or a special file.")
        name = name.removeprefix("./")
        top, _, inner = name.partition("/")
        tops.add(top)
        if entry.kind == "folder":
            continue
        if name.casefold() in seen:
            raise PackageRefused("duplicate", f"{name!r} is in the archive twice; upper and lower case are one.")
        seen.add(name.casefold())
        if not inner:
            raise PackageRefused("top", f"{name!r} is not in the plugin's folder, which is the one at the top.")
        content = _read(entry, limits.size - size)
        size += len(content)
        if not any(folders.is_ignored(part) for part in inner.split("/")):
            files[inner] = content
        if len(files) > limits.files:
            raise PackageRefused("limits", f"The archive has more than {limits.files} files.")
    if len(tops) != 1:
        raise PackageRefused("top", f"The archive has {len(tops)} folders at the top; it should have one.")
    _check_duplicates(files)
    return Package(tops.pop(), files)


def _check_duplicates(files: dict[str, bytes]) -> None:
    """Neither two files of one name, nor a file where another one wants a folder."""
    folded = [name.casefold() for name in files]
    above = {"/".join(name.split("/")[:n]) for name in folded for n in range(1, name.count("/") + 1)}
    if len(set(folded)) < len(folded) or above & set(folded):
        raise PackageRefused("duplicate", "Two names are one where upper and lower case are one.")


def _check_name(name: str) -> None:
    shown = repr(name[:80])
    if "\0" in name:
        raise PackageRefused("nul", f"{shown} has a NUL in it.")
    if "\\" in name:
        raise PackageRefused("backslash", f"{shown} has a backslash in it.")
    if name.startswith("/") or name[1:2] == ":":
        raise PackageRefused("absolute", f"{shown} is an absolute path.")
    if any(part in ("..", ".", "") for part in name.split("/")):
        raise PackageRefused("traversal", f"{shown} leads out of the folder, or has an empty part.")
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        raise PackageRefused("long_name", f"{shown}… is longer than {LONGEST_NAME} bytes.")
    if any("\ud800" <= character <= "\udfff" or ord(character) < 32 for character in name):
        raise PackageRefused("name", f"{shown} is not UTF-8, or has control characters in it.")


def _read(entry: Entry, room: int) -> bytes:
    """Counts what really comes out: what an archive says of itself may be wrong."""
    found = bytearray()
    with entry.open() or io.BytesIO() as content:
        while piece := content.read(_AT_ONCE):
            found += piece
            if len(found) > room:
                raise PackageRefused("limits", f"{entry.name!r} and the files before it are larger than is allowed.")
            packed = max(entry.packed, 1)
            if len(found) > RATIO_FROM and len(found) > MOST_RATIO * packed:
                raise PackageRefused("bomb", f"{entry.name!r} is packed more than {MOST_RATIO} times smaller.")
    return bytes(found)
