"""Checks ZIP-based files before opening them: a small archive may unpack to a huge one."""

import io
import zipfile

from rightseat.core.errors import UnreadableFile
from rightseat.data.documents.limits import DocumentLimits

MAX_ENTRIES = 10_000
OLE_MAGIC = b"\xd0\xcf\x11\xe0"  # start of encrypted and old Office files


def check_archive(data: bytes, limits: DocumentLimits, required_folder: str) -> None:
    """Raise `UnreadableFile`. The listed sizes are enough: an entry cannot unpack to more."""
    if data.startswith(OLE_MAGIC):
        raise UnreadableFile("It is password-protected, or saved by an old version of Office.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise UnreadableFile("It is damaged, or another type of file.") from None
    if len(entries) > MAX_ENTRIES or sum(entry.file_size for entry in entries) > limits.unpacked:
        raise UnreadableFile(f"It unpacks to more than {limits.unpacked // 2**20} MB.")
    if not any(entry.filename.startswith(required_folder) for entry in entries):
        raise UnreadableFile("It is damaged, or another type of file.")
