"""HTTP client with SSRF protection, for URLs that a plugin, a client, a model or a document supplied.

    policy = AddressPolicy(allow=("api.internal:8443",))
    response = await UntrustedClient().send(FetchRequest("GET", parse_url(url)), policy, RequestLimits())

The client resolves the host name once, checks every address and connects to one of those: DNS rebinding has no second
lookup to exploit. It follows no redirects and ignores proxies of the environment. The size of a response is limited
before and after decompression.

A proxy that the operator configured resolves names itself, so it must check addresses as well. Here, IP addresses are
checked as usual, and names as far as they can be resolved.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from aiohttp import ClientError
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.http_writer import StreamWriter
from yarl import URL

from rightseat.core.errors import FetchFailed
from rightseat.egress.addresses import Address, AddressPolicy, Target
from rightseat.egress.connector import Connector
from rightseat.egress.decompression import ACCEPTED, DecompressionError, Decompressor
from rightseat.egress.network import NetworkOptions, Proxy, configured_proxy, find_proxy, make_tls
from rightseat.egress.request import write_headers
from rightseat.egress.transport import (
    ConnectError,
    ReadTimeout,
    Response,
    TransportError,
    connect,
    make_connect_timeout,
    make_destination,
    receive_response,
    start_request,
    to_transport_error,
)

MAX_HEAD_BYTES = 64 * 1024

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host and a port to addresses. Raises `OSError` if there are none."""

