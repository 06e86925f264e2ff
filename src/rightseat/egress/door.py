"""The one door out: a request to an address that a plugin, a client, a model or a document named.

    incoming = await Door().send(Outgoing("GET", read_url(url)), Policy(allow=("api.internal:8443",)), Limits())

A name is looked up here, all of its addresses are checked, and one of those is connected to: nothing looks the name up
a second time, so it cannot lead elsewhere by then. Redirects are not followed, proxies of the environment not used. An
answer is counted while it comes, before and after it is unpacked.

A proxy that the operator configured looks names up itself, so what a name leads to is for the proxy to check as well;
here, numbers are checked as ever, and names as far as they are known.
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
from rightseat.egress.addresses import Address, Policy, Target
from rightseat.egress.client import (
    NoConnection,
    Response,
    Silent,
    Unreachable,
    begin,
    connect,
    connect_limits,
    failure,
    make_destination,
    receive,
)
from rightseat.egress.connector import Connector
from rightseat.egress.network import NetworkOptions, Proxy, configured_proxy, find_proxy, make_tls
from rightseat.egress.request import write_headers
from rightseat.egress.unpacking import ACCEPTED, NotPacked, Unpacker

MAX_HEAD_BYTES = 64 * 1024

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host and a port to addresses. Raises `OSError` where there are none."""

