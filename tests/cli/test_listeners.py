"""Closing a listening socket."""

import socket
import sys

import pytest

from rightseat.cli.listeners import stop_connections

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this filter")


def test_connections_that_are_complete_are_accepted_and_later_ones_are_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as early:
            early.sendall(b"a request")

            stop_connections([listener])
            with socket.socket() as late:
                late.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    late.connect(address)
            accepted, _ = listener.accept()
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
            listener.close()

            with accepted:
                assert accepted.recv(100) == b"a request"
                accepted.sendall(b"a response")
            assert early.recv(100) == b"a response"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
