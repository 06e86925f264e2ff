"""Limits attempts with wrong keys and refused sign-ins, per client address.

An address may send a number of wrong keys at once; after that, one in a few seconds is checked, and the others are
refused unchecked. A key that this address used successfully before stays accepted, so that a client with a wrong key
does not lock out others behind the same address.
"""

import ipaddress
import math
import time
from collections.abc import Callable, Hashable
from typing import TypeVar

from rightseat.access.client_networks import find_client_network
from rightseat.core.errors import TooManyAttempts

WRONG_KEYS_PER_MINUTE = 20
MAX_ADDRESSES = 10_000
MAX_KNOWN = 50_000
"""Pairs of an address and a credential; beyond them the oldest are forgotten."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WrongKeyLimit:
    """A token bucket for each address. 0 means no limit."""

    def __init__(self, per_minute: int = WRONG_KEYS_PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = per_minute
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # network → attempts left, and when; the oldest first
        self._known: dict[tuple[str, str], None] = {}

    def check(self, address: str) -> None:
        """Raises `TooManyAttempts` if this address has no attempts left."""
        network = self._network(address)
        if network in self._left and (left := self._attempts_left(network)) < 1:
            raise self._refusal(left)

    def record_wrong(self, address: str) -> None:
        """Raises `TooManyAttempts` if this address has no attempts left."""
        if (network := self._network(address)) is None:
            return
        left = self._attempts_left(network)
        if left < 1:
            raise self._refusal(left)
        put(self._left, network, (left - 1, self._clock()), MAX_ADDRESSES)

    def record_right(self, address: str, credential: str) -> None:
        """Raises `TooManyAttempts` for a credential that is new to an address without attempts left."""
        if (network := self._network(address)) is None or (network, credential) in self._known:
            return
        if network in self._left and (left := self._attempts_left(network)) < 1:
            raise self._refusal(left)
        put(self._known, (network, credential), None, MAX_KNOWN)

    def _attempts_left(self, network: str) -> float:
        left, at = self._left.get(network, (float(self._most), 0.0))
        return min(float(self._most), left + (self._clock() - at) * self._most / 60)

    def _refusal(self, left: float) -> TooManyAttempts:
        return TooManyAttempts(max(1, math.ceil((1 - left) * 60 / self._most)))

    def _network(self, address: str) -> str | None:
        """What is counted; None if it is not limited.

        Behind a proxy of the same machine that sends no address, all clients would share that of this machine.
        """
        try:
            is_loopback = ipaddress.ip_address(address).is_loopback
        except ValueError:
            return None
        return None if self._most == 0 or is_loopback else find_client_network(address)


class FirstUses:
    """Tells the first use of a credential in a day (UTC), for the audit log of the store."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._day = 0
        self._used: dict[str, None] = {}

    def is_first(self, credential: str) -> bool:
        day = int(self._clock() // 86_400)
        if day != self._day:
            self._day, self._used = day, {}
        if credential in self._used:
            return False
        put(self._used, credential, None, MAX_KNOWN)
        return True


def put(found: dict[K, V], key: K, value: V, most: int) -> None:
    """As the newest one; beyond `most` the oldest is removed."""
    found.pop(key, None)
    found[key] = value
    if len(found) > most:
        del found[next(iter(found))]
