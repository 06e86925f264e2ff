"""Files that are ZIP archives inside, opened with care: a small one may hold a huge one."""

import io
import zipfile

from rightseat.core.errors import Unreadable
from rightseat.data.documents.limits import Limits

MOST_ENTRIES = 10_000
LOCKED = b"\xd0\xcf\x11\xe0"  # what an encrypted Office file begins with, and an old one


def check(data: bytes, limits: Limits, holds: str) -> None:
    """Raises `Unreadable`. An entry can unpack to no more than the size it is listed with, so the list is enough."""
    if data.startswith(LOCKED):
        raise Unreadable("It is locked with a password, or written by an old version of Office.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise Unreadable("It is broken, or no such file at all.") from None
    if len(entries) > MOST_ENTRIES or sum(entry.file_size for entry in entries) > limits.unpacked:
        raise Unreadable(f"It unpacks to more than {limits.unpacked // 2**20} MB.")
    if not any(entry.filename.startswith(holds) for entry in entries):
        raise Unreadable("It is broken, or no such file at all.")
