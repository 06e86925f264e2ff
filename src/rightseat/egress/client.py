"""Requests over HTTP/1.1 to one server that the operator named, on connections that are kept between requests.

Leaving a response early closes its connection at once: that is how the server learns that it is not read any more.
Reading is paused while the reader is behind, so a slow reader slows the sender down instead of filling our memory.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import cast
from urllib.parse import SplitResult

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

from rightseat.egress.connector import Connector, Destination, Disconnected, NotHttp, Protocol, TooManyBytes
from rightseat.egress.network import NetworkOptions, Proxy, find_proxy, make_tls
from rightseat.egress.request import OutgoingRequest, check_path, parse_base_url, write_headers

BUFFER_BYTES = 16 * 1024  # of a response that wait for its reader; the sender is paused at twice as many
MAX_HEADER_BYTES = 64 * 1024  # of one header
KEEPALIVE_S = 30.0  # firewalls forget idle connections silently


class Unreachable(Exception):
    """No connection, no response in time, or a response that broke off. The text says which."""


class Silent(Unreachable):
    """Nothing came for too long."""


class NoConnection(Unreachable):
    """The request was not sent."""


class Response:
    """Status, headers, and the body as it comes: `async for piece in response`. It is closed by its reader."""

    __slots__ = ("_connection", "_content", "_silence", "headers", "status")

    def __init__(
        self, connection: Connection, status: int, headers: Mapping[str, str], content: StreamReader, silence: float
    ) -> None:
        self._connection = connection
        self._content = content
        self._silence = silence
        self.status = status
        self.headers = headers

    def __aiter__(self) -> "Response":
        return self

    async def __anext__(self) -> bytes:
        """All that has come since the last time. Raises `Unreachable` where the response broke off."""
        try:
            piece = await self._content.readany()
        except ClientError as error:
            raise failure(error, self._silence) from error
        if not piece:
            raise StopAsyncIteration
        return piece

    async def text(self, most: int = 65536, within: float = 5.0) -> str:
        """The body of a short response, such as an error; cut at `most` bytes, or where it breaks off or stalls."""
        pieces, size = [], 0
        try:
            async with asyncio.timeout(within):
                async for piece in self:
                    pieces.append(piece)
                    size += len(piece)
                    if size >= most:
                        break
        except (TimeoutError, Unreachable):
            pass  # what came is all there is to tell
        return b"".join(pieces)[:most].decode("utf-8", "replace")

    async def finish(self, within: float = 0.1) -> None:
        """Skip the rest, so that the connection can be kept; if that takes longer, it is not."""
        if self._content.is_eof():
            return
        try:
            async with asyncio.timeout(within):
                async for _ in self:
                    pass
        except (TimeoutError, Unreachable):
            pass

    def close(self) -> None:
        """Keep the connection if the body came to its end, else close it."""
        self._connection.release()

    async def __aenter__(self) -> "Response":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Client:
    """Connections to one origin. `timeout` is the longest silence, in seconds, before a connection is closed.

    `tls` is in place of what `network` says of certificates.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        timeout: float = 300.0,
        connect_timeout: float = 10.0,
        network: NetworkOptions | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = parse_base_url(base_url)
        ours = {"host": parts.netloc, "content-type": "application/json"}
        self._headers = ours | {name.lower(): value for name, value in headers.items()}
        self._proxy = find_proxy(parts, network)
        self._head = write_headers(self._headers)
        self._origin = URL(f"{parts.scheme}://{parts.netloc}/", encoded=True)
        self._path = parts.path.rstrip("/")
        self._prefix = ""
        if self._proxy is not None and parts.scheme == "http":  # it reads the request itself
            self._prefix = f"http://{parts.netloc}"
            if self._proxy.authorization is not None:
                self._head += write_headers({"proxy-authorization": self._proxy.authorization})
        self._query = f"?{parts.query}" if parts.query else ""
        self._tls = tls or make_tls(network) if needs_tls(parts, self._proxy) else None
        self._timeout = timeout
        self._connect_limits = connect_limits(connect_timeout)
        self._pool: tuple[Connector, Destination] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str] | None = None, *, is_timed: bool = True
    ) -> "Exchange":
        """Send a JSON body, with `headers` of this request alone; the block gets the response once its head is there.

        Where the caller measures silence itself, it is not timed here.
        """
        return self.request("POST", path, body, headers, is_timed=is_timed)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> "Exchange":
        return self.request("GET", path, b"", headers)

    def request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None = None, *, is_timed: bool = True
    ) -> "Exchange":
        return Exchange(self, self._write(method, path, body, headers), self._timeout if is_timed else 0.0)

    def preview(self, path: str, body: bytes) -> OutgoingRequest:
        """What `post` would send, for the code that signs it."""
        kept = {"content-type": self._headers["content-type"]}
        return OutgoingRequest("POST", self._headers["host"], f"{self._path}{path}{self._query}", kept, body)

    async def aclose(self) -> None:
        """Close what is idle now, and each other connection as soon as its response was read."""
        if self._pool is not None:
            self._pool[0].close_idle()

    def _write(self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None) -> bytes:
        check_path(path)
        line = f"{method} {self._prefix}{self._path}{path}{self._query} HTTP/1.1\r\n"
        head = self._head + write_headers(headers) if headers else self._head
        return f"{line}{head}content-length: {len(body)}\r\n\r\n".encode("latin-1") + body

    async def send(self, request: bytes, silence: float) -> Response:
        """A kept connection that ends at once had most likely been closed before: a new one is tried, once."""
        try:
            try:
                return await self._send(request, silence)
            except Disconnected as error:
                if not error.is_stale:
                    raise
                return await self._send(request, silence)
        except ClientError as error:
            raise failure(error, silence) from error

    async def _send(self, request: bytes, silence: float) -> Response:
        connection = await connect(*self._connections(), self._connect_limits)
        try:
            if transport := begin(connection, silence):
                transport.write(request)
            return await receive(connection, silence)
        except BaseException:
            connection.close()
            raise

    def _connections(self) -> tuple[Connector, Destination]:
        """Those of the running loop."""
        loop = asyncio.get_running_loop()
        if self._pool is None or self._loop is not loop:
            destination = make_destination(self._origin, self._proxy, self._tls)
            self._loop = loop
            self._pool = Connector(keepalive_timeout=KEEPALIVE_S), destination
        return self._pool