Reason = Literal["connect", "timeout", "too_large", "broken"]


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """`timeout` is for the whole request, `read_timeout` for the longest pause; all in seconds."""

    max_bytes: int = 10 * 2**20
    timeout: float = 60.0
    connect_timeout: float = 5.0
    read_timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """`body` can be iterated more than once. `length` is its size in bytes, None without a body."""

    method: str
    target: Target
    headers: tuple[tuple[str, str], ...] = ()
    body: Iterable[bytes] = ()
    length: int | None = None


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """Header names are in lower case; of a repeated header, the last one counts."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""


class UntrustedRequestFailed(FetchFailed):
    """There is no valid response. `sent`: the request may have arrived and taken effect."""

    def __init__(self, reason: Reason, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.reason = reason
        self.sent = sent


async def resolve_host(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class UntrustedClient:
    """`resolve` and `tls` are for tests, and for networks with a private DNS and CA.

    `is_operators`: the operator configured all URLs, so proxies of the environment apply too.
    """

    def __init__(
        self,
        *,
        resolve: Resolve = resolve_host,
        tls: ssl.SSLContext | None = None,
        network: NetworkOptions | None = None,
        is_operators: bool = False,
    ) -> None:
        self._resolve = resolve
        self._tls = tls
        self._network = network
        self._is_operators = is_operators

    async def send(self, request: FetchRequest, policy: AddressPolicy, limits: RequestLimits) -> FetchResponse:
        """Raises `AddressForbidden`, with the rule that refused, and `UntrustedRequestFailed`."""
        progress = Progress()
        host = request.target.host
        try:
            async with asyncio.timeout(limits.timeout), self.open(request, policy, limits, progress) as response:
                content = b"" if request.method == "HEAD" else await read_body(host, response, limits.max_bytes)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return FetchResponse(response.status, headers, content)
        except TimeoutError:
            message = f"{host} did not send a complete response within {limits.timeout:g} s."
            raise UntrustedRequestFailed("timeout", message, sent=progress.sent) from None

    @asynccontextmanager
    async def open(
        self, request: FetchRequest, policy: AddressPolicy, limits: RequestLimits, progress: "Progress | None" = None
    ) -> AsyncIterator[Response]:
        """Yields the response as soon as its head has arrived. Leaving the block closes the connection."""
        progress = progress or Progress()
        target = request.target
        proxy = self._proxy(target)
        head = write_head(request, proxy)
        async with self._connect(target, proxy, policy, limits) as connection:
            progress.sent = True
            transport = start_request(connection, limits.read_timeout, skip_body=request.method == "HEAD")
            if transport is not None:
                transport.write(head)
            writing = asyncio.create_task(write_body(connection, request.body))
            try:
                yield await receive_response(connection, limits.read_timeout)
            except ClientError as error:
                raise to_request_failed(target.host, to_transport_error(error, limits.read_timeout)) from None
            except TransportError as error:
                raise to_request_failed(target.host, error) from None
            finally:
                writing.cancel()

    def _proxy(self, target: Target) -> Proxy | None:
        if self._is_operators:
            return find_proxy(urlsplit(target.url), self._network)
        return configured_proxy(self._network)

    @asynccontextmanager
    async def _connect(
        self, target: Target, proxy: Proxy | None, policy: AddressPolicy, limits: RequestLimits
    ) -> AsyncIterator[Connection]:
        """Connects to one of the checked addresses, for one request: no keep-alive."""
        addresses = await self._addresses(target, policy, limits, is_proxied=proxy is not None)
        if self._tls is None and (target.scheme == "https" or proxy is not None):
            self._tls = make_tls(self._network)  # loads all CA certificates, so only when needed
        resolver = CheckedResolver(target.host, addresses) if proxy is None else None
        connector = Connector(max_bytes=2 * limits.max_bytes + MAX_HEAD_BYTES, resolver=resolver)
        url = URL(f"{target.scheme}://{target.authority}/", encoded=True)
        destination = make_destination(url, proxy, self._tls)
        try:
            connection = await connect(connector, destination, make_connect_timeout(limits.connect_timeout))
        except ConnectError as error:
            raise UntrustedRequestFailed("connect", f"Cannot reach {target.host}: {error}", sent=False) from None
        try:
            yield connection
        finally:
            connection.close()

    async def _addresses(
        self, target: Target, policy: AddressPolicy, limits: RequestLimits, *, is_proxied: bool
    ) -> list[Address]:
        """All addresses of the host, checked. Raises `AddressForbidden`."""
        policy.check_host(target)
        if target.ip is not None:
            return policy.check_addresses(target, [target.ip])
        try:
            async with asyncio.timeout(limits.connect_timeout):
                found = await self._resolve(target.host, target.port)
        except OSError as error:  # of which `TimeoutError` is one
            if is_proxied:
                return []  # the proxy may be able to resolve it
            is_timeout = isinstance(error, TimeoutError)
            timeout = f"{target.host} was not resolved within {limits.connect_timeout:g} s."
            message = timeout if is_timeout else f"Cannot resolve the host name {target.host}."
            raise UntrustedRequestFailed("connect", message, sent=False) from None
        return policy.check_addresses(target, [ip_address(address) for address in dict.fromkeys(found)])


class CheckedResolver(AbstractResolver):
    """Returns the checked addresses of one host, and refuses every other host."""

    def __init__(self, host: str, addresses: Sequence[Address]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host != self._host:
            raise OSError(f"{host} was not checked")
        return [ResolveResult(hostname=host, host=str(address), port=port, family=0, proto=0, flags=0)
                for address in self._addresses]  # fmt: skip

    async def close(self) -> None:
        pass


async def write_body(connection: Connection, pieces: Iterable[bytes]) -> None:
    """Runs beside the response. Each piece that the server accepts restarts the read timeout."""
    protocol = connection.protocol
    if protocol is None:
        return
    writer = StreamWriter(protocol, asyncio.get_running_loop())
    try:
        for piece in pieces:
            await writer.write(piece)
            await writer.drain()
            protocol.start_timeout()
            await asyncio.sleep(0)
    except (ClientError, ConnectionError):
        pass  # reading the response raises it


def to_request_failed(host: str, error: TransportError) -> UntrustedRequestFailed:
    reason: Reason = "timeout" if isinstance(error, ReadTimeout) else "broken"
    return UntrustedRequestFailed(reason, f"{host} sent no valid response: {error}", sent=True)


@dataclass(slots=True)
class Progress:
    """`sent`: the first bytes may have left, so the request may have taken effect."""

    sent: bool = False


def write_head(request: FetchRequest, proxy: Proxy | None = None) -> bytes:
    """Raises `ValueError` for a header that would be parsed as two."""
    target = request.target
    is_read_by_proxy = proxy is not None and target.scheme == "http"
    ours = {"host": target.authority, "user-agent": "rightseat", "accept": "*/*", "accept-encoding": ACCEPTED}
    named = {name.lower() for name, _ in request.headers}
    lines = [f"{request.method} {target.url if is_read_by_proxy else target.path} HTTP/1.1\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in ours.items() if name == "host" or name not in named]
    lines += [write_headers({name: value}) for name, value in request.headers if name.lower() != "host"]
    if is_read_by_proxy and proxy is not None and proxy.authorization is not None:
        lines.append(write_headers({"proxy-authorization": proxy.authorization}))
    if request.length is not None:
        lines.append(f"content-length: {request.length}\r\n")
    return "".join([*lines, "connection: close\r\n\r\n"]).encode("latin-1")


async def read_body(host: str, response: Response, max_bytes: int) -> bytes:
    """The decompressed body. Raises `UntrustedRequestFailed` as soon as it is too large."""
    message = f"The response of {host} is larger than {max_bytes:,} bytes."
    too_large = UntrustedRequestFailed("too_large", message, sent=True)
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > max_bytes:
        raise too_large
    content = bytearray()
    try:
        decompressor = Decompressor(response.headers.get("content-encoding", ""))
        async for piece in response:
            for part in decompressor.feed(piece, max_bytes - len(content)):
                content += part
            if len(content) > max_bytes:
                raise too_large
        decompressor.finish()
    except DecompressionError as error:
        message = f"The response of {host} cannot be decompressed: {error}."
        raise UntrustedRequestFailed("broken", message, sent=True) from None
    return bytes(content)
