"""The one door out: a request to an address that a plugin, a client, a model or a document named.

    incoming = await Door().send(Outgoing("GET", read_url(url)), Policy(allow=("api.internal:8443",)), Limits())

A name is looked up here, all of its addresses are checked, and one of those is connected to: nothing looks the name up
a second time, so it cannot lead elsewhere by then. Redirects are not followed, proxies of the environment not used. An
answer is counted while it comes, before and after it is unpacked.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Literal

from rightseat.core.errors import FetchFailed
from rightseat.egress.addresses import Address, Policy, Target
from rightseat.egress.connection import Answer, Unreachable
from rightseat.egress.guarded import Guarded
from rightseat.egress.http import explain, write_headers
from rightseat.egress.unpacking import ACCEPTED, NotPacked, Unpacker

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
    """`resolve` and `tls` are for tests, and for networks with names and certificates of their own."""

    def __init__(self, *, resolve: Resolve = look_up, tls: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve
        self._tls = tls

    async def send(self, outgoing: Outgoing, policy: Policy, limits: Limits) -> Incoming:
        """Raises `AddressForbidden`, with the rule that refused, and `Unanswered`."""
        progress = Progress()
        host = outgoing.target.host
        try:
            async with asyncio.timeout(limits.seconds), self.visit(outgoing, policy, limits, progress) as answer:
                content = b"" if outgoing.method == "HEAD" else await read(host, answer, limits.size)
                return Incoming(answer.status, answer.headers, content)
        except TimeoutError:
            message = f"{host} gave no whole answer within {limits.seconds:g} s."
            raise Unanswered("timeout", message, sent=progress.sent) from None

    @asynccontextmanager
    async def visit(
        self, outgoing: Outgoing, policy: Policy, limits: Limits, progress: "Progress | None" = None
    ) -> AsyncIterator[Answer]:
        """The answer as soon as its head is there. Leaving it closes the connection."""
        progress = progress or Progress()
        head = write_head(outgoing)
        connection = await self._connect(outgoing.target, policy, limits)
        progress.sent = True
        try:
            with connection.sending(outgoing.body):
                yield await connection.ask(head)
        except Unreachable as error:
            reason: Reason = "timeout" if connection.was_silent else "broken"
            message = f"{outgoing.target.host} gives no proper answer. {error}".strip()
            raise Unanswered(reason, message, sent=True) from None
        finally:
            connection.abort()

    async def _connect(self, target: Target, policy: Policy, limits: Limits) -> Guarded:
        """To the first of the checked addresses that takes a connection."""
        failure = f"{target.host} cannot be reached."
        for address in policy.choose(target, await self._addresses(target, policy, limits)):
            try:
                return await self._connect_to(address, target, limits)
            except TimeoutError:
                failure = f"{target.host} took no connection within {limits.connecting:g} s."
            except OSError as error:
                failure = f"{target.host} takes no connection: {explain(error)}."
        raise Unanswered("connect", failure, sent=False)

    async def _addresses(self, target: Target, policy: Policy, limits: Limits) -> list[Address]:
        policy.check_host(target)
        if target.number is not None:
            return [target.number]
        try:
            async with asyncio.timeout(limits.connecting):
                found = await self._resolve(target.host, target.port)
        except TimeoutError:
            message = f"The name {target.host} was not found within {limits.connecting:g} s."
            raise Unanswered("connect", message, sent=False) from None
        except OSError:
            raise Unanswered("connect", f"There is no host named {target.host}.", sent=False) from None
        return [ip_address(address) for address in dict.fromkeys(found)]

    async def _connect_to(self, address: Address, target: Target, limits: Limits) -> Guarded:
        loop = asyncio.get_running_loop()
        secure: dict[str, Any] = {}
        if target.scheme == "https":
            self._tls = self._tls or ssl.create_default_context()  # it reads all certificates there are: not in vain
            secure = {"ssl": self._tls, "server_hostname": target.host}
        async with asyncio.timeout(limits.connecting):
            _, connection = await loop.create_connection(
                lambda: Guarded(loop, limits.size, limits.silence), str(address), target.port, **secure
            )
        return connection


@dataclass(slots=True)
class Progress:
    """Whether a request has begun to leave: what happens afterwards may have had an effect."""

    sent: bool = False


def write_head(outgoing: Outgoing) -> bytes:
    """Raises `ValueError` where a header would become two."""
    target = outgoing.target
    ours = {"host": target.authority, "user-agent": "rightseat", "accept": "*/*", "accept-encoding": ACCEPTED}
    named = {name.lower() for name, _ in outgoing.headers}
    lines = [f"{outgoing.method} {target.path} HTTP/1.1\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in ours.items() if name == "host" or name not in named]
    lines += [write_headers({name: value}) for name, value in outgoing.headers if name.lower() != "host"]
    if outgoing.length is not None:
        lines.append(f"content-length: {outgoing.length}\r\n")
    return "".join([*lines, "connection: close\r\n\r\n"]).encode("latin-1")


async def read(host: str, answer: Answer, most: int) -> bytes:
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
