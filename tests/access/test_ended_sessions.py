"""Signing out ends a session on every server; a copy of its cookie opens nothing."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx2
import pytest
from starlette.datastructures import Headers

from rightseat import app, config
from rightseat.access.authenticator import Authenticator
from rightseat.access.ended_sessions import EndedSessions, SessionEnded
from rightseat.access.keys import AccessKey, Keys, digest
from rightseat.access.sessions import Sessions
from rightseat.core.errors import SessionsUnconfirmed
from rightseat.operations.ended_sessions import EndedSession
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.conditions import until
from tests.conftest import Serve
from tests.databases import migrated_database
from tests.stores.conftest import database

NEVER = 3600.0
FAR = 4_000_000_000.0  # in seconds since 1970
ALICE = AccessKey("alice", "", digest("key-alice"), "alice", ("*", "operator.*:*"))


@pytest.fixture(params=["sqlite", "postgres"])
async def threads(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlThreads]:
    async with database(request.param, tmp_path) as where, SqlThreads(connect(where)) as threads:
        yield threads


def ended(threads: SqlThreads) -> EndedSessions:
    """Asks the store only when a test calls `refresh`."""
    return EndedSessions(threads.ended_sessions, poll_interval=NEVER)


async def test_a_session_ends_here_at_once_and_elsewhere_at_the_next_look(threads: SqlThreads) -> None:
    sessions = Sessions(b"secret", 12)
    here, elsewhere = ended(threads), ended(threads)
    first, second = (Authenticator(Keys([ALICE]), ended_sessions=known) for known in (here, elsewhere))
    async with first, second:
        cookies = [await first.open_session(Headers({"x-api-key": "key-alice"}), sessions) for _ in range(2)]
        claims = sessions.read(cookies[0])
        await here.end(claims.id, claims.expires_at)
        await here.end(claims.id, claims.expires_at)

        with pytest.raises(SessionEnded):
            first.resume_session(cookies[0], sessions)
        assert second.resume_session(cookies[0], sessions).id == "alice"
        await elsewhere.refresh()
        with pytest.raises(SessionEnded, match="This session was signed out"):
            second.resume_session(cookies[0], sessions)
        assert second.resume_session(cookies[1], sessions).id == "alice"


async def test_a_server_that_starts_later_knows_the_ended_sessions(threads: SqlThreads) -> None:
    async with ended(threads) as first:
        for number in range(300):
            await first.end(f"session-{number}", FAR)
    async with ended(threads) as later:
        for number in range(300):
            with pytest.raises(SessionEnded):
                later.check(f"session-{number}")
        later.check("another")


async def test_the_store_has_no_ids_and_deletes_expired_rows(threads: SqlThreads) -> None:
    async with ended(threads) as known:
        await known.end("old", 1.0)
        await known.end("new", FAR)
        stored = await threads.ended_sessions.find(0)
        async for _ in threads.expire():
            pass
        await known.refresh()

        with pytest.raises(SessionEnded):
            known.check("new")
        known.check("old")
    left = await threads.ended_sessions.find(0)
    assert {len(session.id) for session in stored} == {64}
    assert [session.expires_at for session in left] == [FAR]


class AwayStore:
    async def end(self, id: str, expires_at: float) -> None:
        raise ConnectionError("the database is away")

    async def find(self, after: int) -> list[EndedSession]:
        return []


async def test_sessions_are_refused_while_the_store_cannot_be_reached() -> None:
    async with EndedSessions(AwayStore(), poll_interval=NEVER, max_unconfirmed=0) as known:
        with pytest.raises(SessionsUnconfirmed, match="cannot be confirmed"):
            known.check("session")


async def test_a_sign_out_that_the_store_does_not_have_fails_and_counts_here() -> None:
    async with EndedSessions(AwayStore(), poll_interval=NEVER) as known:
        with pytest.raises(ConnectionError):
            await known.end("session", FAR)
        with pytest.raises(SessionEnded):
            known.check("session")


async def test_a_session_of_the_version_before_can_be_ended() -> None:
    sessions = Sessions(b"secret", 12)
    claims = sessions.read(sessions.open_for_key(ALICE))
    old = sessions._sign(type(claims)(claims.expires_at, key=claims.key, proof=claims.proof))

    assert sessions.read(old).id == old.partition(".")[2]


CONFIGURATION = """
log: {{type: memory}}
threads: {{url: "{url}"}}
access: {{keys: [{{name: alice, key: key-alice}}]}}
faces: [{{type: operator, path: /operator, session_key: {folder}/session.key}}]
"""


async def test_signing_out_ends_a_session_on_two_servers_of_a_database(serve: Serve, tmp_path: Path) -> None:
    async with migrated_database() as url:
        found = config.parse(CONFIGURATION.format(url=url, folder=tmp_path), environ={})
        one, two = (app.build(found) for _ in range(2))
        async with serve(one) as first, serve(two) as second, httpx2.AsyncClient() as client:
            headers = {"x-rightseat": "1"}
            signed_in = await client.post(
                f"{first}/operator/session", headers=headers | {"authorization": "Bearer key-alice"}
            )
            cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
            client.cookies.clear()

            async def ask(base: str) -> int:
                return (await client.get(f"{base}/operator/me", headers=cookie)).status_code

            async def is_refused(base: str) -> bool:
                return await ask(base) == 401

            before = [await ask(first), await ask(second)]
            left = await client.delete(f"{first}/operator/session", headers=headers | cookie)
            at_once = await ask(first)
            await until(partial(is_refused, second), 30)

    assert before == [200, 200]
    assert (left.status_code, at_once) == (204, 401)