class Exchange:
    """A request, sent when its block is entered. A class, because each stream holds one for as long as it lasts."""

    __slots__ = ("_client", "_request", "_response", "_timeout")

    def __init__(self, client: Client, request: bytes, timeout: float) -> None:
        self._client = client
        self._request = request
        self._timeout = timeout

    async def open(self) -> Response:
        """For callers that close the response themselves."""
        request, self._request = self._request, b""  # a prompt may be long, and its response take its time
        return await self._client.send(request, self._timeout)

    async def __aenter__(self) -> Response:
        self._response = await self.open()
        return self._response

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._response.close()


def needs_tls(parts: SplitResult, proxy: Proxy | None) -> bool:
    return parts.scheme == "https" or (proxy is not None and proxy.url.startswith("https:"))


def make_destination(origin: URL, proxy: Proxy | None, tls: ssl.SSLContext | None) -> Destination:
    headers = {"proxy-authorization": proxy.authorization} if proxy and proxy.authorization else None
    return Destination(
        origin,
        loop=asyncio.get_running_loop(),
        ssl=tls or True,
        proxy=URL(proxy.url) if proxy else None,
        proxy_headers=headers,
    )


def connect_limits(seconds: float) -> ClientTimeout:
    return ClientTimeout(connect=seconds, ceil_threshold=seconds)  # above the threshold, aiohttp rounds up


async def connect(connector: Connector, destination: Destination, limits: ClientTimeout) -> Connection:
    """A kept connection, or a new one. Raises `NoConnection`."""
    try:
        return await connector.connect(destination, [], limits)
    except TimeoutError:
        raise NoConnection(f"It took no connection within {limits.connect:g} s.") from None
    except (ClientHttpProxyError, ClientConnectorError) as error:
        raise NoConnection(explain_connecting(error, destination.proxy)) from error
    except ClientError as error:  # it was closed while it was made
        raise NoConnection(f"It takes no connection: {error}") from error


def begin(connection: Connection, silence: float, *, skip_body: bool = False) -> asyncio.Transport | None:
    """Where the next request is written; None where the connection has ended already, which `receive` raises."""
    protocol = cast(Protocol, connection.protocol)
    protocol.set_response_params(
        read_until_eof=True,
        skip_payload=skip_body,
        auto_decompress=False,
        read_timeout=silence or None,
        read_bufsize=BUFFER_BYTES,
        max_line_size=MAX_HEADER_BYTES,
        max_field_size=MAX_HEADER_BYTES,
    )
    if connection.transport is not None:
        protocol.start_timeout()
    return connection.transport


async def receive(connection: Connection, silence: float) -> Response:
    """The response once its head is there."""
    protocol = cast(Protocol, connection.protocol)
    while True:
        try:
            message, content = await protocol.read()
        except EofStream:  # it was closed here, with the client that it belongs to
            raise Disconnected(has_response=False, is_stale=False) from None
        if message.code == 101:
            raise NotHttp("it switches to another protocol")
        if message.code >= 200:  # others are interim
            return Response(connection, message.code, message.headers, content, silence)


def failure(error: ClientError, silence: float) -> Unreachable:
    """What went wrong after a request was sent. `silence` is what was allowed, in seconds."""
    match error:
        case Disconnected(has_response=False):
            return Unreachable("It closed the connection without an answer.")
        case SocketTimeoutError():
            return Silent(f"It was silent for {silence:g} s.")
        case NotHttp():
            return Unreachable(f"Its answer is no HTTP: {error}.")
        case TooManyBytes():
            return Unreachable("Its answer is more frame than content.")
    return Unreachable("Its answer broke off.")


def explain_connecting(error: ClientHttpProxyError | ClientConnectorError, proxy: URL | None) -> str:
    match error:
        case ClientHttpProxyError():
            cure = " Set the user and the password in the address of the proxy." if error.status == 407 else ""
            return f"The proxy {proxy} refuses the connection: HTTP {error.status} {error.message}.{cure}"
        case ClientConnectorCertificateError(certificate_error=OSError() as cause):
            return f"It takes no connection: {explain_os_error(cause)}."
        case ClientProxyConnectionError():
            return f"The proxy {proxy} takes no connection: {explain_os_error(error.os_error)}."
    return f"It takes no connection: {explain_os_error(error.os_error)}."


def explain_os_error(error: OSError) -> str:
    """Without addresses, which asyncio puts into its texts: this text may be shown to clients."""
    if isinstance(error, ssl.SSLError | socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno) if error.errno else "none of its addresses answers"
