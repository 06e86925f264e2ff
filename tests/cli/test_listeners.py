"""Closing listening sockets while clients connect."""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from rightseat.cli.listeners import accept_all, stop_listening

STOPS = 25
CLIENTS = 6
BUSY_S = 0.01
ENOUGH = 40
REQUEST, RESPONSE = b"ping", b"pong"


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(RESPONSE)
        self.transport.close()


Stop = Callable[[asyncio.Server, socket.socket], Awaitable[list[socket.socket]]]


async def stop_quietly(server: asyncio.Server, listener: socket.socket) -> list[socket.socket]:
    return await stop_listening([server], [listener])


async def close_at_once(server: asyncio.Server, listener: socket.socket) -> list[socket.socket]:
    server.close()
    listener.close()
    return []


def connect_again_and_again(address: tuple[str, int], answered: threading.Semaphore) -> Counter[str]:
    """A new connection for each request, until one gets no response."""
    outcomes: Counter[str] = Counter()
    while True:
        try:
            with socket.create_connection(address, timeout=20) as client:
                client.sendall(REQUEST)
                outcomes["answered" if client.recv(10) == RESPONSE else "closed"] += 1
                answered.release()
        except OSError as error:
            outcomes[type(error).__name__] += 1
            return outcomes


async def stop_under_load(stop: Stop, pool: ThreadPoolExecutor) -> Counter[str]:
    """What came of the requests to a busy server that stops."""
    loop = asyncio.get_running_loop()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    address = listener.getsockname()
    server = await loop.create_server(Echo, sock=listener)
    answered = threading.Semaphore(0)
    clients = [loop.run_in_executor(pool, connect_again_and_again, address, answered) for _ in range(CLIENTS)]
    await asyncio.to_thread(lambda: [answered.acquire() for _ in range(ENOUGH)])
    busy_until = time.monotonic() + BUSY_S
    while time.monotonic() < busy_until:  # the loop accepts nothing, so connections wait in the kernel
        pass
    for connection in await stop(server, listener):
        await loop.connect_accepted_socket(Echo, connection)
    return sum(await asyncio.gather(*clients), Counter())


def stop_often(stop: Stop) -> Counter[str]:
    """With the event loop of `rightseat serve`."""
    uvloop = pytest.importorskip("uvloop")
    outcomes: Counter[str] = Counter()
    with ThreadPoolExecutor(CLIENTS) as pool, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for _ in range(STOPS):
            outcomes += runner.run(stop_under_load(stop, pool))
    return outcomes


def test_no_connection_is_reset_by_a_busy_server_that_stops() -> None:
    outcomes = stop_often(stop_quietly)

    assert outcomes.pop("answered") >= STOPS * ENOUGH
    assert outcomes == {"ConnectionRefusedError": STOPS * CLIENTS}


def test_connections_are_reset_where_sockets_are_just_closed() -> None:
    outcomes = stop_often(close_at_once)

    assert outcomes["ConnectionResetError"] > 0, "the test above could not fail"


def test_what_waits_in_the_queue_is_accepted_and_nothing_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert accept_all(listener) == []
        with socket.create_connection(listener.getsockname()):
            [connection] = accept_all(listener)
            connection.close()