Reason = Literal["connect", "timeout", "too_large", "broken"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of an answer; and seconds for all of it, for one connection, and for one silence."""

    size: int = 10 * 2**20
    seconds: float = 60.0
    connecting: float = 5.0
    silence: float = 60.0


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`body` is sent piece by piece, and can be gone through again. `length` is its bytes, None where there is none."""

    method: str
    target: Target
    headers: tuple[tuple[str, str], ...] = ()
    body: Iterable[bytes] = ()
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Incoming:
    """The names of headers are in lower case; of a header that came twice, the last is kept."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""


class Unanswered(FetchFailed):
    """No proper answer. `sent`: the request may have arrived, and done what it was meant to do."""

    def __init__(self, reason: Reason, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.reason = reason
        self.sent = sent


async def look_up(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Door:
    """`resolve` and `tls` are for tests, and for networks with names and certificates of their own.

    `is_operators`: all addresses are the operator's own, so that the proxy of the environment holds too.
    """

    def __init__(
        self,
        *,
        resolve: Resolve = look_up,
        tls: ssl.SSLContext | None = None,
        network: NetworkOptions | None = None,
        is_operators: bool = False,
    ) -> None:
        self._resolve = resolve
        self._tls = tls
        self._network = network
        self._is_operators = is_operators

    async def send(self, outgoing: Outgoing, policy: Policy, limits: Limits) -> Incoming:
        """Raises `AddressForbidden`, with the rule that refused, and `Unanswered`."""
        progress = Progress()
        host = outgoing.target.host
        try:
            async with asyncio.timeout(limits.seconds), self.visit(outgoing, policy, limits, progress) as response:
                content = b"" if outgoing.method == "HEAD" else await read(host, response, limits.size)
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Incoming(response.status, headers, content)
        except TimeoutError:
            message = f"{host} gave no whole answer within {limits.seconds:g} s."
            raise Unanswered("timeout", message, sent=progress.sent) from None

    @asynccontextmanager
    async def visit(
        self, outgoing: Outgoing, policy: Policy, limits: Limits, progress: "Progress | None" = None
    ) -> AsyncIterator[Response]:
        """The response as soon as its head is there. Leaving it closes the connection."""
        progress = progress or Progress()
        target = outgoing.target
        proxy = self._proxy(target)
        head = write_head(outgoing, proxy)
        async with self._connect(target, proxy, policy, limits) as connection:
            progress.sent = True
            transport = begin(connection, limits.silence, skip_body=outgoing.method == "HEAD")
            if transport is not None:
                transport.write(head)
            writing = asyncio.create_task(write_body(connection, outgoing.body))
            try:
                yield await receive(connection, limits.silence)
            except ClientError as error:
                raise unanswered(target.host, failure(error, limits.silence)) from None
            except Unreachable as error:
                raise unanswered(target.host, error) from None
            finally:
                writing.cancel()

    def _proxy(self, target: Target) -> Proxy | None:
        if self._is_operators:
            return find_proxy(urlsplit(target.url), self._network)
        return configured_proxy(self._network)

    @asynccontextmanager
    async def _connect(
        self, target: Target, proxy: Proxy | None, policy: Policy, limits: Limits
    ) -> AsyncIterator[Connection]:
        """To one of the checked addresses. The connection is used for one request, whatever the server says."""
        addresses = await self._addresses(target, policy, limits, is_proxied=proxy is not None)
        if self._tls is None and (target.scheme == "https" or proxy is not None):
            self._tls = make_tls(self._network)  # it reads all certificates there are: not in vain
        resolver = Checked(target.host, addresses) if proxy is None else None
        connector = Connector(max_bytes=2 * limits.size + MAX_HEAD_BYTES, resolver=resolver)
        url = URL(f"{target.scheme}://{target.authority}/", encoded=True)
        destination = make_destination(url, proxy, self._tls)
        try:
            connection = await connect(connector, destination, connect_limits(limits.connecting))
        except NoConnection as error:
            text = f"{target.host} {str(error).removeprefix('It ')}"
            raise Unanswered("connect", text, sent=False) from None
        try:
            yield connection
        finally:
            connection.close()

    async def _addresses(self, target: Target, policy: Policy, limits: Limits, *, is_proxied: bool) -> list[Address]:
        """All of the host's, checked. Raises `AddressForbidden`."""
        policy.check_host(target)
        if target.number is not None:
            return policy.choose(target, [target.number])
        try:
            async with asyncio.timeout(limits.connecting):
                found = await self._resolve(target.host, target.port)
        except OSError as error:  # of which `TimeoutError` is one
            if is_proxied:
                return []  # it may be known there
            is_late = isinstance(error, TimeoutError)
            late = f"The name {target.host} was not found within {limits.connecting:g} s."
            message = late if is_late else f"There is no host named {target.host}."
            raise Unanswered("connect", message, sent=False) from None
        return policy.choose(target, [ip_address(address) for address in dict.fromkeys(found)])


class Checked(AbstractResolver):
    """Gives the addresses of one host that were checked, and knows no other host."""

    def __init__(self, host: str, addresses: Sequence[Address]) -> None:
        self._host = host
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host != self._host:
            raise OSError(f"{host} was not checked")
        return [ResolveResult(hostname=host, host=str(one), port=port, family=0, proto=0, flags=0)
                for one in self._addresses]  # fmt: skip

    async def close(self) -> None:
        pass


async def write_body(connection: Connection, pieces: Iterable[bytes]) -> None:
    """As fast as the other side takes them, while it may answer. Time in which it takes some is not silence."""
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
        pass  # the reader learns of it


def unanswered(host: str, error: Unreachable) -> Unanswered:
    reason: Reason = "timeout" if isinstance(error, Silent) else "broken"
    return Unanswered(reason, f"{host} gives no proper answer. {error}", sent=True)


@dataclass(slots=True)
class Progress:
    """Whether a request has begun to leave: what happens afterwards may have had an effect."""

    sent: bool = False


def write_head(outgoing: Outgoing, proxy: Proxy | None = None) -> bytes:
    """Raises `ValueError` where a header would become two."""
    target = outgoing.target
    is_read_by_proxy = proxy is not None and target.scheme == "http"
    ours = {"host": target.authority, "user-agent": "rightseat", "accept": "*/*", "accept-encoding": ACCEPTED}
    named = {name.lower() for name, _ in outgoing.headers}
    lines = [f"{outgoing.method} {target.url if is_read_by_proxy else target.path} HTTP/1.1\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in ours.items() if name == "host" or name not in named]
    lines += [write_headers({name: value}) for name, value in outgoing.headers if name.lower() != "host"]
    if is_read_by_proxy and proxy is not None and proxy.authorization is not None:
        lines.append(write_headers({"proxy-authorization": proxy.authorization}))
    if outgoing.length is not None:
        lines.append(f"content-length: {outgoing.length}\r\n")
    return "".join([*lines, "connection: close\r\n\r\n"]).encode("latin-1")


async def read(host: str, answer: Response, most: int) -> bytes:
    """The body, unpacked. Raises `Unanswered` as soon as it is too large."""
    too_large = Unanswered("too_large", f"The answer of {host} is larger than {most:,} bytes.", sent=True)
    length = answer.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise too_large
    content = bytearray()
    try:
        unpacker = Unpacker(answer.headers.get("content-encoding", ""))
        async for piece in answer:
            for part in unpacker.feed(piece, most - len(content)):
                content += part
            if len(content) > most:
                raise too_large
        unpacker.finish()
    except NotPacked as error:
        raise Unanswered("broken", f"The answer of {host} cannot be unpacked: {error}.", sent=True) from None
    return bytes(content)
