"""Appends user feedback from Workspace (thumbs up and down) to a file, one JSON object per line.

The store has it too. The file is for those who configure it, and for what an earlier version has written.

A full file (`MAX_FILE_BYTES`) is renamed to `….jsonl.1` and replaces the previous one, so disk use is bounded.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.types import JSON_ERRORS, JsonValue
from rightseat.faces._shared.responses import encode
from rightseat.parts import private_file, private_folder

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 16 * 2**20
MAX_TEXT_CHARS = 20_000
"""Characters of one text. Longer texts are truncated, and `cut` names them."""
FIELDS = ("vote", "tags", "user_comment", "ai_response", "user_prompt", "trace_id")

_decode = msgspec.json.Decoder().decode


class FeedbackFile:
    name = "feedback"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()

    async def append(
        self, fields: Mapping[str, Any], trace_id: str | None = None, user: str | None = None, row: str | None = None
    ) -> None:
        """`row` is the id of the vote in the store."""
        known = {key: value for key, value in (("user", user), ("row", row)) if value is not None}
        line = encode(describe_line(fields, trace_id) | known) + b"\n"
        async with self._lock:
            await asyncio.to_thread(self._append, line)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await asyncio.to_thread(self._read_user, user)

    async def forget_user(self, user: str) -> int:
        return await asyncio.to_thread(self._forget_user, user)

    def _append(self, line: bytes) -> None:
        private_folder(self._path.parent)
        with locked(self._path):
            if self._path.exists() and self._path.stat().st_size + len(line) > MAX_FILE_BYTES:
                self._path.replace(self._rotated_path)
                logger.warning(
                    "%s was full and is now %s; the previous %s was deleted",
                    self._path,
                    self._rotated_path.name,
                    self._rotated_path.name,
                )
            private_file(self._path)
            with self._path.open("ab") as file:
                file.write(line)

    def _read_user(self, user: str) -> list[JsonValue]:
        return [_decode(line) for file in self._files() for line in read_lines(file) if belongs_to(line, user)]

    def _forget_user(self, user: str) -> int:
        files = self._files()
        return sum(self._rewrite_without(file, user) for file in files) if files else 0

    def _rewrite_without(self, file: Path, user: str) -> int:
        with locked(self._path):
            found = read_lines(file)
            kept = [line for line in found if not belongs_to(line, user)]
            if len(kept) < len(found):
                fresh = file.with_name(f"{file.name}.{os.getpid()}")
                private_file(fresh)
                fresh.write_bytes(b"".join(line + b"\n" for line in kept))
                fresh.replace(file)
        return len(found) - len(kept)

    @property
    def _rotated_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.1")

    def _files(self) -> list[Path]:
        return [file for file in (self._rotated_path, self._path) if file.exists()]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Serialise appends and rewrites of the file among all processes that share its folder."""
    lock = path.with_name(f"{path.name}.lock")
    private_file(lock)
    with lock.open("rb") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def read_lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines()


def belongs_to(line: bytes, user: str) -> bool:
    try:
        kept = _decode(line)
    except JSON_ERRORS:
        return False
    return isinstance(kept, dict) and kept.get("user") == user


def describe_line(body_fields: Mapping[str, Any], trace_id: str | None) -> dict[str, Any]:
    """Missing fields stay missing."""
    line: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    line |= {key: body_fields[key] for key in FIELDS if body_fields.get(key) is not None}
    line.setdefault("trace_id", trace_id)
    cut = [key for key, value in line.items() if len(as_text(value)) > MAX_TEXT_CHARS]
    line |= {key: as_text(line[key])[:MAX_TEXT_CHARS] for key in cut}
    return line | ({"cut": cut} if cut else {})


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()
