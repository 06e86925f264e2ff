"""An issuer's public keys, from its address or from a file, kept for a while.

younger than FRESH       used as they are
older                    read again; if that fails, used all the same until they are STALE, and the log says so
a key that is not there  read again, but not more often than every PAUSE: who invents keys causes no traffic
none at all              nobody is let in, and they are asked for again, but not more often than every RETRY
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from rightseat.core.errors import Unverifiable
from rightseat.egress.client import Client, Unreachable
from rightseat.egress.request import parse_base_url

logger = logging.getLogger(__name__)

FRESH = 600.0  # seconds
STALE = 3600.0
PAUSE = 30.0
RETRY = 1.0
PATIENCE = 5.0
LARGEST = 2**20  # bytes

UNREADABLE = (OSError, Unreachable, msgspec.DecodeError, ValueError)


class _Set(msgspec.Struct):
    keys: list[dict[str, object]]


class Jwks:
    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._client: Client | None = None
        self._is_open = False
        self._keys: Mapping[str | None, Key] = {}
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def find(self, kid: str | None) -> Key | None:
        """The key, or None if the issuer has no such key. A token that names none may mean the only one there is.

        Raises `Unverifiable` where nobody can say.
        """
        if self._since(self._read_at) > FRESH:
            await self._refresh()
        if kid not in self._keys and self._since(self._tried_at) > PAUSE:
            await self._refresh()
        if self._since(self._read_at) > STALE or (kid not in self._keys and self._tried_at != self._read_at):
            raise Unverifiable("The token cannot be checked now: the keys of its issuer cannot be had. Try again soon.")
        return self._keys.get(kid)

    async def _refresh(self) -> None:
        """One at a time: who waited for another's turn takes what that one found."""
        began = self._clock()
        async with self._turn:
            if self._tried_at is not None and self._tried_at >= began:
                return
            if self._tried_at != self._read_at and self._since(self._tried_at) < (PAUSE if self._keys else RETRY):
                return  # it failed a moment ago
            try:
                keys = read_keys(await self._read())
            except UNREADABLE as error:
                logger.warning("the keys at %s cannot be had: %s", self._source, str(error) or type(error).__name__)
                self._tried_at = self._clock()
            else:
                self._keys = keys
                self._read_at = self._tried_at = self._clock()

    async def _read(self) -> bytes:
        if "://" not in self._source:
            return await asyncio.to_thread(Path(self._source).read_bytes)
        if not self._is_open:
            raise OSError("this server has not been started")
        parts = parse_base_url(self._source)
        if self._client is None:
            headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "rightseat"}
            origin = f"{parts.scheme}://{parts.netloc}"
            self._client = Client(origin, headers, timeout=PATIENCE, connect_timeout=PATIENCE)
        body = b""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        async with asyncio.timeout(2 * PATIENCE), self._client.get(path) as response:
            if response.status != 200:
                raise ValueError(f"the answer is {response.status}")
            async for piece in response:
                body += piece
                if len(body) > LARGEST:
                    raise ValueError(f"the answer is larger than {LARGEST:,} bytes")
        return body

    def _since(self, moment: float | None) -> float:
        return float("inf") if moment is None else self._clock() - moment


def read_keys(body: bytes) -> Mapping[str | None, Key]:
    """The keys that can check a signature, by their ids; if there is one only, it is found without its id too.

    A key that we do not understand is left out, and one that is no public key: a secret that both sides share would let
    its holders make tokens themselves.
    """
    found: dict[str | None, Key] = {}
    for data in msgspec.json.decode(body, type=_Set).keys:
        if data.get("use", "sig") != "sig" or data.get("kty") == "oct":
            continue
        try:
            key = JWKRegistry.import_key(data)  # type: ignore[arg-type]  # it says itself what it cannot take
        except (JoseError, ValueError, TypeError, KeyError):
            logger.warning("a key of the set cannot be read, and is left out")
            continue
        found.setdefault(str(data["kid"]) if "kid" in data else f"no id, {len(found)}", key)
    if len(found) == 1:
        found[None] = next(iter(found.values()))
    return found
