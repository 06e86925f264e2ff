"""Closes listening sockets without resetting connections.

The kernel completes connections on its own and keeps them until they are accepted. Those that it still has when the
socket is closed are reset, although their clients may have sent a request.
"""

import ctypes
import socket
import struct
import sys
from collections.abc import Iterable

SO_ATTACH_FILTER = 26  # of asm-generic/socket.h
ACCEPT_S = 0.02
"""Until the event loop has accepted the connections that are complete."""
FLAGS_OFFSET, SYN = 13, 0x02  # of a TCP header
DROP_SYN = (
    (0x30, 0, 0, FLAGS_OFFSET),  # load the byte
    (0x45, 0, 1, SYN),  # skip the next instruction unless the bit is set
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # take the whole packet
)
"""A program of the kernel's packet filter: (code, jump if true, jump if false, value)."""


def stop_connections(listeners: Iterable[socket.socket]) -> None:
    """From now on no new connection is completed: a client's first packet is ignored, until the socket is closed and
    its next one is refused. Does nothing on other systems than Linux.

    It holds for all processes that have the socket, so only the process that stops all of them may call it.
    """
    if sys.platform != "linux":
        return
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in DROP_SYN)
    held = ctypes.create_string_buffer(program, len(program))
    for listener in listeners:
        listener.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(DROP_SYN), ctypes.addressof(held))
        )
