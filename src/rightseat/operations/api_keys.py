"""The protocol of the store for API keys, which all servers of a store share and which change while they run."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

import msgspec

from rightseat.core.errors import RightseatError

KeyState = Literal["active", "expired", "revoked"]


class ApiKeyExists(RightseatError):
    code = "key_exists"
    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a key called {name!r}. Choose another name.")


class ApiKeyNotFound(RightseatError):
    code = "key_not_found"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no key called {name!r}. `rightseat keys list` shows all keys.")


class ApiKeyNotChangeable(RightseatError):
    """The key is in a state, or in a place, that does not allow the change."""

    code = "key_not_changeable"
    status = 409


class KeySecret(msgspec.Struct, frozen=True):
    """One secret of a key: its public prefix and its SHA-256. After a rotation the old secret has an expiry."""

    prefix: str
    hash: str
    expires_at: str | None = None


class StoredKey(msgspec.Struct, frozen=True):
    """A key, its newest secret first. Times are ISO 8601, in UTC.

    A key without secrets is one of the configuration file that was used, or revoked or restored in the store.
    `cancels_runs` says whether servers cancel the runs of the revoked key; with None each does as it is configured.
    """

    name: str
    user: str
    scopes: tuple[str, ...]
    secrets: tuple[KeySecret, ...]
    created_at: str
    expires_at: str | None = None
    revoked_at: str | None = None
    last_used_at: str | None = None
    cancels_runs: bool | None = None

    def state_at(self, now: datetime) -> KeyState:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and datetime.fromisoformat(self.expires_at) <= now else "active"

    @property
    def state(self) -> KeyState:
        return self.state_at(datetime.now(UTC))


class StoredKeySet(msgspec.Struct, frozen=True):
    """All keys of the store at one moment. `revision` is greater after every change except a last use."""

    revision: int
    keys: Sequence[StoredKey]


class ApiKeyStore(Protocol):
    async def revision(self) -> int:
        """One cheap statement, for servers that ask every other second."""
        ...

    async def load(self) -> StoredKeySet: ...

    async def add(self, key: StoredKey) -> None:
        """Raises `ApiKeyExists`."""
        ...

    async def revoke(self, name: str, *, is_in_file: bool = False, cancels_runs: bool | None = None) -> None:
        """`is_in_file`: the configuration file has a key of this name. Raises `ApiKeyNotFound` without any key.

        `cancels_runs` is that of `StoredKey`.
        """
        ...

    async def restore(self, name: str) -> None:
        """Undo `revoke`. Raises `ApiKeyNotFound`."""
        ...

    async def rotate(
        self, name: str, secret: KeySecret, overlap: timedelta, expires_at: str | None = None
    ) -> StoredKey:
        """Give the key a new secret. Its other secrets expire after `overlap`. `expires_at` replaces the key's expiry.

        Raises `ApiKeyNotFound`, and `ApiKeyNotChangeable` for a key that is revoked or has expired.
        """
        ...

    async def record_use(self, uses: Mapping[str, str], in_file: Collection[str] = ()) -> None:
        """Store the time at which each of these keys was last used. Names that neither the store nor the file has are
        ignored."""
        ...
