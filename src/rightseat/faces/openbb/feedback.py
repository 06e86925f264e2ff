"""What users say of answers: Workspace's thumbs up and down, kept one JSON object a line.

The file never grows over twice `MOST` bytes: when it is full it becomes `feedback.jsonl.1`, in place of the one before.
"""

import asyncio
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from rightseat.core.errors import BadAsk
from rightseat.faces.answers import UNREADABLE, encode, mended

logger = logging.getLogger(__name__)

MOST = 16 * 2**20
LONGEST = 20_000
"""Characters of one text; what is longer is cut, and the line says so."""
KNOWN = ("vote", "tags", "user_comment", "ai_response", "user_prompt", "trace_id")

_decode = msgspec.json.Decoder().decode


class Feedback:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = asyncio.Lock()

    async def keep(self, body: bytes, trace_id: str | None = None) -> None:
        """Raises `BadAsk` where the body is no feedback at all."""
        line = encode(read(body, trace_id)) + b"\n"
        async with self._lock:
            await asyncio.to_thread(self._append, line)

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size + len(line) > MOST:
            self._path.replace(self._path.with_name(self._path.name + ".1"))
            logger.warning(
                "%s was full: it is %s.1 now, and what was there before is gone", self._path, self._path.name
            )
        with open(self._path, "ab", opener=private) as file:
            file.write(line)


def private(path: str, flags: int) -> int:
    """What users say is for the operator alone."""
    return os.open(path, flags, 0o600)


def read(body: bytes, trace_id: str | None) -> dict[str, Any]:
    """The line to keep. What is missing is missing; what is not known is left out and named in the log."""
    try:
        said = _decode(mended(body))
    except UNREADABLE as error:
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
