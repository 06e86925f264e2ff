"""Full disks: an error of a file or a database that cannot be written to, whichever library raises it."""

import errno
import sqlite3
from collections.abc import Iterator

from rightseat.core.errors import RightseatError, StorageFull

FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
FULL_SQLITE_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
DISK_FULL_SQLSTATE = "53100"


def is_storage_full(error: BaseException) -> bool:
    """Whether the disk of a file or of a database is full. SQLite calls a disk that fails an I/O error, often for the
    same reason."""
    return any(map(is_full_error, find_causes(error)))


def explain_full_storage(error: Exception) -> Exception:
    """`StorageFull` instead of the error of a library."""
    if isinstance(error, RightseatError) or not is_storage_full(error):
        return error
    full = StorageFull()
    full.__cause__ = error
    return full


def find_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, the driver's error that SQLAlchemy has wrapped (`orig`), and those that caused it."""
    while error is not None:
        yield error
        original = getattr(error, "orig", None)
        error = original if isinstance(original, BaseException) else error.__cause__


def is_full_error(error: BaseException) -> bool:
    match error:
        case StorageFull():
            return True
        case OSError():
            return error.errno in FULL_ERRNOS
        case sqlite3.Error():
            return getattr(error, "sqlite_errorcode", 0) & 0xFF in FULL_SQLITE_CODES
    return getattr(error, "sqlstate", None) == DISK_FULL_SQLSTATE
