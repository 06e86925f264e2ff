"""The audit log of operators: sign-ins, threads of others that they read, and what they do in the name of others."""

import logging
import time
from typing import Literal

from rightseat.core.audit import AUDIT_LOGGER, KIND, USER
from rightseat.operations.audit import AuditKind

audit = logging.getLogger(AUDIT_LOGGER)

OPENING_S = 600.0
"""Requests for the same thread within this time are one opening: a page reads a thread with several requests."""
MAX_OPENINGS = 10_000


class Openings:
    """Writes a line when an operator begins to read a thread, or a file, of another user."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, str], float] = {}  # (reader, subject) → time of its line, the oldest first

    def record(self, reader: str, kind: Literal["thread", "file"], id: str, owner: str) -> None:
        now, key = time.monotonic(), (reader, f"{kind} {id}")
        if reader == owner or now - self._written.get(key, -OPENING_S) < OPENING_S:
            return
        self._written.pop(key, None)
        self._written[key] = now
        if len(self._written) > MAX_OPENINGS:
            del self._written[next(iter(self._written))]
        write_line(f"%s read {kind} %s of %s", reader, id, owner)


def write_line(text: str, *names: str, kind: AuditKind = "operator") -> None:
    """The first name is that of the user who did it. The line contains no text of the conversation."""
    audit.info(f"operator: {text}", *(show_name(name) for name in names), extra={KIND: kind, USER: names[0]})


def show_name(name: str) -> str:
    """Clients choose ids of threads: a line break in one must not begin another line."""
    return name if name.isprintable() and " " not in name else repr(name)
