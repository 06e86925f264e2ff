"""Closes listening sockets without resetting connections.

The kernel completes connections on its own and keeps them until they are accepted. Those that it still has when the
socket is closed are reset, although their clients may have sent a request. So they are accepted immediately before.
"""

import asyncio
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack

CLOSE_S = 0.02
"""Within this time an event loop has closed its own descriptor of a socket that it was told to close."""
MAX_ACCEPTED = 4096
"""Of each socket: more than its queue holds, so that clients who connect again and again cannot delay the end."""


async def stop_listening(servers: Iterable[asyncio.Server], listeners: Sequence[socket.socket]) -> list[socket.socket]:
    """Close the servers of the event loop and their sockets. Returns connections that nobody else will serve.

    Another process that has the socket goes on listening, so only the last one to close it leaves no connection behind.
    """
    with ExitStack() as stack:
        kept = [stack.enter_context(listener.dup()) for listener in listeners]
        for server in servers:
            server.close()
        for listener in listeners:
            listener.close()
        await asyncio.sleep(CLOSE_S)
        accepted: list[socket.socket] = []
        for listener in kept:
            accepted += accept_all(listener)
            listener.close()
    return accepted


def accept_all(listener: socket.socket) -> list[socket.socket]:
    """The connections in the socket's queue; without those for which the process has no file descriptors left."""
    accepted: list[socket.socket] = []
    listener.setblocking(False)
    while len(accepted) < MAX_ACCEPTED:
        try:
            accepted.append(listener.accept()[0])
        except ConnectionAbortedError:  # its client was faster
            continue
        except OSError:  # BlockingIOError: there are no more
            break
    return accepted
