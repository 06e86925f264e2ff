"""Keys of the store: accepted without a statement per request, revoked on all servers while they run."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from sqlalchemy import Engine, event
from starlette.datastructures import Headers

from rightseat import app, config
from rightseat.access.authenticator import Authenticator
from rightseat.access.keys import AccessKey, Keys, digest, generate, prefix_of
from rightseat.access.sessions import Sessions
from rightseat.access.stored_keys import StoredKeys, format_time
from rightseat.core.errors import ConfigError, KeysUnconfirmed, Unauthenticated
from rightseat.core.runtime import REVOKED
from rightseat.operations.api_keys import KeySecret, StoredKey
from rightseat.stores.databases import connect
from rightseat.stores.prepared import Parameters, PreparedStatement
from rightseat.stores.sql import SqlThreads
from tests.conditions import until
from tests.conftest import Serve
from tests.databases import migrated_database
from tests.services import proxy
from tests.stores.conftest import database

NEVER = 3600.0


@pytest.fixture(params=["sqlite", "postgres"])
async def where(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Path | str]:
    async with database(request.param, tmp_path) as where:
        yield where


@pytest.fixture
async def threads(where: Path | str) -> AsyncIterator[SqlThreads]:
    async with SqlThreads(connect(where)) as threads:
        yield threads


def secret_of(key: str) -> KeySecret:
    return KeySecret(prefix_of(key), digest(key))


async def add(threads: SqlThreads, name: str = "alice", expires_at: str | None = None) -> str:
    key = generate()
    stored = StoredKey(name, name, ("openai:*",), (secret_of(key),), format_time(0), expires_at)
    await threads.api_keys.add(stored)
    return key


@asynccontextmanager
async def opened(threads: SqlThreads, *keys: AccessKey) -> AsyncIterator[tuple[Authenticator, StoredKeys]]:
    """Asks for changes only when a test calls `refresh`."""
    stored = StoredKeys(threads.api_keys, poll_interval=NEVER)
    async with Authenticator(Keys(keys), stored=stored) as authenticator:
        yield authenticator, stored


def carried(key: str) -> Headers:
    return Headers({"authorization": f"Bearer {key}"})


@contextmanager
def counted(threads: SqlThreads) -> Iterator[list[str]]:
    """The statements of all databases meanwhile, and the polls of this one."""
    statements: list[str] = []
    database: Any = threads._database
    poll = database.poll

    def record_poll(statement: PreparedStatement, parameters: Parameters) -> Any:
        statements.append(str(statement.bind_numbered(parameters)[0]))
        return poll(statement, parameters)

    def record(connection: object, cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    database.poll = record_poll
    try:
        yield statements
    finally:
        database.poll = poll
        event.remove(Engine, "before_cursor_execute", record)


async def test_a_request_with_a_key_of_the_store_needs_no_statement(threads: SqlThreads) -> None:
    key = await add(threads)
    async with opened(threads) as (authenticator, stored):
        with counted(threads) as statements:
            users = {(await authenticator.authenticate(carried(key))).id for _ in range(100)}
            with pytest.raises(Unauthenticated, match="Unknown API key"):
                await authenticator.authenticate(carried(generate()))
            of_requests = len(statements)
            await stored.refresh()

    assert users == {"alice"}
    assert of_requests == 0
    assert [statement.split()[0] for statement in statements if "api_key" in statement] == ["SELECT"]


async def test_a_key_that_is_added_revoked_and_restored_counts_from_the_next_look_on(threads: SqlThreads) -> None:
    async with opened(threads) as (authenticator, stored):
        key = await add(threads)
        with pytest.raises(Unauthenticated, match="Unknown API key"):
            await authenticator.authenticate(carried(key))
        await stored.refresh()
        found = await authenticator.authenticate(carried(key))
        await threads.api_keys.revoke("alice")
        await stored.refresh()
        with pytest.raises(Unauthenticated, match="The API key 'alice' is revoked"):
            await authenticator.authenticate(carried(key))
        await threads.api_keys.restore("alice")
        await stored.refresh()

        assert await authenticator.authenticate(carried(key)) == found
        assert (found.id, found.scopes, found.credential) == ("alice", ("openai:*",), "the key 'alice'")


async def test_a_key_of_the_file_can_be_revoked_with_its_sessions(threads: SqlThreads) -> None:
    sessions = Sessions(b"secret", 12)
    ci = AccessKey("ci", "", digest("key-ci"), "ci")
    async with opened(threads, ci) as (authenticator, stored):
        cookie = await authenticator.open_session(carried("key-ci"), sessions)
        assert authenticator.resume_session(cookie, sessions).id == "ci"
        await threads.api_keys.revoke("ci", is_in_file=True)
        await stored.refresh()

        with pytest.raises(Unauthenticated, match="'ci' is revoked"):
            await authenticator.authenticate(carried("key-ci"))
        with pytest.raises(Unauthenticated, match="'ci' is revoked"):
            authenticator.resume_session(cookie, sessions)


async def test_an_expired_key_and_its_sessions_are_refused(threads: SqlThreads) -> None:
    sessions = Sessions(b"secret", 12)
    key = await add(threads, expires_at="2090-01-01T00:00:00.000000Z")
    async with opened(threads) as (authenticator, stored):
        cookie = await authenticator.open_session(carried(key), sessions)
        new = generate()
        await threads.api_keys.rotate("alice", secret_of(new), timedelta(days=90), "2020-01-01T00:00:00.000000Z")
        await stored.refresh()

        for refused in (key, new):
            with pytest.raises(Unauthenticated, match="The API key 'alice' has expired"):
                await authenticator.authenticate(carried(refused))
        with pytest.raises(Unauthenticated, match="has expired"):
            authenticator.resume_session(cookie, sessions)


@pytest.mark.parametrize("hours", [24, 0])
async def test_the_old_secret_and_its_sessions_are_valid_during_the_overlap(threads: SqlThreads, hours: int) -> None:
    sessions = Sessions(b"secret", 12)
    old, new = await add(threads), generate()
    async with opened(threads) as (authenticator, stored):
        cookie = await authenticator.open_session(carried(old), sessions)
        await threads.api_keys.rotate("alice", secret_of(new), timedelta(hours=hours))
        await stored.refresh()

        assert (await authenticator.authenticate(carried(new))).id == "alice"
        if hours:
            assert (await authenticator.authenticate(carried(old))).id == "alice"
            assert authenticator.resume_session(cookie, sessions).id == "alice"
        else:
            with pytest.raises(Unauthenticated, match="Unknown API key"):
                await authenticator.authenticate(carried(old))
            with pytest.raises(Unauthenticated, match="session has ended"):
                authenticator.resume_session(cookie, sessions)


async def test_last_uses_are_written_together_in_the_background(threads: SqlThreads) -> None:
    names = ("alice", "bob", "unused")
    keys = [await add(threads, name) for name in names]
    async with opened(threads) as (authenticator, _):
        for key in keys[:2] * 50:
            await authenticator.authenticate(carried(key))
        before = {key.name: key.last_used_at for key in (await threads.api_keys.load()).keys}
        with counted(threads) as statements:
            await authenticator.__aexit__(None, None, None)

    after = {key.name: key.last_used_at for key in (await threads.api_keys.load()).keys}
    assert before == dict.fromkeys(names)
    assert [name for name, time in after.items() if time is not None] == ["alice", "bob"]
    assert len([one for one in statements if one.startswith("UPDATE api_keys")]) == 2


async def test_keys_of_the_store_are_refused_while_it_is_away_too_long_and_those_of_the_file_are_not() -> None:
    async with migrated_database() as url, proxy(urlsplit(url).port or 5432) as line:
        far = url.replace(f":{urlsplit(url).port}", f":{line.port}")
        async with SqlThreads(connect(url)) as near, SqlThreads(connect(far)) as threads:
            key, own = await add(near), AccessKey("ci", "", digest("key-ci"), "ci")
            stored = StoredKeys(threads.api_keys, poll_interval=0.02, max_unconfirmed=0.5)
            async with Authenticator(Keys([own]), stored=stored) as authenticator:
                assert (await authenticator.authenticate(carried(key))).id == "alice"
                line.cut()
                message = await until(lambda: refusal(authenticator, key), 60)
                assert (await authenticator.authenticate(carried("key-ci"))).id == "ci"
                line.mend()
                await until(lambda: is_accepted(authenticator, key), 60)

    assert message.startswith("503 The store of API keys has not been reached for 0.5 s, so the key 'alice' cannot be")


async def refusal(authenticator: Authenticator, key: str) -> str | None:
    try:
        await authenticator.authenticate(carried(key))
    except KeysUnconfirmed as error:
        return f"{error.status} {error.message}"
    return None


async def is_accepted(authenticator: Authenticator, key: str) -> bool:
    return await refusal(authenticator, key) is None


CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
log: {{type: memory}}
threads: {{url: "{url}"}}
access: {{required: true}}
faces: [{{type: openai, path: /v1}}, {{type: operator, path: /operator, session_key: {folder}/session.key}}]
"""


