"""The audit log in the store: what is written, found and deleted, also if the store is away for a while."""

import logging
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rightseat.core.audit import AUDIT_LOGGER, KIND, ROUTINE, USER
from rightseat.core.errors import StoreUnreachable
from rightseat.operations import audit
from rightseat.operations.audit import AuditLine, AuditQuery, AuditTrail
from rightseat.stores.databases import connect
from rightseat.stores.rows import now
from rightseat.stores.sql import SqlThreads
from tests.conditions import settle, until
from tests.databases import migrated_database
from tests.services import proxy
from tests.stores.expiry import expire

OLD = AuditLine("2020-01-01T00:00:00.000Z", "operator: olga signed in", "", "sign_in", "olga")
NEW = AuditLine("2090-01-01T00:00:00.000Z", "operator: root revoked the key ci", "req-1", "key_change", "root")


@pytest.fixture
def trail_logger(caplog: pytest.LogCaptureFixture) -> logging.Logger:
    caplog.set_level(logging.INFO, AUDIT_LOGGER)
    return logging.getLogger(AUDIT_LOGGER)


async def test_lines_are_found_by_time_user_and_kind_the_newest_first(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        await threads.audit.append([OLD, NEW])
        await threads.audit.append([])

        async def find(query: AuditQuery) -> list[AuditLine]:
            return list(await threads.audit.list(query))

        assert await find(AuditQuery()) == [NEW, OLD]
        assert await find(AuditQuery(limit=1)) == [NEW]
        assert await find(AuditQuery(since=now())) == [NEW]
        assert await find(AuditQuery(user="olga")) == [OLD]
        assert await find(AuditQuery(kind="key_change")) == [NEW]
        assert await find(AuditQuery(kind="approval")) == []


@pytest.mark.parametrize(("days", "left"), [(400.0, [NEW]), (None, [NEW, OLD])])
async def test_lines_are_deleted_after_their_retention(
    where: Path | str, days: float | None, left: list[AuditLine]
) -> None:
    async with SqlThreads(connect(where), audit_retention_days=days) as threads:
        await threads.audit.append([OLD, NEW])
        await expire(threads)

        assert await threads.audit.list(AuditQuery()) == left


async def test_lines_with_a_kind_are_stored_and_lines_of_single_requests_are_not(
    where: Path | str, trail_logger: logging.Logger
) -> None:
    async with SqlThreads(connect(where)) as threads:
        trail = AuditTrail(store=threads.audit)
        trail.attach()
        trail_logger.info("openai was used with a\0 key", extra={ROUTINE: True, KIND: "key_use", USER: "alice"})
        trail_logger.info("openai was used with a key", extra={ROUTINE: True})
        trail_logger.info("operator: olga signed in", extra={KIND: "sign_in", USER: "olga"})
        trail.detach()
        await trail.write()
        await trail.write()
        found = await threads.audit.list(AuditQuery())

    assert [(line.text, line.kind, line.user) for line in reversed(found)] == [
        ("openai was used with a key", "key_use", "alice"),
        ("operator: olga signed in", "sign_in", "olga"),
    ]
    assert [line.text for line in trail.lines] == ["operator: olga signed in"]


async def test_an_open_trail_writes_its_lines_and_the_last_ones_when_it_is_closed(
    where: Path | str, trail_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "WRITE_INTERVAL_S", 0.01)
    async with SqlThreads(connect(where)) as threads:

        async def read_texts() -> list[str]:
            return [line.text for line in await threads.audit.list(AuditQuery())]

        async with AuditTrail(store=threads.audit):
            trail_logger.info("operator: olga signed in")
            while not await read_texts():
                await settle()
            trail_logger.info("operator: olga signed out")
        trail_logger.info("operator: olga signed in again")

        assert await read_texts() == ["operator: olga signed out", "operator: olga signed in"]


async def test_lines_wait_while_the_store_is_away_and_one_warning_says_so(
    trail_logger: logging.Logger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MAX_UNWRITTEN", 3)
    async with migrated_database() as url, proxy(urlsplit(url).port or 5432) as line:
        far = url.replace(f":{urlsplit(url).port}", f":{line.port}")
        async with SqlThreads(connect(far)) as threads:
            trail = AuditTrail(store=threads.audit)
            trail.attach()
            line.cut()
            for number in range(5):
                trail_logger.info("line %d", number)
                await trail.write()
            trail.detach()
            line.mend()
            await until(partial(is_written, threads, trail), 60)
            found = await threads.audit.list(AuditQuery())

    assert [one.text for one in reversed(found)] == ["line 2", "line 3", "line 4"]
    warnings = [
        text for text in caplog.messages if text.startswith("cannot store 1 audit lines, which are in this log")
    ]
    assert len(warnings) == 1


async def is_written(threads: SqlThreads, trail: AuditTrail) -> bool:
    await trail.write()
    try:
        return bool(await threads.audit.list(AuditQuery()))
    except StoreUnreachable:
        return False
