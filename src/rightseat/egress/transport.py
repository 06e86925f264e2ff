"""One request and its response, over aiohttp's connections.

`connect` opens a connection or takes one from the pool, the request is written to what `start_request` returns, and
`receive_response` reads the response. Errors are one line each, without addresses and secrets.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorError,
    ClientError,
    ClientHttpProxyError,
    ClientProxyConnectionError,
    ClientTimeout,
    SocketTimeoutError,
    StreamReader,
)
from aiohttp.connector import Connection
from aiohttp.streams import EofStream
from yarl import URL

from rightseat.egress.connector import (
    ClientProtocol,
    Connector,
    Destination,
    Disconnected,
    InvalidHttp,
    ResponseTooLarge,
)
from rightseat.egress.network import Proxy

BUFFER_BYTES = 16 * 1024  # of a response that its reader has not taken; at twice as many, reading is paused
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
MAX_HEADER_BYTES = 64 * 1024  # of one header


class TransportError(Exception):
    """No connection, no response in time, or an incomplete response; the message names the cause."""


class ReadTimeout(TransportError):
    """No bytes arrived for `read_timeout` seconds."""


class ConnectError(TransportError):
    """The request was not sent."""


class Response:
    """Status, headers, and the body as it arrives: `async for piece in response`. The reader closes it."""

    __slots__ = ("_connection", "_content", "_read_timeout", "headers", "status")

    def __init__(
        self,
        connection: Connection,
        status: int,
        headers: Mapping[str, str],
        content: StreamReader,
        read_timeout: float,
    ) -> None:
        self._connection = connection
        self._content = content
        self._read_timeout = read_timeout
        self.status = status
        self.headers = headers

    def discard_headers(self) -> None:
        """For a long stream: they take 0.5 KB."""
        self.headers = NO_HEADERS

    def __aiter__(self) -> "Response":
        return self

    async def __anext__(self) -> bytes:
        """All bytes that arrived since the last call. Raises `TransportError` if the response is incomplete."""
        try:
            piece = await self._content.readany()
        except ClientError as error:
            raise to_transport_error(error, self._read_timeout) from error
        if not piece:
            raise StopAsyncIteration
        return piece

    async def text(self, max_bytes: int = 65536, timeout: float = 5.0) -> str:  # noqa: ASYNC109
        """The body of a short response, such as an error; truncated at `max_bytes`, or where it fails or stalls."""
        pieces, size = [], 0
        try:
            async with asyncio.timeout(timeout):
                async for piece in self:
                    pieces.append(piece)
                    size += len(piece)
                    if size >= max_bytes:
                        break
        except (TimeoutError, TransportError):
            pass  # the first part of an error text is better than none
        return b"".join(pieces)[:max_bytes].decode("utf-8", "replace")

    async def finish(self, timeout: float = 0.1) -> None:  # noqa: ASYNC109
        """Skip the rest, so that the connection can be reused; after `timeout`, it is closed instead."""
        if self._content.is_eof():
            return
        try:
            async with asyncio.timeout(timeout):
                async for _ in self:
                    pass
        except (TimeoutError, TransportError):
            pass

    def close(self) -> None:
        """Return the connection to the pool if the body was read to its end, else close it."""
        self._connection.release()

    async def __aenter__(self) -> "Response":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def make_destination(origin: URL, proxy: Proxy | None, tls: ssl.SSLContext | None) -> Destination:
    headers = {"proxy-authorization": proxy.authorization} if proxy and proxy.authorization else None
    return Destination(
        origin,
        loop=asyncio.get_running_loop(),
        ssl=tls or True,
        proxy=URL(proxy.url) if proxy else None,
        proxy_headers=headers,
    )


def make_connect_timeout(seconds: float) -> ClientTimeout:
    return ClientTimeout(connect=seconds, ceil_threshold=seconds)  # above the threshold, aiohttp rounds up


async def connect(connector: Connector, destination: Destination, limits: ClientTimeout) -> Connection:
    """A pooled connection, or a new one. Raises `ConnectError`."""
    try:
        return await connector.connect(destination, [], limits)
    except TimeoutError:
        raise ConnectError(f"No connection within {limits.connect:g} s.") from None
    except (ClientHttpProxyError, ClientConnectorError) as error:
        raise ConnectError(explain_connecting(error, destination.proxy)) from error
    except ClientError as error:  # the connector was closed meanwhile
        raise ConnectError(f"No connection: {error}") from error


def start_request(connection: Connection, read_timeout: float, *, skip_body: bool = False) -> asyncio.Transport | None:
    """The transport to write the next request to; None if the connection is closed, which `receive_response` raises."""
    protocol = cast(ClientProtocol, connection.protocol)
    protocol.set_response_params(
        read_until_eof=True,
        skip_payload=skip_body,
        auto_decompress=False,
        read_timeout=read_timeout or None,
        read_bufsize=BUFFER_BYTES,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
    )
    if connection.transport is not None:
        protocol.start_timeout()
    return connection.transport


async def receive_response(connection: Connection, read_timeout: float) -> Response:
    """The response once its head has arrived."""
    protocol = cast(ClientProtocol, connection.protocol)
    while True:
        try:
            message, content = await protocol.read()
        except EofStream:  # closed on this side, with the client
            raise Disconnected(has_response=False, is_stale=False) from None
        if message.code == 101:
            raise InvalidHttp("it switches to another protocol")
        if message.code >= 200:  # 1xx are interim responses
            return Response(connection, message.code, message.headers, content, read_timeout)


def to_transport_error(error: ClientError, read_timeout: float) -> TransportError:
    """The error of a request that was sent. `read_timeout` is the configured one, in seconds."""
    match error:
        case Disconnected(has_response=False):
            return TransportError("The server closed the connection without a response.")
        case SocketTimeoutError():
            return ReadTimeout(f"The server sent nothing for {read_timeout:g} s.")
        case InvalidHttp():
            return TransportError(f"The response is not valid HTTP: {error}.")
        case ResponseTooLarge():
            return TransportError("The response is too large with its headers and framing.")
    return TransportError("The connection was closed in the middle of the response.")


def explain_connecting(error: ClientHttpProxyError | ClientConnectorError, proxy: URL | None) -> str:
    match error:
        case ClientHttpProxyError():
            cure = " Set the user and password in the proxy's URL." if error.status == 407 else ""
            return f"The proxy {proxy} refused the connection: HTTP {error.status} {error.message}.{cure}"
        case ClientConnectorCertificateError(certificate_error=OSError() as cause):
            return f"{explain_os_error(cause)}."
        case ClientProxyConnectionError():
            return f"Cannot reach the proxy {proxy}: {explain_os_error(error.os_error)}."
    return f"{explain_os_error(error.os_error)}."


def explain_os_error(error: OSError) -> str:
    """asyncio's own text has addresses in it; this one may be shown to clients."""
    if isinstance(error, ssl.SSLError | socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno) if error.errno else "no address accepts a connection"
