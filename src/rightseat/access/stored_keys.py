"""The API keys of the store, held in memory: a request needs no statement.

Every server asks the store for changes every two seconds, by one statement. After half a minute without a response it
refuses the keys of the store: one of them may have been revoked meanwhile.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Self

from rightseat.access.keys import AccessKey, Keys
from rightseat.access.store_poll import MAX_UNCONFIRMED_S, POLL_INTERVAL_S, STATEMENT_TIMEOUT_S, StorePoll
from rightseat.core.errors import KeysUnconfirmed, Unauthenticated
from rightseat.operations.api_keys import ApiKeyStore, StoredKey

logger = logging.getLogger(__name__)

LAST_WORDS_S = 1.0
"""Between the cancellation of a revoked key's runs and the end of its requests, for the last event of each run."""
WRITE_INTERVAL_S = 60.0
"""Between two writes of last uses, all in one transaction."""


class StoredKeys:
    """`poll_interval` and `max_unconfirmed` are in seconds.

    `cancels_runs` is for keys that were revoked without saying what becomes of their runs.
    """

    def __init__(
        self,
        store: ApiKeyStore,
        *,
        cancels_runs: bool = True,
        poll_interval: float = POLL_INTERVAL_S,
        max_unconfirmed: float = MAX_UNCONFIRMED_S,
    ) -> None:
        self.store = store
        self.cancel_runs: Callable[[Collection[str]], Awaitable[object]] | None = None
        """Called with the names of the keys that were revoked together with their runs."""
        self.names_in_file: frozenset[str] = frozenset()
        """Of the keys in the configuration file, whose last uses are stored too."""
        self._cancels_runs = cancels_runs
        self._max_unconfirmed = max_unconfirmed
        self._keys = Keys()
        self._names: frozenset[str] = frozenset()
        self._revoked: frozenset[str] = frozenset()
        self._cancelling: dict[str, float] = {}  # name of a key whose runs are cancelled → since when
        self._revision = -1
        self._uses: dict[str, float] = {}  # name → seconds since 1970, not written yet
        self._write_at = 0.0
        self._poll = StorePoll(
            self._load_changes, "API keys of the store", interval=poll_interval, max_unconfirmed=max_unconfirmed
        )

    async def __aenter__(self) -> Self:
        self._write_at = time.monotonic() + WRITE_INTERVAL_S
        await self._poll.open(self._follow_up)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._poll.close()
        await self._write_uses()

    @property
    def revision(self) -> int:
        """Another one after each change of any key."""
        return self._revision

    def find(self, credential: str) -> AccessKey | None:
        """The key, which may be revoked or expired: see `check`."""
        return self._keys.find(credential)

    def named(self, name: str) -> list[AccessKey]:
        return self._keys.named(name)

    def check(self, key: AccessKey) -> None:
        """Raises `Unauthenticated` if the key is revoked or has expired, and `KeysUnconfirmed`.

        A key of the configuration file can be revoked in the store too; it stays valid while the store is away.
        """
        if key.name in self._revoked:
            raise Unauthenticated(f"The API key {key.name!r} is revoked. Ask an operator for another one.")
        if key.name not in self._names:
            return
        if key.expires_at is not None and key.expires_at <= time.time():
            raise Unauthenticated(f"The API key {key.name!r} has expired. Ask an operator for another one.")
        if not self._poll.is_confirmed:
            raise KeysUnconfirmed(
                f"The store of API keys has not been reached for {self._max_unconfirmed:g} s, so the key {key.name!r} "
                "cannot be confirmed. Try again when the database responds."
            )

    def check_work(self, name: str) -> None:
        """Raises `Unauthenticated` if a request that began with this key has to end: it was revoked with its runs."""
        if not self._cancelling or (since := self._cancelling.get(name)) is None:
            return
        if time.monotonic() - since >= LAST_WORDS_S:
            raise Unauthenticated(f"The API key {name!r} is revoked. Ask an operator for another one.")

    def record_use(self, key: AccessKey) -> None:
        if key.name in self._names or key.name in self.names_in_file:
            self._uses[key.name] = time.time()

    async def refresh(self) -> None:
        """Load the keys if any of them has changed."""
        await self._poll.refresh()
        await self._cancel_revoked()

    async def _load_changes(self) -> None:
        if await self.store.revision() != self._revision:
            await self._load()

    async def _follow_up(self) -> None:
        await self._cancel_revoked()
        if time.monotonic() >= self._write_at:
            self._write_at = time.monotonic() + WRITE_INTERVAL_S
            await self._write_uses()

    async def _cancel_revoked(self) -> None:
        if self.cancel_runs is not None and self._cancelling:
            await self.cancel_runs(self._cancelling)  # each time: a run may have waited, or been taken over

    async def _load(self) -> None:
        found = await self.store.load()
        self._keys = Keys(secret for key in found.keys for secret in list_secrets(key))
        self._names = frozenset(key.name for key in found.keys if key.secrets)
        self._revoked = frozenset(key.name for key in found.keys if key.revoked_at is not None)
        self._revision = found.revision
        now = time.monotonic()
        self._cancelling = {key.name: self._cancelling.get(key.name, now) for key in found.keys if self._cancels(key)}

    def _cancels(self, key: StoredKey) -> bool:
        cancels_runs = self._cancels_runs if key.cancels_runs is None else key.cancels_runs
        return key.revoked_at is not None and cancels_runs

    async def _write_uses(self) -> None:
        uses, self._uses = self._uses, {}
        try:
            async with asyncio.timeout(STATEMENT_TIMEOUT_S):
                times = {name: format_time(at) for name, at in uses.items()}
                await self.store.record_use(times, self.names_in_file)
        except Exception as error:
            self._uses = uses | self._uses
            logger.warning("cannot store when API keys were last used: %s", str(error) or type(error).__name__)


def list_secrets(key: StoredKey) -> Iterable[AccessKey]:
    """Each secret of the key as a key of its own, with the earlier expiry of both."""
    for secret in key.secrets:
        ends = [to_seconds(end) for end in (key.expires_at, secret.expires_at) if end is not None]
        yield AccessKey(key.name, secret.prefix, secret.hash, key.user, key.scopes, min(ends, default=None))


def to_seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def format_time(seconds: float) -> str:
    """ISO 8601 in UTC, as in the store."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
