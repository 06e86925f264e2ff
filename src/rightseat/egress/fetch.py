"""Fetches a file from a URL that a client, a model or a document supplied, with SSRF protection.

    file = await Fetcher(AddressPolicy(allow=("10.1.0.0/16",))).get(url)

Each redirect target is resolved and checked like the first URL. Requests carry no cookies, credentials or compression,
and size and time are limited.
"""

import asyncio
import ssl
from dataclasses import dataclass
from urllib.parse import urljoin

from rightseat.core.errors import AddressForbidden, FetchFailed
from rightseat.egress.addresses import AddressPolicy, Target, parse_url
from rightseat.egress.transport import Response
from rightseat.egress.untrusted import FetchRequest, RequestLimits, Resolve, UntrustedClient, read_body, resolve_host

__all__ = ["AddressPolicy", "FetchLimits", "FetchedFile", "Fetcher"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
IDENTITY_ENCODING = (("accept-encoding", "identity"),)


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """`url` is the address after all redirects. `media_type` is the content type without parameters."""

    content: bytes
    media_type: str
    url: str


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`timeout` is for the whole file, `read_timeout` for the longest pause; all in seconds."""

    max_bytes: int = 32 * 2**20
    max_redirects: int = 5
    timeout: float = 30.0
    connect_timeout: float = 5.0
    read_timeout: float = 10.0


class Fetcher:
    """`resolve` and `tls` are for tests, and for networks with a private DNS and CA."""

    def __init__(
        self,
        policy: AddressPolicy | None = None,
        limits: FetchLimits | None = None,
        *,
        resolve: Resolve = resolve_host,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.policy = policy or AddressPolicy()
        self.limits = limits or FetchLimits()
        self._client = UntrustedClient(resolve=resolve, tls=tls)

    async def get(self, url: str) -> FetchedFile:
        """Raises `AddressForbidden`, with the rule that refused, and `FetchFailed`."""
        try:
            async with asyncio.timeout(self.limits.timeout):
                return await self._follow(parse_url(url))
        except TimeoutError:
            raise FetchFailed(f"The file was not received within {self.limits.timeout:g} s.") from None

    async def _follow(self, target: Target) -> FetchedFile:
        for _ in range(self.limits.max_redirects + 1):
            result = await self._fetch_once(target)
            if isinstance(result, FetchedFile):
                return result
            if target.scheme == "https" and result.scheme == "http":
                raise AddressForbidden(f"{target.host} redirects from https to http, which is not followed.")
            target = result
        raise FetchFailed(f"More than {self.limits.max_redirects} redirects.")

    async def _fetch_once(self, target: Target) -> FetchedFile | Target:
        """The file, or the target of a redirect."""
        limits = RequestLimits(
            self.limits.max_bytes, self.limits.timeout, self.limits.connect_timeout, self.limits.read_timeout
        )
        async with self._client.open(FetchRequest("GET", target, IDENTITY_ENCODING), self.policy, limits) as response:
            if response.status in REDIRECTS and "location" in response.headers:
                return parse_url(urljoin(target.url, response.headers["location"]))
            content = await self._read(target, response)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return FetchedFile(content, media_type, target.url)

    async def _read(self, target: Target, response: Response) -> bytes:
        if response.status != 200:
            raise FetchFailed(f"{target.host} returned HTTP {response.status} instead of the file.")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise FetchFailed(f"{target.host} compressed the file, though the request does not accept compression.")
        return await read_body(target.host, response, self.limits.max_bytes)
