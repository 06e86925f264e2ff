"""HTTP/1.1 client for one origin that the operator configured, with a connection pool.

Closing a response early closes its connection immediately, so the server notices. Reading pauses while the reader is
behind: a slow reader slows the sender down instead of filling memory.
"""

import asyncio
import ssl
from collections.abc import Mapping
from urllib.parse import SplitResult

from aiohttp import ClientError
from yarl import URL

from rightseat.egress.connector import Connector, Destination, Disconnected
from rightseat.egress.network import NetworkOptions, Proxy, find_proxy, make_tls
from rightseat.egress.request import OutgoingRequest, check_path, parse_base_url, write_headers
from rightseat.egress.transport import (
    Response,
    connect,
    make_connect_timeout,
    make_destination,
    receive_response,
    start_request,
    to_transport_error,
)

KEEPALIVE_S = 30.0  # firewalls forget idle connections silently


class Client:
    """`timeout` is the longest pause, in seconds, before a connection is closed. `tls` overrides that of `network`."""

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
        if self._proxy is not None and parts.scheme == "http":  # the proxy reads the request itself
            self._prefix = f"http://{parts.netloc}"
            if self._proxy.authorization is not None:
                self._head += write_headers({"proxy-authorization": self._proxy.authorization})
        self._query = f"?{parts.query}" if parts.query else ""
        self._tls = tls or make_tls(network) if needs_tls(parts, self._proxy) else None
        self._timeout = timeout
        self._connect_timeout = make_connect_timeout(connect_timeout)
        self._pool: tuple[Connector, Destination] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str] | None = None, *, is_timed: bool = True
    ) -> "Exchange":
        """Send a JSON body, with extra `headers`; the block receives the response once its head has arrived.

        `is_timed`: false if the caller applies the read timeout itself.
        """
        return self.request("POST", path, body, headers, is_timed=is_timed)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> "Exchange":
        return self.request("GET", path, b"", headers)

    def request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None = None, *, is_timed: bool = True
    ) -> "Exchange":
        return Exchange(self, self._write(method, path, body, headers), self._timeout if is_timed else 0.0)

    def preview(self, path: str, body: bytes) -> OutgoingRequest:
        """The request that `post` would send, for signing."""
        kept = {"content-type": self._headers["content-type"]}
        return OutgoingRequest("POST", self._headers["host"], f"{self._path}{path}{self._query}", kept, body)

    async def aclose(self) -> None:
        """Close idle connections now, and others as soon as their response is read."""
        if self._pool is not None:
            self._pool[0].close_idle()

    def _write(self, method: str, path: str, body: bytes, headers: Mapping[str, str] | None) -> tuple[bytes, bytes]:
        check_path(path)
        line = f"{method} {self._prefix}{self._path}{path}{self._query} HTTP/1.1\r\n"
        head = self._head + write_headers(headers) if headers else self._head
        return f"{line}{head}content-length: {len(body)}\r\n\r\n".encode("latin-1"), body

    async def send(self, request: tuple[bytes, bytes], read_timeout: float) -> Response:
        """A pooled connection that ends at once was most likely closed before: the request is retried once."""
        try:
            try:
                return await self._send(request, read_timeout)
            except Disconnected as error:
                if not error.is_stale:
                    raise
                return await self._send(request, read_timeout)
        except ClientError as error:
            raise to_transport_error(error, read_timeout) from error

    async def _send(self, request: tuple[bytes, bytes], read_timeout: float) -> Response:
        connection = await connect(*self._connections(), self._connect_timeout)
        try:
            if transport := start_request(connection, read_timeout):
                transport.writelines(request)  # not joined: a prompt may have many megabytes
            return await receive_response(connection, read_timeout)
        except BaseException:
            connection.close()
            raise

    def _connections(self) -> tuple[Connector, Destination]:
        """The pool of the running loop."""
        loop = asyncio.get_running_loop()
        if self._pool is None or self._loop is not loop:
            destination = make_destination(self._origin, self._proxy, self._tls)
            self._loop = loop
            self._pool = Connector(keepalive_timeout=KEEPALIVE_S), destination
        return self._pool


class Exchange:
    """A request, sent when its block is entered. A class with slots, because every open stream holds one."""

    __slots__ = ("_client", "_request", "_response", "_timeout")

    def __init__(self, client: Client, request: tuple[bytes, bytes], timeout: float) -> None:
        self._client = client
        self._request = request
        self._timeout = timeout

    async def open(self) -> Response:
        """For callers that close the response themselves."""
        request, self._request = self._request, (b"", b"")  # frees a long prompt while its response streams
        return await self._client.send(request, self._timeout)

    async def __aenter__(self) -> Response:
        self._response = await self.open()
        return self._response

    async def __aexit__(self, *_: object) -> None:
        self._response.close()


def needs_tls(parts: SplitResult, proxy: Proxy | None) -> bool:
    return parts.scheme == "https" or (proxy is not None and proxy.url.startswith("https:"))
