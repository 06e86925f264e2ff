"""Requests end when their authorization does, in routes that know nothing of it."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import repeat
from pathlib import Path

import httpx2
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from rightseat.access.authenticator import Authenticator
from rightseat.access.authorization import AuthorizationEnded, OpenRequests, Watch
from rightseat.access.ended_sessions import EndedSessions
from rightseat.access.keys import AccessKey, Keys, digest
from rightseat.access.route_auth import RouteAuth
from rightseat.access.sessions import SECURE_COOKIE, Sessions
from rightseat.access.stored_keys import StoredKeys, format_time
from rightseat.core.ask import Principal
from rightseat.core.errors import RightseatError
from rightseat.operations.api_keys import KeySecret, StoredKey
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.conditions import Paced, until
from tests.conftest import Serve

NEVER = 3600.0
KEY = {"x-api-key": "key-olga"}
SCOPES = ("*", "operator.*:*")


async def stream_forever(request: Request, principal: Principal) -> Response:
    """A route of a stranger: it streams, and knows nothing of keys."""

    async def tick() -> AsyncIterator[bytes]:
        async for _ in Paced(repeat(None), 0.01):
            yield b"data: tick\n\n"
            if "is_silent" in request.query_params:
                await asyncio.Event().wait()

    return StreamingResponse(tick(), media_type="text/event-stream")


async def work_forever(request: Request, principal: Principal) -> Response:
    await asyncio.Event().wait()
    return Response()


def refuse(error: RightseatError) -> Response:
    return Response(error.message, error.status)


class Place:
    """A server with one key, whose face takes sessions if it is one of operators."""

    def __init__(self, threads: SqlThreads, base: str, sessions: Sessions, authenticator: Authenticator) -> None:
        self.threads = threads
        self.base = base
        self.sessions = sessions
        self.authenticator = authenticator

    async def refresh(self) -> None:
        if self.authenticator.stored is not None:
            await self.authenticator.stored.refresh()


@asynccontextmanager
async def serving(serve: Serve, folder: Path, *, is_operators: bool) -> AsyncIterator[Place]:
    async with SqlThreads(connect(folder / "store.db")) as threads:
        secret = KeySecret("", digest("key-olga"))
        await threads.api_keys.add(StoredKey("olga", "olga", SCOPES, (secret,), format_time(0)))
        stored = StoredKeys(threads.api_keys, poll_interval=NEVER)
        file_key = AccessKey("fred", "", digest("key-fred"), "fred", SCOPES)
        ended = EndedSessions(threads.ended_sessions, poll_interval=NEVER)
        async with Authenticator(Keys([file_key]), stored=stored, ended_sessions=ended) as authenticator:
            sessions = Sessions(b"secret", 12)
            auth = RouteAuth("operator", authenticator)
            auth = auth.accept_sessions(sessions) if is_operators else auth
            routes = [
                Route("/stream", auth.protect(stream_forever, refuse)),
                Route("/work", auth.protect(work_forever, refuse)),
            ]
            async with serve(Starlette(routes=routes)) as base:
                yield Place(threads, base, sessions, authenticator)


class Followed:
    """A stream that is read in the background until it ends."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.text = ""
        self._task = asyncio.create_task(self._read(url, headers))

    async def _read(self, url: str, headers: dict[str, str]) -> None:
        async with httpx2.AsyncClient() as client, client.stream("GET", url, headers=headers) as response:
            async for piece in response.aiter_text():
                self.text += piece

    async def begin(self) -> None:
        await until(lambda: "tick" in self.text)

    async def end(self) -> None:
        """The response ends properly, within five seconds."""
        await asyncio.wait_for(self._task, 5)

    @property
    def is_open(self) -> bool:
        return not self._task.done()


async def revoke(place: Place, cookie: str) -> None:
    await place.threads.api_keys.revoke("olga")
    await place.refresh()


async def sign_out(place: Place, cookie: str) -> None:
    claims = place.sessions.read(cookie)
    await place.authenticator.ended_sessions.end(claims.id, claims.expires_at)


