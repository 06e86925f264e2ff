"""Work for a client that may disconnect before its response begins, or whose response has begun already."""

import asyncio
from typing import Any

from starlette.types import Message, Receive, Send

from rightseat.concurrency import cancel_and_wait
from rightseat.core.errors import RightseatError


class ClientDisconnected(RightseatError):
    """A response to it reaches no client."""

    code = "client_disconnected"
    status = 499

    def __init__(self) -> None:
        super().__init__("The client disconnected before its request was answered.")


async def wait_connected(task: asyncio.Task[Any], receive: Receive, seconds: float | None = None) -> bool:
    """Whether the task has ended in time. It is cancelled if the client disconnects: raises `ClientDisconnected`."""
    disconnect = asyncio.create_task(wait_for_disconnect(receive))
    try:
        await asyncio.wait((task, disconnect), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await cancel_and_wait(task)
        raise
    finally:
        await cancel_and_wait(disconnect)
    if not task.done() and not disconnect.cancelled():
        await cancel_and_wait(task)
        raise ClientDisconnected
    return task.done()


async def wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def skip_response_start(send: Send) -> Send:
    """For a response whose head was sent before."""

    async def send_body(message: Message) -> None:
        if message["type"] != "http.response.start":
            await send(message)

    return send_body
