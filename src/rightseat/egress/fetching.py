"""The guarded door out: gets a file from an address that a client, a model or a document named.

    fetched = await Fetcher(Policy(allow=("10.1.0.0/16",))).get(url)

A name is looked up here, its addresses are checked, and one of those is connected to: nothing looks the name up a
second time, so it cannot lead elsewhere by then. Each redirect begins anew. There are no cookies, no credentials, no
proxies of the environment and no compressed answers, and there are limits of size and time.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin

from rightseat.core.errors import AddressForbidden, FetchFailed
from rightseat.egress.addresses import Address, Policy, Target, read_url
from rightseat.egress.http import AT_ONCE, Answer, Connection, Unreachable, explain

__all__ = ["Fetched", "Fetcher", "Limits", "Policy"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host and a port to addresses. Raises `OSError` where there are none."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})
LONGEST_HEAD = 64 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Fetched:
    """`url` is where it was found in the end. `media_type` is what the server says, without parameters."""

    content: bytes
    media_type: str
    url: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of an answer; redirects; and seconds for all of it, for one connection, and for one silence."""

    size: int = 32 * 2**20
    redirects: int = 5
    seconds: float = 30.0
    connecting: float = 5.0
    silence: float = 10.0


async def look_up(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Fetcher:
    """`resolve` and `tls` are for tests, and for networks with names and certificates of their own."""

    def __init__(
        self,
        policy: Policy | None = None,
        limits: Limits | None = None,
        *,
        resolve: Resolve = look_up,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self.limits = limits or Limits()
        self._resolve = resolve
        self._tls = tls

    async def get(self, url: str) -> Fetched:
        """Raises `AddressForbidden`, with the rule that refused, and `FetchFailed`."""
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._follow(read_url(url))
        except TimeoutError:
            raise FetchFailed(f"The file was not there within {self.limits.seconds:g} s.") from None

    async def _follow(self, target: Target) -> Fetched:
        for _ in range(self.limits.redirects + 1):
            found = await self._visit(target)
            if isinstance(found, Fetched):
                return found
            if target.scheme == "https" and found.scheme == "http":
                raise AddressForbidden(f"{target.host} leads from https to http, which is not followed.")
            target = found
        raise FetchFailed(f"The address leads from one to the next, more than {self.limits.redirects} times.")

    async def _visit(self, target: Target) -> Fetched | Target:
        """What is there, or where it is now."""
        connection = await self._connect(target)
        try:
            answer = await connection.ask(write_request(target))
            if answer.status in REDIRECTS and "location" in answer.headers:
                return read_url(urljoin(target.url, answer.headers["location"]))
            content = await self._read(target, answer)
        except Unreachable as error:
            raise FetchFailed(f"{target.host} gives no proper answer. {error}".strip()) from None
        finally:
            connection.abort()
        return Fetched(content, answer.headers.get("content-type", "").partition(";")[0].strip().lower(), target.url)

    async def _connect(self, target: Target) -> "Guarded":
        """To the first of the checked addresses that takes a connection."""
        addresses = self.policy.choose(target, await self._addresses(target))
        failure = f"{target.host} cannot be reached."
        for address in addresses:
            try:
                return await self._connect_to(address, target)
            except TimeoutError:
                failure = f"{target.host} took no connection within {self.limits.connecting:g} s."
            except OSError as error:
                failure = f"{target.host} takes no connection: {explain(error)}."
        raise FetchFailed(failure)

    async def _addresses(self, target: Target) -> list[Address]:
        self.policy.check_host(target)
        if target.number is not None:
            return [target.number]
        try:
            found = await self._resolve(target.host, target.port)
        except OSError:
            raise FetchFailed(f"There is no host named {target.host}.") from None
        return [ip_address(address) for address in dict.fromkeys(found)]

    async def _connect_to(self, address: Address, target: Target) -> "Guarded":
        loop = asyncio.get_running_loop()
        secure: dict[str, Any] = {}
        if target.scheme == "https":
            self._tls = self._tls or ssl.create_default_context()  # it reads all certificates there are: not in vain
            secure = {"ssl": self._tls, "server_hostname": target.host}
        async with asyncio.timeout(self.limits.connecting):
            _, connection = await loop.create_connection(
                lambda: Guarded(loop, self.limits), str(address), target.port, **secure
            )
        return connection

    async def _read(self, target: Target, answer: Answer) -> bytes:
        if answer.status != 200:
            raise FetchFailed(f"{target.host} answers with the status {answer.status} instead of the file.")
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise FetchFailed(f"{target.host} sends the file compressed, though it was asked not to.")
        length = answer.headers.get("content-length", "")
        content = bytearray()
        if not (length.isdecimal() and int(length) > self.limits.size):
            async for piece in answer:
                content += piece
                if len(content) > self.limits.size:
                    break
            else:
                return bytes(content)
        raise FetchFailed(f"The file is larger than {self.limits.size:,} bytes.")


class Guarded(Connection):
    """A connection to a stranger: what is not the body of the answer has a limit too."""

    __slots__ = ("_heard", "_most")

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: Limits) -> None:
        super().__init__(loop, memoryview(bytearray(AT_ONCE)), limits.silence)
        self._heard = 0
        self._most = 2 * limits.size + LONGEST_HEAD

    def buffer_updated(self, nbytes: int) -> None:
        self._heard += nbytes
        super().buffer_updated(nbytes)
        if self._heard > self._most or (not self._status and self._heard > LONGEST_HEAD):
            self._end("Its answer is more frame than content.")
            self.abort()


def write_request(target: Target) -> bytes:
    lines = [
        f"GET {target.path} HTTP/1.1",
        f"host: {target.authority}",
        "user-agent: rightseat",
        "accept: */*",
        "accept-encoding: identity",
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii")