@pytest.mark.parametrize("query", ["", "?is_silent=1"])
@pytest.mark.parametrize("end", [revoke, sign_out])
async def test_a_stream_of_operators_ends_with_its_session(
    serve: Serve, tmp_path: Path, end: Callable[[Place, str], Awaitable[None]], query: str
) -> None:
    async with serving(serve, tmp_path, is_operators=True) as place:
        key = next(key for key in place.authenticator.stored.named("olga"))  # type: ignore[union-attr]  # it has keys
        cookie = place.sessions.open_for_key(key)
        followed = Followed(f"{place.base}/stream{query}", {"cookie": f"rightseat={cookie}"})
        other = Followed(f"{place.base}/stream", {"x-api-key": "key-fred"})
        await followed.begin()
        await other.begin()
        await end(place, cookie)
        await followed.end()

        assert other.is_open


async def test_a_stream_of_operators_ends_when_its_session_expires(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path, is_operators=True) as place:
        key = AccessKey("fred", "", digest("key-fred"), "fred", SCOPES)
        cookie = Sessions(b"secret", 1 / 3600).open_for_key(key)
        followed = Followed(f"{place.base}/stream", {"cookie": f"rightseat={cookie}"})
        await followed.begin()

        await followed.end()


async def test_a_stream_of_operators_ends_when_the_rights_of_its_key_change(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path, is_operators=True) as place:
        followed = Followed(f"{place.base}/stream", {"x-api-key": "key-fred"})
        await followed.begin()
        (key,) = place.authenticator._keys.named("fred")
        place.authenticator._keys.remove(key)
        place.authenticator._keys.add(AccessKey("fred", "", key.hash, "fred", ("operator.watch:*",)))

        await followed.end()


@pytest.mark.parametrize("is_operators", [True, False])
async def test_a_handler_that_works_ends_with_its_key(serve: Serve, tmp_path: Path, is_operators: bool) -> None:
    async with serving(serve, tmp_path, is_operators=is_operators) as place, httpx2.AsyncClient() as client:
        asking = asyncio.create_task(client.get(f"{place.base}/work", headers=KEY))
        await until(lambda: place.authenticator.open_requests._open)
        await revoke(place, "")
        refused = await asyncio.wait_for(asking, 5)

    assert (refused.status_code, "is revoked" in refused.text) == (401, True)


async def test_a_stream_of_users_ends_with_a_revoked_key_and_not_with_its_expiry(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path, is_operators=False) as place:
        followed = Followed(f"{place.base}/stream", KEY)
        await followed.begin()
        await place.threads.api_keys.rotate("olga", KeySecret("", "0" * 64), timedelta(), "2020-01-01T00:00:00Z")
        await place.refresh()
        await until(lambda: followed.text.count("tick") > 100)
        is_open = followed.is_open
        await revoke(place, "")
        await followed.end()

    assert is_open


async def test_a_check_that_fails_ends_the_request(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("a defect")

    async with OpenRequests(check_interval=0.01) as open_requests:
        with pytest.raises(AuthorizationEnded, match="cannot be checked"):
            await Watch(fail, open_requests).do(asyncio.Event().wait())

    assert "cannot be checked" in caplog.text


@pytest.mark.parametrize(
    ("scheme", "public_url", "names"),
    [
        ("http", None, ["rightseat"]),
        ("https", None, [SECURE_COOKIE]),
        ("http", "https://chat.example", [SECURE_COOKIE]),
        ("https", "http://chat.example", [SECURE_COOKIE]),
    ],
)
def test_a_session_is_found_under_one_name(scheme: str, public_url: str | None, names: list[str]) -> None:
    sessions = Sessions(b"secret", 12, public_url)
    found = []
    for name in ("rightseat", SECURE_COOKIE):
        headers = [(b"cookie", f"{name}=value".encode())]
        if sessions.find_cookie(Request({"type": "http", "scheme": scheme, "headers": headers})):
            found.append(name)

    assert found == names


def test_a_cookie_says_neither_key_nor_hash() -> None:
    cookie = Sessions(b"secret", 12).open_for_key(AccessKey("fred", "", digest("key-fred"), "fred", SCOPES))
    text = base64.urlsafe_b64decode(cookie.partition(".")[0]).decode()

    assert digest("key-fred") not in text
    assert set(msgspec.json.decode(text)) == {"expires_at", "opened_at", "key", "proof", "id"}
