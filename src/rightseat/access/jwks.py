"""The public keys of a token issuer, fetched from its URL or read from a file, and cached.

younger than FRESH_S     used from the cache
older                    read again; if that fails, used until they are older than STALE_S, with a warning in the log
an unknown key id        read again, but at most every UNKNOWN_KEY_INTERVAL_S: invented ids cause no traffic
no keys at all           every token is refused, and keys are read again at most every RETRY_INTERVAL_S
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from rightseat.core.errors import IssuerUnavailable
from rightseat.egress.client import Client
from rightseat.egress.network import NetworkOptions
from rightseat.egress.request import parse_base_url
from rightseat.egress.transport import TransportError

logger = logging.getLogger(__name__)

FRESH_S = 600.0
STALE_S = 3600.0
UNKNOWN_KEY_INTERVAL_S = 30.0
RETRY_INTERVAL_S = 1.0
READ_TIMEOUT_S = 5.0
MAX_JWKS_BYTES = 2**20

READ_ERRORS = (OSError, TransportError, msgspec.DecodeError, ValueError)


class _JwkSet(msgspec.Struct):
    keys: list[dict[str, object]]


class Jwks:
    """`network` and `timeout` (of a request, in seconds) are for a source that is a URL."""

    def __init__(
        self,
        source: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        network: NetworkOptions | None = None,
        timeout: float = READ_TIMEOUT_S,
    ) -> None:
        self._source = source
        self._network = network
        self._timeout = timeout
        self._clock = clock
        self._client: Client | None = None
        self._is_open = False
        self._keys: Mapping[str | None, Key] = {}
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._is_open = True
        self._lock = asyncio.Lock()  # the one before may belong to an event loop that has ended
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_open = False
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def find(self, kid: str | None) -> Key | None:
        """The key, or None if the issuer has no such key. A token without a key id matches the only key.

        Raises `IssuerUnavailable` if the keys cannot be read.
        """
        if self._since(self._read_at) > FRESH_S:
            await self._refresh()
        if kid not in self._keys and self._since(self._tried_at) > UNKNOWN_KEY_INTERVAL_S:
            await self._refresh()
        if self._since(self._read_at) > STALE_S or (kid not in self._keys and self._tried_at != self._read_at):
            raise IssuerUnavailable(
                "Cannot check the token: the public keys of its issuer are unavailable. Try again later."
            )
        return self._keys.get(kid)

    async def _refresh(self) -> None:
        """One at a time: a caller that waited uses the result of the other."""
        began = self._clock()
        async with self._lock:
            if self._tried_at is not None and self._tried_at >= began:
                return
            interval = UNKNOWN_KEY_INTERVAL_S if self._keys else RETRY_INTERVAL_S
            if self._tried_at != self._read_at and self._since(self._tried_at) < interval:
                return  # the last attempt failed recently
            try:
                keys = read_keys(await self._read())
            except READ_ERRORS as error:
                logger.warning("cannot read the keys at %s: %s", self._source, str(error) or type(error).__name__)
                self._tried_at = self._clock()
            else:
                self._keys = keys
                self._read_at = self._tried_at = self._clock()

    async def _read(self) -> bytes:
        if "://" not in self._source:
            return await asyncio.to_thread(Path(self._source).read_bytes)
        if not self._is_open:
            raise OSError("the server has not started")
        parts = parse_base_url(self._source)
        if self._client is None:
            headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "rightseat"}
            origin = f"{parts.scheme}://{parts.netloc}"
            self._client = Client(
                origin, headers, timeout=self._timeout, connect_timeout=self._timeout, network=self._network
            )
        body = b""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        async with asyncio.timeout(2 * self._timeout), self._client.get(path) as response:
            if response.status != 200:
                raise ValueError(f"HTTP status {response.status}")
            async for chunk in response:
                body += chunk
                if len(body) > MAX_JWKS_BYTES:
                    raise ValueError(f"the response is larger than {MAX_JWKS_BYTES:,} bytes")
        return body

    def _since(self, moment: float | None) -> float:
        return float("inf") if moment is None else self._clock() - moment


def read_keys(body: bytes) -> Mapping[str | None, Key]:
    """The keys that can verify a signature, by their ids; a single key is also found without its id.

    Unsupported keys are skipped, and so are symmetric ones: a shared secret would let its holders sign tokens
    themselves.
    """
    found: dict[str | None, Key] = {}
    for data in msgspec.json.decode(body, type=_JwkSet).keys:
        if data.get("use", "sig") != "sig" or data.get("kty") == "oct":
            continue
        try:
            key = JWKRegistry.import_key(data)  # type: ignore[arg-type]  # it validates the data itself
        except (JoseError, ValueError, TypeError, KeyError):
            logger.warning("skipping a key of the set that cannot be read")
            continue
        found.setdefault(str(data["kid"]) if "kid" in data else f"no id, {len(found)}", key)
    if len(found) == 1:
        found[None] = next(iter(found.values()))
    return found
