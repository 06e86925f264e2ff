"""Streams the progress notifications of a tool call as events."""

import asyncio
from collections.abc import AsyncIterator

from pydantic import JsonValue

from rightseat.core.events import Custom, Event

MIN_INTERVAL_S = 0.1  # between two events; of faster ones, the last is sent


class ProgressStream:
    """The progress of one call, as events."""

    def __init__(self, server: str, name: str, call_id: str) -> None:
        self._about: dict[str, JsonValue] = {"server": server, "tool": name, "callId": call_id}
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._held: Event | None = None
        self._last = 0.0

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        fields: dict[str, JsonValue] = {"progress": progress, "total": total, "message": message}
        event = Custom(
            "mcp.progress", self._about | {name: value for name, value in fields.items() if value is not None}
        )
        now = asyncio.get_running_loop().time()
        if now - self._last < MIN_INTERVAL_S:
            self._held = event
            return
        self._last, self._held = now, None
        self._queue.put_nowait(event)

    def end(self) -> None:
        if self._held is not None:
            self._queue.put_nowait(self._held)
        self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._queue.get()) is not None:
            yield event
