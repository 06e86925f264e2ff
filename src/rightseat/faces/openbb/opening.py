"""An answer that takes a while to begin, because data has to be read first: its stream is opened meanwhile.

So the user sees that something is done, what lies between keeps the line, and a user who goes away ends the reading.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rightseat.faces.openbb.asking import Data, Datum, Query, Returned
from rightseat.faces.openbb.telling import Headers
from rightseat.faces.streaming import COMMENT

SOON = 0.5  # seconds in which most data is read: then nothing has to be said
LONG = 64 * 1024  # bytes of a request from which on its data may take longer


def takes_time(query: Query) -> bool:
    """Is there something to fetch, or a lot to read?"""
    return bool(query.urls) or query.size > LONG or any(item.url for data in data_of(query) for item in data.items)


def data_of(query: Query) -> Iterator[Data]:
    results = [datum for entry in query.messages if isinstance(entry, Returned) for datum in entry.data]
    brought: list[Datum] = [fact.data for fact in query.context]
    yield from (datum for datum in (*results, *brought) if isinstance(datum, Data))


class Opening(Response):
    """Answers as what `prepare` makes; `first` is said where that is not there soon. It never gives a refusal."""

    def __init__(
        self, prepare: Callable[[], Awaitable[Response]], headers: Headers, first: bytes, keep_alive: float
    ) -> None:
        super().__init__()
        self.raw_headers = headers
        self._prepare = prepare
        self._first = first
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        preparing = asyncio.ensure_future(self._prepare())
        del self._prepare  # the request in it may be long, and an answer takes its time
        leaving = asyncio.create_task(gone(receive))
        try:
            is_open = await self._wait(preparing, leaving, send)
        finally:
            await ended(leaving)
            if not preparing.done():
                await ended(preparing)
        if not preparing.cancelled():
            await preparing.result()(scope, receive, past_the_head(send) if is_open else send)

    async def _wait(self, preparing: asyncio.Future[Response], leaving: asyncio.Future[None], send: Send) -> bool:
        """Until it is prepared, or nobody waits for it. Was the stream opened?"""
        both, is_open = (preparing, leaving), False
        await asyncio.wait(both, timeout=SOON, return_when=asyncio.FIRST_COMPLETED)
        while not any(one.done() for one in both):
            if not is_open:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": COMMENT if is_open else self._first, "more_body": True})
            is_open = True
            await asyncio.wait(both, timeout=self._keep_alive, return_when=asyncio.FIRST_COMPLETED)
        return is_open


async def gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def ended(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait((task,))


def past_the_head(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] != "http.response.start":
            await send(message)

    return sent