async def test_two_servers_refuse_a_revoked_key_and_its_sessions_without_a_restart(
    serve: Serve, tmp_path: Path
) -> None:
    async with migrated_database() as url, SqlThreads(connect(url)) as threads:
        key = generate()
        scopes = ("*", "operator.watch:*")
        await threads.api_keys.add(StoredKey("alice", "alice", scopes, (secret_of(key),), format_time(0)))
        found = config.parse(CONFIGURATION.format(url=url, folder=tmp_path), environ={})
        one, two = (app.build(found) for _ in range(2))
        async with serve(one) as first, serve(two) as second, httpx2.AsyncClient() as client:
            places = [f"{base}/v1/models" for base in (first, second)]
            bearer = {"authorization": f"Bearer {key}"}
            signed_in = await client.post(f"{first}/operator/session", headers=bearer | {"x-rightseat": "1"})
            cookie = {"cookie": signed_in.headers["set-cookie"].partition(";")[0]}
            before = [(await client.get(place, headers=bearer)).status_code for place in places]
            before.append((await client.get(f"{second}/operator/me", headers=cookie)).status_code)
            without = [(await client.get(place)).status_code for place in places]
            await threads.api_keys.revoke("alice")
            for place, headers in [(place, bearer) for place in places] + [(f"{second}/operator/me", cookie)]:
                request = partial(client.get, place, headers=headers)
                await until(partial(is_refused, request), 60)

    assert before == [200, 200, 200]
    assert without == [401, 401]


