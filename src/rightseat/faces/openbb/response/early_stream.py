"""Opens the event stream early while the data of a request is still being read.

The user sees a status, proxies keep the connection, and a disconnect cancels the reading.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.concurrency import cancel_and_wait
from rightseat.faces._shared.connection import skip_response_start, wait_for_disconnect
from rightseat.faces._shared.run_response import KEEP_ALIVE_COMMENT
from rightseat.faces.openbb.request.types import Data, Datum, FunctionResult, Query
from rightseat.faces.openbb.response.events import RawHeaders

PREPARE_GRACE_S = 0.5  # most data is read within this time, and no status is needed
LARGE_REQUEST_BYTES = 64 * 1024  # data of larger requests may take longer to read


def is_slow(query: Query) -> bool:
    """Whether there are URLs to fetch, or a lot of data to read."""
    return (
        bool(query.urls)
        or query.size > LARGE_REQUEST_BYTES
        or any(item.url for data in data_in(query) for item in data.items)
    )


def data_in(query: Query) -> Iterator[Data]:
    results = [datum for entry in query.messages if isinstance(entry, FunctionResult) for datum in entry.data]
    context: list[Datum] = [fact.data for fact in query.context]
    yield from (datum for datum in (*results, *context) if isinstance(datum, Data))


class EarlyStream(Response):
    """Sends the response that `prepare` returns.

    If it takes longer than `grace` seconds, `first` is sent meanwhile, with status 200.
    """

    def __init__(
        self,
        prepare: Callable[[], Awaitable[Response]],
        headers: RawHeaders,
        first: bytes,
        keep_alive: float,
        grace: float,
    ) -> None:
        super().__init__()
        self.raw_headers = headers
        self._prepare = prepare
        self._first = first
        self._keep_alive = keep_alive
        self._grace = grace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = asyncio.ensure_future(self._prepare())
        del self._prepare  # it holds the request, which may be large, and the response may take minutes
        disconnect = asyncio.create_task(wait_for_disconnect(receive))
        try:
            is_open = await self._wait(response, disconnect, send)
        finally:
            await cancel_and_wait(disconnect)
            if not response.done():
                await cancel_and_wait(response)
        if not response.cancelled():
            await response.result()(scope, receive, skip_response_start(send) if is_open else send)

    async def _wait(self, response: asyncio.Future[Response], disconnect: asyncio.Future[None], send: Send) -> bool:
        """Wait for the response or a disconnect. Return whether the stream was opened."""
        tasks, is_open = (response, disconnect), False
        await asyncio.wait(tasks, timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
        while not any(one.done() for one in tasks):
            if not is_open:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send(
                {
                    "type": "http.response.body",
                    "body": KEEP_ALIVE_COMMENT if is_open else self._first,
                    "more_body": True,
                }
            )
            is_open = True
            await asyncio.wait(tasks, timeout=self._keep_alive, return_when=asyncio.FIRST_COMPLETED)
        return is_open
