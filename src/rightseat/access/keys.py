"""API keys. A key is shown once, when it is created; a server stores only its prefix and its hash.

    rs_5fJq0aXe_7mD3…      the key: 8 characters to find it by, and 40 random ones
    5fJq0aXe, sha256 …     what a server stores

A fast hash is enough, because keys have 238 random bits.
"""

import hashlib
import hmac
import re
import secrets
import string
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

ALPHABET = string.ascii_letters + string.digits
KEY_PATTERN = re.compile(r"rs_([A-Za-z0-9]{8})_[A-Za-z0-9]{32,}")


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key with one secret. `prefix` is empty for a secret that `rightseat keys new` did not create.

    `expires_at` is in seconds since 1970.
    """

    name: str
    prefix: str
    hash: str = field(repr=False)
    user: str
    scopes: tuple[str, ...] = ("*",)
    expires_at: float | None = None


NO_KEYS = (AccessKey("none", "", "0" * 64, "", ()),)
"""Compared with if the prefix is unknown, so that the time is the same."""


class Keys:
    """All keys of a server."""

    def __init__(self, keys: Iterable[AccessKey] = ()) -> None:
        self._by_prefix: defaultdict[str, list[AccessKey]] = defaultdict(list)
        for key in keys:
            self.add(key)

    def __len__(self) -> int:
        return sum(len(keys) for keys in self._by_prefix.values())

    def names(self) -> frozenset[str]:
        return frozenset(key.name for keys in self._by_prefix.values() for key in keys)

    def add(self, key: AccessKey) -> None:
        self._by_prefix[key.prefix].append(key)

    def remove(self, key: AccessKey) -> None:
        self._by_prefix[key.prefix].remove(key)

    def named(self, name: str) -> list[AccessKey]:
        """A key that was rotated has several secrets, each of which is an `AccessKey`."""
        return [key for keys in self._by_prefix.values() for key in keys if key.name == name]

    def find(self, credential: str) -> AccessKey | None:
        """Takes the same time however much of the credential matches."""
        hashed = digest(credential)
        known = self._by_prefix.get(prefix_of(credential), NO_KEYS)
        matching = [key for key in known if hmac.compare_digest(key.hash, hashed)]
        return matching[0] if matching and credential else None


def generate() -> str:
    return f"rs_{_random(8)}_{_random(40)}"


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def prefix_of(key: str) -> str:
    """The public part of a key; empty for a secret that `rightseat keys new` did not create."""
    match = KEY_PATTERN.fullmatch(key)
    return match[1] if match else ""


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
