"""Locks on files, by which processes of one machine detect each other.

The kernel releases a lock when its process ends, in whatever way. A process that is only suspended keeps it.
"""

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class FileLock:
    """An exclusive lock on a file that exists only for it. Locks of one process exclude each other, too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        """Wait for the lock, which `is_locked` in another process may hold for an instant."""
        while self._handle is None:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if is_file_of(handle, self._path):
                self._handle = handle
            else:
                os.close(handle)  # `is_locked` has deleted the file

    def delete(self) -> None:
        """Release the lock and delete its file."""
        if self._handle is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock. The file of one that has ended is deleted."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        if not try_lock(handle):
            return True
        if is_file_of(handle, path):
            path.unlink(missing_ok=True)
        return False
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_file_of(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
