"""Sends requests to the endpoints of an OpenID provider, which may be on several hosts."""

import asyncio
from collections.abc import Mapping
from ipaddress import ip_address
from typing import NamedTuple, TypeVar

import msgspec

from rightseat.access.sign_in.refusal import SignInProblem, SignInRefused
from rightseat.config.urls import is_loopback
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.client import Client
from rightseat.egress.network import NetworkOptions
from rightseat.egress.redaction import Redactor
from rightseat.egress.request import parse_base_url
from rightseat.egress.transport import TransportError

T = TypeVar("T")

MAX_RESPONSE_BYTES = 2**20
HEADERS = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "content-type": "application/x-www-form-urlencoded",
    "user-agent": "rightseat",
}


class ProviderResponse(NamedTuple):
    url: str
    status: int
    body: bytes


class ProviderClient:
    """Follows no redirects. `timeout` is for a whole request, in seconds."""

    def __init__(self, network: NetworkOptions, timeout: float) -> None:
        self._network = network
        self._timeout = timeout
        self._clients: dict[str, Client] = {}

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()

    async def send(
        self, method: str, url: str, body: str = "", headers: Mapping[str, str] | None = None
    ) -> ProviderResponse:
        """Raises `SignInRefused` if there is no complete response."""
        parts = parse_base_url(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        client = self._find(f"{parts.scheme}://{parts.netloc}")
        content = bytearray()
        try:
            async with (
                asyncio.timeout(self._timeout),
                client.request(method, path, body.encode(), headers or {}) as response,
            ):
                async for piece in response:
                    content += piece
                    if len(content) > MAX_RESPONSE_BYTES:
                        raise SignInRefused("invalid_response", f"{url} sent more than {MAX_RESPONSE_BYTES:,} bytes")
                return ProviderResponse(url, response.status, bytes(content))
        except TimeoutError:
            raise SignInRefused("unavailable", f"{url} sent no response within {self._timeout:g} s") from None
        except TransportError as error:
            raise SignInRefused("unavailable", f"{url} cannot be reached: {error}") from error

    def _find(self, origin: str) -> Client:
        if origin not in self._clients:
            self._clients[origin] = Client(
                origin, HEADERS, timeout=self._timeout, connect_timeout=self._timeout, network=self._network
            )
        return self._clients[origin]


def decode_response(response: ProviderResponse, kind: type[T], redactor: Redactor | None = None) -> T:
    """Raises `SignInRefused`, with the provider's own text."""
    if response.status != 200:
        problem: SignInProblem = "unavailable" if response.status >= 500 else "misconfigured"
        text = quote_text(response, redactor or Redactor())
        raise SignInRefused(problem, f"{response.url} returned HTTP {response.status}{text}")
    try:
        return msgspec.json.decode(response.body, type=kind)
    except JSON_ERRORS as error:
        raise SignInRefused("invalid_response", f"the JSON of {response.url} is not valid: {error}") from None


def quote_text(response: ProviderResponse, redactor: Redactor) -> str:
    text = redactor.summarize(response.body.decode("utf-8", "replace"))
    return f": {text}" if text else ""


def check_endpoint(name: str, url: str, issuer: str) -> str:
    """Raises `SignInRefused`. Codes, tokens and secrets are sent to it, so http is only for this machine.

    The document of an issuer elsewhere cannot name an address of this machine or its network: the server would send
    requests to services there.
    """
    try:
        parts = parse_base_url(url)
    except ValueError as error:
        raise SignInRefused("invalid_response", f"the provider's {name} {url!r} is not valid: {error}") from None
    if parts.fragment or (parts.scheme != "https" and not is_loopback(parts.hostname or "")):
        raise SignInRefused("invalid_response", f"the provider's {name} {url!r} should begin with https://")
    host, issuer_host = parts.hostname or "", parse_base_url(issuer).hostname or ""
    if host != issuer_host and is_internal(host) and not is_internal(issuer_host):
        raise SignInRefused("invalid_response", f"the provider's {name} {url!r} is an internal address")
    return url


def is_internal(host: str) -> bool:
    """Whether this is an address that is not public, or a name of this machine."""
    try:
        return not ip_address(host.strip("[]")).is_global
    except ValueError:
        return is_loopback(host) or host.endswith(".localhost")
