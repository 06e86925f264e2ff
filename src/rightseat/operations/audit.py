"""The audit log: lines of the logger `rightseat.audit`, kept for operators who read them in a page or by a command.

`AuditTrail` keeps the last lines of this process, and writes all of them to the store of threads, if it stores any. The
writer works in the background: a run never waits for it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, Protocol, Self, get_args

import msgspec

from rightseat.concurrency import is_cancelled, run_to_completion
from rightseat.core.audit import AUDIT_LOGGER, KIND, ROUTINE, USER
from rightseat.core.tracing import LOG_CONTEXT

logger = logging.getLogger(__name__)

WRITE_INTERVAL_S = 1.0
MAX_LINES = 1000
MAX_UNWRITTEN = 10_000
"""Lines that wait for the store; beyond them the oldest are only in the log."""

AuditKind = Literal["approval", "key_change", "key_use", "limit", "operator", "sign_in"]
KINDS: Sequence[AuditKind] = get_args(AuditKind)


class AuditLine(msgspec.Struct, frozen=True):
    """`at` is ISO 8601, in UTC. `request` is the id in the header `x-request-id` of the response; empty if unknown.

    `user` is the user who did it.
    """

    at: str
    text: str
    request: str = ""
    kind: str = "operator"
    user: str = ""


class AuditQuery(msgspec.Struct, frozen=True):
    """Lines since this time, of this user and of this kind, the newest first."""

    since: str | None = None
    user: str | None = None
    kind: str | None = None
    limit: int = 200


class AuditStore(Protocol):
    async def append(self, lines: Sequence[AuditLine]) -> None: ...

    async def list(self, query: AuditQuery) -> Sequence[AuditLine]: ...


class AuditTrail(logging.Handler):
    """Keeps nothing while the logger's level is above INFO. While it is open, it writes the lines to its store."""

    def __init__(self, store: AuditStore | None = None) -> None:
        super().__init__(logging.INFO)
        self.store = store
        self._lines: deque[AuditLine] = deque(maxlen=MAX_LINES)
        self._unwritten: deque[AuditLine] = deque(maxlen=MAX_UNWRITTEN)
        self._is_store_away = False
        self._writing: asyncio.Task[None] | None = None

    @property
    def lines(self) -> Sequence[AuditLine]:
        """The newest last."""
        return list(self._lines)

    def emit(self, record: logging.LogRecord) -> None:
        is_routine, kind = getattr(record, ROUTINE, False), getattr(record, KIND, None)
        if is_routine and kind is None:
            return
        line = AuditLine(
            format_audit_time(datetime.fromtimestamp(record.created, UTC)),
            record.getMessage(),
            LOG_CONTEXT.get().request,
            kind or "operator",
            getattr(record, USER, ""),
        )
        if not is_routine:
            self._lines.append(line)
        if self.store is not None:
            self._unwritten.append(line)

    async def write(self) -> None:
        """Write the lines that came in since the last call. If the store is away, they wait for the next one."""
        if self.store is None or not self._unwritten:
            return
        lines = list(self._unwritten)
        self._unwritten.clear()
        try:
            await self.store.append(lines)
        except Exception as error:
            room = MAX_UNWRITTEN - len(self._unwritten)
            self._unwritten.extendleft(reversed(lines[max(0, len(lines) - room) :]))
            if not self._is_store_away:
                self._is_store_away = True
                text = "cannot store %d audit lines, which are in this log, and will try again: %s"
                logger.warning(text, len(lines), error)
        else:
            self._is_store_away = False

    async def __aenter__(self) -> Self:
        self.attach()
        self._writing = asyncio.create_task(self._write_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.detach()
        if self._writing is not None:
            self._writing.cancel()
            with suppress(asyncio.CancelledError):
                await self._writing
        await self.write()

    async def _write_forever(self) -> None:
        while not is_cancelled():
            await asyncio.sleep(WRITE_INTERVAL_S)
            await run_to_completion(self.write())  # a cancellation loses no line

    def attach(self) -> None:
        logging.getLogger(AUDIT_LOGGER).addHandler(self)

    def detach(self) -> None:
        logging.getLogger(AUDIT_LOGGER).removeHandler(self)


def format_audit_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
