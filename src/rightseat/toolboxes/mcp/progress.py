"""How far a call is, as its server says it."""

import asyncio
from collections.abc import AsyncIterator

from pydantic import JsonValue

from rightseat.core.events import Custom, Event

OFTEN = 0.1  # seconds between two words of progress; of those that come faster the last is said


class Progress:
    """What a server says of how far it is, as it comes."""

    def __init__(self, server: str, name: str, call_id: str) -> None:
        self._about: dict[str, JsonValue] = {"server": server, "tool": name, "callId": call_id}
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._held: Event | None = None
        self._last = 0.0

    async def note(self, progress: float, total: float | None, message: str | None) -> None:
        said: dict[str, JsonValue] = {"progress": progress, "total": total, "message": message}
        event = Custom("mcp.progress", self._about | {name: value for name, value in said.items() if value is not None})
        now = asyncio.get_running_loop().time()
        if now - self._last < OFTEN:
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
