"""API keys in the store: what servers load, and what changes them."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rightseat.operations.api_keys import (
    ApiKeyExists,
    ApiKeyNotChangeable,
    ApiKeyNotFound,
    ApiKeyStore,
    KeySecret,
    StoredKey,
)
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads

DAY = timedelta(days=1)
NOW = "2026-11-16T12:00:00.000000Z"
FIRST, SECOND, THIRD = (KeySecret(letter * 8, letter * 64) for letter in "abc")


def key(name: str = "alice", secret: KeySecret = FIRST, expires_at: str | None = None) -> StoredKey:
    return StoredKey(name, f"key:{name}", ("copilotkit:*", "openai:support"), (secret,), NOW, expires_at)


async def only(store: ApiKeyStore) -> StoredKey:
    (found,) = (await store.load()).keys
    return found


async def test_a_key_is_loaded_as_it_was_added(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        await threads.api_keys.add(key(expires_at="2030-01-01T00:00:00.000000Z"))

        assert await only(threads.api_keys) == key(expires_at="2030-01-01T00:00:00.000000Z")


async def test_the_revision_grows_with_every_change_and_with_nothing_else(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store, seen = threads.api_keys, list[int]()
        for change in (
            store.add(key()),
            store.revoke("alice"),
            store.revoke("ci", is_in_file=True),
            store.restore("alice"),
            store.rotate("alice", SECOND, DAY),
            store.restore("ci"),
        ):
            await change
            seen.append(await store.revision())
        await store.record_use({"alice": NOW})

        assert seen == [1, 2, 3, 4, 5, 6]
        assert await store.revision() == (await store.load()).revision == 6


async def test_a_name_in_use_is_refused_also_if_two_processes_take_it_at_once(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        both = [threads.api_keys.add(key(secret=secret)) for secret in (FIRST, SECOND)]
        results = await asyncio.gather(*both, return_exceptions=True)

        assert [type(result) for result in results if result is not None] == [ApiKeyExists]
        assert len((await only(threads.api_keys)).secrets) == 1


async def test_a_revoked_key_keeps_the_time_of_its_first_revocation_until_it_is_restored(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = threads.api_keys
        await store.add(key())
        await store.revoke("alice")
        first = await only(store)
        await store.revoke("alice")
        second = await only(store)
        await store.restore("alice")

        assert first.state == "revoked"
        assert second.revoked_at == first.revoked_at
        assert (await only(store)).state == "active"


async def test_a_key_of_the_file_is_revoked_by_a_row_without_a_secret(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = threads.api_keys
        with pytest.raises(ApiKeyNotFound, match="no key called 'ci'"):
            await store.revoke("ci")
        await store.revoke("ci", is_in_file=True)
        found = await only(store)

        assert (found.name, found.secrets, found.state) == ("ci", (), "revoked")
        with pytest.raises(ApiKeyNotChangeable, match="in the configuration file"):
            await store.rotate("ci", SECOND, DAY)


async def test_a_rotation_ends_the_other_secrets_after_the_overlap_and_never_later_than_before(
    where: Path | str,
) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = threads.api_keys
        await store.add(key())
        await store.rotate("alice", SECOND, DAY)
        once = await only(store)
        await store.rotate("alice", THIRD, 7 * DAY)
        third, second, first = (await only(store)).secrets

        assert [secret.prefix for secret in once.secrets] == ["bbbbbbbb", "aaaaaaaa"]
        assert timedelta(hours=23) < datetime.fromisoformat(str(first.expires_at)) - datetime.now(UTC) <= DAY
        assert first.expires_at == once.secrets[1].expires_at
        assert datetime.fromisoformat(str(second.expires_at)) - datetime.now(UTC) > 6 * DAY
        assert third.expires_at is None


async def test_a_rotation_without_overlap_deletes_the_old_secrets(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        await threads.api_keys.add(key())
        found = await threads.api_keys.rotate("alice", SECOND, timedelta())

        assert found.secrets == (SECOND,)


async def test_a_key_that_is_revoked_or_expired_is_not_rotated(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = threads.api_keys
        await store.add(key(expires_at="2020-01-01T00:00:00.000000Z"))
        with pytest.raises(ApiKeyNotChangeable, match="has expired"):
            await store.rotate("alice", SECOND, DAY)
        renewed = await store.rotate("alice", SECOND, DAY, "2090-01-01T00:00:00.000000Z")
        await store.revoke("alice")
        with pytest.raises(ApiKeyNotChangeable, match="is revoked"):
            await store.rotate("alice", THIRD, DAY)

        assert renewed.state == "active"
        assert (await only(store)).secrets == renewed.secrets


async def test_the_last_use_never_goes_back(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = threads.api_keys
        await store.add(key())
        await store.record_use({"alice": NOW, "nobody": NOW})
        await store.record_use({"alice": "2026-11-16T11:00:00.000000Z"})

        assert (await only(store)).last_used_at == NOW


async def test_the_last_use_of_a_key_of_the_file_is_stored_and_leaves_its_name_free(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = threads.api_keys
        await store.record_use({"alice": NOW}, ["alice"])
        revision, used = await store.revision(), await only(store)
        await store.revoke("alice", is_in_file=True)
        revoked = await only(store)
        await store.record_use({"bob": NOW}, ["bob"])
        await store.add(key("bob"))

    assert (used.secrets, used.last_used_at, used.state) == ((), NOW, "active")
    assert (revoked.state, revoked.last_used_at) == ("revoked", NOW)
    assert revision == 0  # nothing has changed for who is let in, so servers do not load their keys again


async def test_a_change_of_another_process_is_seen(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as server, SqlThreads(connect(where, is_owner=False)) as command:
        before = await server.api_keys.revision()
        await command.api_keys.add(key())

        assert await server.api_keys.revision() == before + 1
