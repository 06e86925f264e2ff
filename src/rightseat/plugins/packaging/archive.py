"""Reads a plugin package from a folder, a .zip or a .tar.gz, and rejects path traversal, links and zip bombs."""

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
from rightseat.plugins.loading.limits import PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport

MAX_NAME_BYTES = 200
MAX_RATIO = 100
RATIO_CHECK_BYTES = 1_000_000  # smaller files may have any compression ratio
_CHUNK_BYTES = 64 * 1024


class PackageRefused(RightseatError):
    """The package is rejected. `reason` is a stable word for programs."""

    code = "package_refused"
    status = 422

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Package:
    """The files of a plugin. `id` is the name of the single top folder."""

    id: str
    files: dict[str, bytes] = field(repr=False)


def read(path: Path, limits: PluginLimits) -> Package:
    """Raises `PackageRefused`."""
    try:
        if path.is_dir():
            return _read_folder(path, limits)
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return _collect_files(_zip_entries(archive), limits)
        with gzip.open(path) as unpacked:
            bounded = BoundedReader(unpacked, 2 * limits.max_bytes)
            with tarfile.open(fileobj=cast(IO[bytes], bounded), mode="r|") as tar:
                return _collect_files(_tar_entries(tar, path.stat().st_size), limits)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        message = f"{path.name} is not a readable .zip or .tar.gz: {error}"
        raise PackageRefused("unreadable", message) from error
    except (OSError, UnicodeError) as error:
        raise PackageRefused("unreadable", f"{path} cannot be read: {error}") from error


class BoundedReader:
    """Stops reading after a number of bytes, whatever sizes the archive declares."""

    def __init__(self, file: gzip.GzipFile, most: int) -> None:
        self._file = file
        self._left = most

    def read(self, size: int) -> bytes:
        piece = self._file.read(min(size, self._left + 1))
        self._left -= len(piece)
        if self._left < 0:
            raise PackageRefused("limits", "The unpacked archive is larger than is allowed.")
        return piece


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """`packed` is the compressed size in bytes; for a .tar.gz, the size of the whole archive."""

    name: str
    kind: str
    size: int
    packed: int
    open: Callable[[], IO[bytes] | None]


def _read_folder(path: Path, limits: PluginLimits) -> Package:
    report = DiagnosticReport("compat")
    files = folders.read_folder(path, limits, report)
    for one in report.diagnostics:
        raise PackageRefused("link" if one.code == "E109" else "limits", f"{path}: {one.message}")
    for name in files:
        _check_name(name)
    _check_duplicates(files)
    return Package(path.resolve().name, files)


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[ArchiveEntry]:
    for info in archive.infolist():
        mode = info.external_attr >> 16
        name = info.orig_filename
        if info.flag_bits & 1:
            raise PackageRefused("encrypted", f"{name!r} is encrypted.")
        is_folder = info.filename.endswith("/") or stat.S_ISDIR(mode)  # `is_dir` fails for a file without a name
        is_file = stat.S_IFMT(mode) in (0, stat.S_IFREG)
        kind = "folder" if is_folder else "file" if is_file else "link" if stat.S_ISLNK(mode) else "special"
        yield ArchiveEntry(name, kind, info.file_size, info.compress_size, partial(archive.open, info))


def _tar_entries(archive: tarfile.TarFile, packed: int) -> Iterator[ArchiveEntry]:
    for member in archive:
        is_link = member.issym() or member.islnk()
        kind = "folder" if member.isdir() else "file" if member.isreg() else "link" if is_link else "special"
        yield ArchiveEntry(member.name, kind, member.size, packed, partial(archive.extractfile, member))


def _collect_files(entries: Iterator[ArchiveEntry], limits: PluginLimits) -> Package:
    files: dict[str, bytes] = {}
    tops: set[str] = set()
    seen: set[str] = set()
    size = count = 0
    for entry in entries:
        count += 1
        if count > 4 * limits.max_files:
            raise PackageRefused("limits", f"The archive has more than {limits.max_files} files.")
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
            raise PackageRefused("duplicate", f"{name!r} is in the archive twice; names ignore upper and lower case.")
        seen.add(name.casefold())
        if not inner:
            raise PackageRefused("top", f"{name!r} is not inside the single top folder.")
        content = _read(entry, limits.max_bytes - size)
        size += len(content)
        if not any(folders.is_ignored(part) for part in inner.split("/")):
            files[inner] = content
        if len(files) > limits.max_files:
            raise PackageRefused("limits", f"The archive has more than {limits.max_files} files.")
    if len(tops) != 1:
        raise PackageRefused("top", f"The archive has {len(tops)} top folders; it should have one.")
    _check_duplicates(files)
    return Package(tops.pop(), files)


def _check_duplicates(files: dict[str, bytes]) -> None:
    """Reject two files with the same name, and a file whose name another path uses as a folder."""
    folded = [name.casefold() for name in files]
    above = {"/".join(name.split("/")[:n]) for name in folded for n in range(1, name.count("/") + 1)}
    if len(set(folded)) < len(folded) or above & set(folded):
        raise PackageRefused("duplicate", "Two files have the same name; names ignore upper and lower case.")


def _check_name(name: str) -> None:
    shown = repr(name[:80])
    if "\0" in name:
        raise PackageRefused("nul", f"{shown} contains a NUL character.")
    if "\\" in name:
        raise PackageRefused("backslash", f"{shown} contains a backslash.")
    if name.startswith("/") or name[1:2] == ":":
        raise PackageRefused("absolute", f"{shown} is an absolute path.")
    if any(part in ("..", ".", "") for part in name.split("/")):
        raise PackageRefused("traversal", f"{shown} has a `..`, `.` or empty segment.")
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        raise PackageRefused("long_name", f"{shown}… is longer than {MAX_NAME_BYTES} bytes.")
    if any("\ud800" <= character <= "\udfff" or ord(character) < 32 for character in name):
        raise PackageRefused("name", f"{shown} is not UTF-8 or has control characters.")


def _read(entry: ArchiveEntry, max_bytes: int) -> bytes:
    """Count the bytes actually read, because the declared sizes may be wrong."""
    found = bytearray()
    with entry.open() or io.BytesIO() as content:
        while piece := content.read(_CHUNK_BYTES):
            found += piece
            if len(found) > max_bytes:
                raise PackageRefused("limits", f"The files up to {entry.name!r} are larger than is allowed.")
            packed = max(entry.packed, 1)
            if len(found) > RATIO_CHECK_BYTES and len(found) > MAX_RATIO * packed:
                raise PackageRefused("bomb", f"The compression ratio of {entry.name!r} is above {MAX_RATIO}.")
    return bytes(found)
