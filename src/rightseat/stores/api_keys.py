"""Stores API keys in the SQL database of the threads."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

import msgspec
from sqlalchemy import Boolean, Connection, Text, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from rightseat.operations.api_keys import (
    ApiKeyExists,
    ApiKeyNotChangeable,
    ApiKeyNotFound,
    KeySecret,
    StoredKey,
    StoredKeySet,
)
from rightseat.stores import rows
from rightseat.stores.databases import StoreDatabase
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.tables import api_key_secrets, api_keys

NAME = bindparam("of_name", type_=Text)
NOW = bindparam("now", type_=Text)
REVISION = PreparedStatement(select(func.coalesce(func.sum(api_keys.c.revision), 0)))
KEYS = select(api_keys).order_by(api_keys.c.name)
SECRETS = select(api_key_secrets).order_by(api_key_secrets.c.created_at.desc())
NEXT_REVISION = api_keys.c.revision + 1
REVOKE = (
    update(api_keys)
    .where(api_keys.c.name == NAME)
    .values(
        revoked_at=func.coalesce(api_keys.c.revoked_at, NOW),
        cancels_runs=bindparam("to_cancels_runs", type_=Boolean),
        revision=NEXT_REVISION,
    )
)
RESTORE = (
    update(api_keys).where(api_keys.c.name == NAME).values(revoked_at=None, cancels_runs=None, revision=NEXT_REVISION)
)
TOUCH = update(api_keys).where(api_keys.c.name == NAME).values(revision=NEXT_REVISION)
SET_EXPIRY = update(api_keys).where(api_keys.c.name == NAME).values(expires_at=bindparam("of_expiry"))
END_SECRETS = (
    update(api_key_secrets)
    .where(
        api_key_secrets.c.key_name == NAME,
        or_(api_key_secrets.c.expires_at.is_(None), api_key_secrets.c.expires_at > bindparam("of_expiry")),
    )
    .values(expires_at=bindparam("of_expiry"))
)
DELETE_EXPIRED = delete(api_key_secrets).where(api_key_secrets.c.key_name == NAME, api_key_secrets.c.expires_at <= NOW)
RECORD_USE = (
    update(api_keys)
    .where(api_keys.c.name == NAME, or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < NOW))
    .values(last_used_at=NOW)
)


HAS_ROW = select(func.count()).select_from(api_keys).where(api_keys.c.name == NAME)
DELETE_USE = delete(api_keys).where(api_keys.c.name == NAME, api_keys.c.revision == 0)
"""Of a key that was in the file before: its name may be given to a key of the store."""


class SqlApiKeys:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def revision(self) -> int:
        ((revision,),) = await self._database.poll(REVISION, {})
        return int(revision)

    async def load(self) -> StoredKeySet:
        return await self._database.read(load)

    async def add(self, key: StoredKey) -> None:
        try:
            await self._database.write(add, key)
        except IntegrityError:
            raise ApiKeyExists(key.name) from None

    async def revoke(self, name: str, *, is_in_file: bool = False, cancels_runs: bool | None = None) -> None:
        try:
            await self._database.write(revoke, name, is_in_file, cancels_runs)
        except IntegrityError:  # another process revokes it at the same moment
            await self._database.write(revoke, name, is_in_file, cancels_runs)

    async def restore(self, name: str) -> None:
        await self._database.write(restore, name)

    async def rotate(
        self, name: str, secret: KeySecret, overlap: timedelta, expires_at: str | None = None
    ) -> StoredKey:
        return await self._database.write(rotate, name, secret, overlap, expires_at)

    async def record_use(self, uses: Mapping[str, str], in_file: Collection[str] = ()) -> None:
        if not uses:
            return
        try:
            await self._database.write(record_use, uses, in_file)
        except IntegrityError:  # another process stores the first use of a key at the same moment
            await self._database.write(record_use, uses, in_file)


def read_revision(connection: Connection) -> int:
    ((revision,),) = REVISION.fetch(connection, {})
    return int(revision)


def load(connection: Connection) -> StoredKeySet:
    """In one snapshot, so that the revision is that of the keys."""
    revision, secrets = read_revision(connection), dict[str, list[KeySecret]]()
    for row in connection.execute(SECRETS):
        secrets.setdefault(row.key_name, []).append(KeySecret(row.prefix, row.hash, row.expires_at))
    keys = [
        StoredKey(
            row.name,
            row.owner,
            tuple(msgspec.json.decode(row.scopes, type=list[str])),
            tuple(secrets.get(row.name, ())),
            row.created_at,
            row.expires_at,
            row.revoked_at,
            row.last_used_at,
            row.cancels_runs,
        )
        for row in connection.execute(KEYS)
    ]
    return StoredKeySet(revision, keys)


def find(connection: Connection, name: str) -> StoredKey:
    """Raises `ApiKeyNotFound`."""
    for key in load(connection).keys:
        if key.name == name:
            return key
    raise ApiKeyNotFound(name)


def add(connection: Connection, key: StoredKey, revision: int = 1) -> None:
    connection.execute(DELETE_USE, {"of_name": key.name})
    row = {
        "name": key.name,
        "owner": key.user,
        "scopes": msgspec.json.encode(key.scopes).decode(),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "cancels_runs": key.cancels_runs,
        "last_used_at": key.last_used_at,
        "revision": revision,
    }
    connection.execute(insert(api_keys), row)
    for secret in key.secrets:
        add_secret(connection, key.name, secret)


def add_secret(connection: Connection, name: str, secret: KeySecret) -> None:
    row = {"key_name": name, "created_at": rows.now(), **msgspec.structs.asdict(secret)}
    connection.execute(insert(api_key_secrets), row)


def revoke(connection: Connection, name: str, is_in_file: bool, cancels_runs: bool | None) -> None:
    if connection.execute(REVOKE, {"of_name": name, "now": rows.now(), "to_cancels_runs": cancels_runs}).rowcount:
        return
    if not is_in_file:
        raise ApiKeyNotFound(name)
    add(connection, StoredKey(name, "", (), (), rows.now(), revoked_at=rows.now(), cancels_runs=cancels_runs))


def restore(connection: Connection, name: str) -> None:
    if not connection.execute(RESTORE, {"of_name": name}).rowcount:
        raise ApiKeyNotFound(name)


def rotate(
    connection: Connection, name: str, secret: KeySecret, overlap: timedelta, expires_at: str | None
) -> StoredKey:
    connection.execute(TOUCH, {"of_name": name})  # locks the row first, so that two rotations do not mix
    key = find(connection, name)
    if not key.secrets:
        raise ApiKeyNotChangeable(f"The key {name!r} is in the configuration file. Create another one to replace it.")
    if key.state == "revoked":
        raise ApiKeyNotChangeable(f"The key {name!r} is revoked. Restore it before you rotate it.")
    if key.state == "expired" and expires_at is None:
        raise ApiKeyNotChangeable(f"The key {name!r} has expired. Rotate it with a new expiry.")
    end = rows.format_time(datetime.now(UTC) + overlap)
    connection.execute(END_SECRETS, {"of_name": name, "of_expiry": end})
    connection.execute(DELETE_EXPIRED, {"of_name": name, "now": rows.now()})
    add_secret(connection, name, secret)
    if expires_at is not None:
        connection.execute(SET_EXPIRY, {"of_name": name, "of_expiry": expires_at})
    return find(connection, name)


def record_use(connection: Connection, uses: Mapping[str, str], in_file: Collection[str]) -> None:
    """A key of the file gets a row without secrets. Its revision is 0: nothing has changed for who is let in."""
    for name, time in sorted(uses.items()):  # sorted, so that two servers never deadlock
        connection.execute(RECORD_USE, {"of_name": name, "now": time})
        if name in in_file and not connection.scalar(HAS_ROW, {"of_name": name}):
            add(connection, StoredKey(name, "", (), (), rows.now(), last_used_at=time), revision=0)
