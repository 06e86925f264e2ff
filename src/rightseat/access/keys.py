"""API keys. A key is shown once, when it is made; afterwards only its prefix and its hash are known.

    rs_5fJq0aXe_7mD3…      the whole key: 8 characters to find it by, and 40 that nobody guesses
    5fJq0aXe, sha256 …     what a server keeps

A fast hash is enough: what is hashed is random and 238 bits long.
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
OURS = re.compile(r"rs_([A-Za-z0-9]{8})_[A-Za-z0-9]{32,}")


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key. `prefix` is empty for a secret that was not made by us."""

    name: str
    prefix: str
    hash: str = field(repr=False)
    user: str
    scopes: tuple[str, ...] = ("*",)


NONE = (Key("nobody", "", "0" * 64, "", ()),)
"""Compared with where there is nothing to compare with, so that it takes as long."""


class Keys:
    """All keys of a server."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._by_prefix: defaultdict[str, list[Key]] = defaultdict(list)
        for key in keys:
            self._by_prefix[key.prefix].append(key)

    def __len__(self) -> int:
        return sum(len(keys) for keys in self._by_prefix.values())

    def find(self, credential: str) -> Key | None:
        """How long it takes says nothing about how much of a key was right."""
        hashed = digest(credential)
        known = self._by_prefix.get(prefix_of(credential), NONE)
        matching = [key for key in known if hmac.compare_digest(key.hash, hashed)]
        return matching[0] if matching and credential else None


def new() -> str:
    return f"rs_{_random(8)}_{_random(40)}"


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def prefix_of(key: str) -> str:
    """The part of a key that is no secret; nothing of a secret that was not made by us."""
    match = OURS.fullmatch(key)
    return match[1] if match else ""


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))