@pytest.mark.parametrize(
    ("configured", "revoked_with", "ends"),
    [("cancel", None, True), ("cancel", False, False), ("finish", True, True), ("finish", None, False)],
)
async def test_two_servers_cancel_the_runs_of_a_revoked_key_unless_told_otherwise(
    serve: Serve, tmp_path: Path, configured: str, revoked_with: bool | None, ends: bool
) -> None:
    async with migrated_database() as url, SqlThreads(connect(url)) as threads:
        keys = {name: generate() for name in ("alice", "bob")}
        for name, key in keys.items():
            await threads.api_keys.add(StoredKey(name, name, ("*",), (secret_of(key),), format_time(0)))
        slow = CONFIGURATION.replace("chunk_delay: 0", "chunk_delay: 0.2").format(url=url, folder=tmp_path)
        slow = slow.replace("required: true", f"required: true, revoked_runs: {configured}")
        found = config.parse(slow, environ={})
        one, two = (app.build(found) for _ in range(2))
        async with serve(one) as first, serve(two) as second, httpx2.AsyncClient(timeout=60) as client:
            pairs = [(base, key) for base in (first, second) for key in keys.values()]
            answers = [StreamedAnswer() for _ in pairs]
            asks = [
                asyncio.create_task(answer.read(client, base, key))
                for answer, (base, key) in zip(answers, pairs, strict=True)
            ]
            await until(lambda: all(answer.text for answer in answers))
            await threads.api_keys.revoke("alice", cancels_runs=revoked_with)
            await asyncio.wait_for(asyncio.gather(*asks), 60)

    revoked, whole, revoked_too, whole_too = answers
    assert whole.text == whole_too.text
    assert whole.text.endswith("or set OPENAI_API_KEY and use no file.")
    for answer in (revoked, revoked_too):
        assert whole.text.startswith(answer.text)
        assert (0 < len(answer.text) < len(whole.text)) == ends
        assert answer.error == (REVOKED if ends else "")


class StreamedAnswer:
    """The text of an answer as far as it was sent, and the message of its error."""

    text = ""
    error = ""

    async def read(self, client: httpx2.AsyncClient, base: str, key: str) -> None:
        body = {"model": "default", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
        headers = {"authorization": f"Bearer {key}"}
        async with client.stream("POST", f"{base}/v1/chat/completions", json=body, headers=headers) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                chunk = json.loads(line[6:]) if line.startswith("data: {") else {}
                if choices := chunk.get("choices"):
                    self.text += choices[0]["delta"].get("content") or ""
                self.error = chunk.get("error", {}).get("message", self.error)


async def is_refused(request: Callable[[], Awaitable[httpx2.Response]]) -> bool:
    return (await request()).status_code == 401


def test_a_server_that_requires_keys_and_has_no_place_for_them_is_a_configuration_error() -> None:
    text = "threads: {type: memory}\naccess: {required: true}\n"

    with pytest.raises(ConfigError, match=r"`access\.required` needs keys, but `threads` stores none"):
        app.build(config.parse(text, environ={}))
