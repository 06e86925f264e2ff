"""Starts runs whose asks may wait for a limit. An ask whose client disconnects waits no more.

A stream is opened once its ask has waited for 5 seconds; from then on it receives a comment every 5 seconds, and an
error in the form of its protocol. Before, a refusal has the status and the headers that it has without a queue.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.concurrency import cancel_and_wait
from rightseat.core.ask import Ask
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.events import RunFailed, RunStarted
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.connection import (
    ClientDisconnected,
    skip_response_start,
    wait_connected,
)
from rightseat.faces._shared.run_response import KEEP_ALIVE_COMMENT, RunResponse

logger = logging.getLogger(__name__)

COMMENT_INTERVAL_S = 5.0

RunStart = Coroutine[Any, Any, Ask]
Respond = Callable[[Ask], RunResponse]


async def start_connected(runtime: Runtime, request: Request, start: RunStart) -> Ask:
    """Await the start of a run. Raises its errors, or `ClientDisconnected`."""
    if not runtime.admission.has_queues:
        return await start
    task = asyncio.create_task(start)
    await wait_connected(task, request.receive)
    return task.result()


async def stream_started(
    runtime: Runtime,
    request: Request,
    ask: Ask,
    start: RunStart,
    respond: Respond,
    comment: bytes = KEEP_ALIVE_COMMENT,
) -> Response:
    """The stream of a run, from `respond` with the started ask. Errors of the first 5 seconds are raised.

    `comment` is ignored by clients of the protocol.
    """
    if not runtime.admission.has_queues:
        return respond(await start)
    task = asyncio.create_task(start)
    if await wait_connected(task, request.receive, COMMENT_INTERVAL_S):
        return respond(task.result())
    return QueuedResponse(ask, task, respond, comment)


class QueuedResponse(Response):
    """Sends comments until the run starts, then the stream of the run, or the error."""

    def __init__(self, ask: Ask, start: asyncio.Task[Ask], respond: Respond, comment: bytes) -> None:
        super().__init__()
        self._ask = ask
        self._start = start
        self._respond = respond
        self._comment = comment

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unstarted = self._respond(self._ask)
        try:
            await unstarted.send_start(send)
            await self._send_comments(receive, send)
            started = self._respond(self._start.result())
        except ClientDisconnected:
            return
        except Exception as error:
            body = unstarted.write_all(failed_entries(self._ask, self._explain(error)))
            await send({"type": "http.response.body", "body": body})
        else:
            started.refuse_in_stream()
            await started(scope, receive, skip_response_start(send))
        finally:
            await cancel_and_wait(self._start)

    def _explain(self, error: Exception) -> RightseatError:
        if isinstance(error, RightseatError):
            return error
        logger.error("run %s could not be started", self._ask.run_id, exc_info=error)
        return InternalError(self._ask.run_id)

    async def _send_comments(self, receive: Receive, send: Send) -> None:
        is_started = False
        while not is_started:
            await send({"type": "http.response.body", "body": self._comment, "more_body": True})
            is_started = await wait_connected(self._start, receive, COMMENT_INTERVAL_S)


def failed_entries(ask: Ask, error: RightseatError) -> list[Entry]:
    """The log that the run would have, had it started."""
    started, failed = RunStarted(ask.run_id, ask.thread_id, ask.agent), RunFailed(error.code, error.message)
    return [Entry(0, 0, started), Entry(0, 0, failed)]
