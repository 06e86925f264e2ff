"""Lists the keys of a server, those of its store and those of its configuration file, without any secret."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from rightseat.access.keys import prefix_of
from rightseat.access.stored_keys import format_time
from rightseat.config import ApiKey
from rightseat.operations.api_keys import KeyState, StoredKey


class KeyLine(msgspec.Struct, frozen=True):
    """`prefix` is None for a secret that `rightseat keys new` did not create. Times are ISO 8601, in UTC."""

    name: str
    prefix: str | None
    user: str
    scopes: Sequence[str]
    state: KeyState = "active"
    expires_at: str | None = None
    last_used_at: str | None = None
    place: Literal["file", "store"] = msgspec.field(default="file", name="in")


def list_keys(
    in_file: Sequence[ApiKey], stored: Sequence[StoredKey], uses: Mapping[str, float] = MappingProxyType({})
) -> list[KeyLine]:
    """`uses` are those that this process has seen, by name, in seconds since 1970: the store gets them each minute."""
    revoked = {key.name for key in stored if key.revoked_at is not None}
    known = {key.name: key.last_used_at for key in stored}
    lines = [describe_stored(key) for key in stored if key.secrets]
    lines += [describe_key(key, "revoked" if key.name in revoked else "active") for key in in_file]
    return [
        msgspec.structs.replace(line, last_used_at=latest(known.get(line.name), uses.get(line.name))) for line in lines
    ]


def latest(stored: str | None, seen: float | None) -> str | None:
    times = [time for time in (stored, None if seen is None else format_time(seen)) if time is not None]
    return max(times, default=None)


def describe_stored(key: StoredKey) -> KeyLine:
    prefix = key.secrets[0].prefix
    return KeyLine(key.name, prefix, key.user, key.scopes, key.state, key.expires_at, key.last_used_at, "store")


def describe_key(key: ApiKey, state: KeyState) -> KeyLine:
    prefix = key.prefix or (prefix_of(key.key.get_secret_value()) if key.key else "")
    return KeyLine(key.name, prefix or None, key.user or f"key:{key.name}", key.scopes, state)
