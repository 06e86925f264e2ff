"""What users say of answers: Workspace's thumbs up and down, kept one JSON object a line.

The file never grows over twice `MOST` bytes: when it is full it becomes `feedback.jsonl.1`, in place of the one before.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import BadAsk
from rightseat.core.values import JSON_ERRORS, JsonValue
from rightseat.faces.answers import encode, mended
from rightseat.parts import private_file, private_folder

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)

MOST = 16 * 2**20
LONGEST = 20_000
"""Characters of one text; what is longer is cut, and the line says so."""
KNOWN = ("vote", "tags", "user_comment", "ai_response", "user_prompt", "trace_id")

_decode = msgspec.json.Decoder().decode


class Feedback:
    name = "feedback"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()

    async def keep(self, body: bytes, trace_id: str | None = None, user: str | None = None) -> None:
        """Raises `BadAsk` where the body is no feedback at all."""
        line = encode(read(body, trace_id) | ({"user": user} if user is not None else {})) + b"\n"
        async with self._lock:
            await asyncio.to_thread(self._append, line)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await asyncio.to_thread(self._read_user, user)

    async def forget_user(self, user: str) -> int:
        return await asyncio.to_thread(self._forget_user, user)

    def _append(self, line: bytes) -> None:
        private_folder(self._path.parent)
        with locked(self._path):
            if self._path.exists() and self._path.stat().st_size + len(line) > MOST:
                self._path.replace(self._full)
                logger.warning(
                    "%s was full: it is %s now, and what was there before is gone", self._path, self._full.name
                )
            private_file(self._path)
            with self._path.open("ab") as file:
                file.write(line)

    def _read_user(self, user: str) -> list[JsonValue]:
        return [_decode(line) for file in self._files() for line in lines(file) if is_of(line, user)]

    def _forget_user(self, user: str) -> int:
        files = self._files()
        return sum(self._rewrite_without(file, user) for file in files) if files else 0

    def _rewrite_without(self, file: Path, user: str) -> int:
        with locked(self._path):
            found = lines(file)
            kept = [line for line in found if not is_of(line, user)]
            if len(kept) < len(found):
                fresh = file.with_name(f"{file.name}.{os.getpid()}")
                private_file(fresh)
                fresh.write_bytes(b"".join(line + b"\n" for line in kept))
                fresh.replace(file)
        return len(found) - len(kept)

    @property
    def _full(self) -> Path:
        return self._path.with_name(f"{self._path.name}.1")

    def _files(self) -> list[Path]:
        return [file for file in (self._full, self._path) if file.exists()]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time adds to the file or writes it anew, of all that share its folder."""
    lock = path.with_name(f"{path.name}.lock")
    private_file(lock)
    with lock.open("rb") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        yield


def lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines()


def is_of(line: bytes, user: str) -> bool:
    try:
        kept = _decode(line)
    except JSON_ERRORS:
        return False
    return isinstance(kept, dict) and kept.get("user") == user


def read(body: bytes, trace_id: str | None) -> dict[str, Any]:
    """The line to keep. What is missing is missing; what is not known is left out and named in the log."""
    try:
        said = _decode(mended(body))
    except JSON_ERRORS as error:
        raise BadAsk(f"The body cannot be read ({error}). Send a JSON object with `vote`.") from error
    if not isinstance(said, dict) or not any(key in said for key in KNOWN):
        raise BadAsk(f"The body is no feedback. Send a JSON object with {', '.join(KNOWN)}.")
    if unknown := sorted(str(key) for key in said.keys() - set(KNOWN)):
        logger.info("feedback came with keys that are not kept: %s", ", ".join(unknown)[:200])
    line: dict[str, Any] = {"at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    line |= {key: said[key] for key in KNOWN if said.get(key) is not None}
    line.setdefault("trace_id", trace_id)
    cut = [key for key, value in line.items() if len(as_text(value)) > LONGEST]
    line |= {key: as_text(line[key])[:LONGEST] for key in cut}
    return line | ({"cut": cut} if cut else {})


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode()
