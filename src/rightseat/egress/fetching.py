"""Gets a file from an address that a client, a model or a document named, through the one door out.

    fetched = await Fetcher(Policy(allow=("10.1.0.0/16",))).get(url)

Each redirect begins anew: it is looked up and checked like the first address. There are no cookies, no credentials and
no packed answers, and there are limits of size and time.
"""

import asyncio
import ssl
from dataclasses import dataclass
from urllib.parse import urljoin

from rightseat.core.errors import AddressForbidden, FetchFailed
from rightseat.egress import door
from rightseat.egress.addresses import Policy, Target, read_url
from rightseat.egress.client import Response
from rightseat.egress.door import Door, Outgoing, Resolve, look_up

__all__ = ["Fetched", "Fetcher", "Limits", "Policy"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
UNPACKED = (("accept-encoding", "identity"),)


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
        self._door = Door(resolve=resolve, tls=tls)

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
        limits = door.Limits(self.limits.size, self.limits.seconds, self.limits.connecting, self.limits.silence)
        async with self._door.visit(Outgoing("GET", target, UNPACKED), self.policy, limits) as answer:
            if answer.status in REDIRECTS and "location" in answer.headers:
                return read_url(urljoin(target.url, answer.headers["location"]))
            content = await self._read(target, answer)
        return Fetched(content, answer.headers.get("content-type", "").partition(";")[0].strip().lower(), target.url)

    async def _read(self, target: Target, answer: Response) -> bytes:
        if answer.status != 200:
            raise FetchFailed(f"{target.host} answers with the status {answer.status} instead of the file.")
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise FetchFailed(f"{target.host} sends the file compressed, though it was asked not to.")
        return await door.read(target.host, answer, self.limits.size)
