"""An issuer's keys: fetched, kept, fetched again."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from joserfc.jwk import Key
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rightseat.access.jwks import FRESH_S, RETRY_INTERVAL_S, STALE_S, UNKNOWN_KEY_INTERVAL_S, Jwks, read_keys
from rightseat.core.errors import IssuerUnavailable
from tests.access.credentials import EC, OTHER, RSA, jwks
from tests.conditions import until
from tests.conftest import Serve


class Issuer:
    """A server with keys, and a clock that a test can turn."""

    def __init__(self, *keys: Key) -> None:
        self.now = 1000.0
        self.keys = keys
        self.asked = 0
        self.status = 200
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def answer(self, request: Request) -> Response:
        self.asked += 1
        await self.may_answer.wait()
        return Response(jwks(*self.keys), self.status, media_type="application/json")

    @asynccontextmanager
    async def serving(self, serve: Serve) -> AsyncIterator[Jwks]:
        app = Starlette(routes=[Route("/jwks.json", self.answer)])
        async with serve(app) as url, Jwks(f"{url}/jwks.json", clock=lambda: self.now) as keys:
            yield keys


async def test_keys_are_fetched_once_and_cached(serve: Serve) -> None:
    issuer = Issuer(RSA, EC)
    async with issuer.serving(serve) as keys:
        found = [await keys.find(kid) for kid in ("rsa", "ec", "rsa")]

    assert [key and key.kid for key in found] == ["rsa", "ec", "rsa"]
    assert issuer.asked == 1


async def test_concurrent_lookups_share_one_fetch(serve: Serve) -> None:
    issuer = Issuer(RSA)
    issuer.may_answer.clear()
    async with asyncio.timeout(30), issuer.serving(serve) as keys, asyncio.TaskGroup() as group:
        found = [group.create_task(keys.find("rsa")) for _ in range(20)]
        await until(lambda: issuer.asked)
        issuer.may_answer.set()

    assert all(task.result() is not None for task in found)
    assert issuer.asked == 1


async def test_a_new_key_id_causes_a_fetch(serve: Serve) -> None:
    issuer = Issuer(RSA)
    async with issuer.serving(serve) as keys:
        assert await keys.find("rsa")
        issuer.keys = (RSA, OTHER)
        issuer.now += UNKNOWN_KEY_INTERVAL_S + 1

        assert await keys.find("other")


async def test_invented_key_ids_cause_no_traffic(serve: Serve) -> None:
    issuer = Issuer(RSA)
    async with issuer.serving(serve) as keys:
        assert [await keys.find(f"invented-{number}") for number in range(50)] == [None] * 50
        assert issuer.asked == 1
        issuer.now += UNKNOWN_KEY_INTERVAL_S + 1
        assert [await keys.find(f"invented-{number}") for number in range(50)] == [None] * 50
        assert issuer.asked == 2


async def test_a_withdrawn_key_is_gone_when_the_cache_expires(serve: Serve) -> None:
    issuer = Issuer(RSA, OTHER)
    async with issuer.serving(serve) as keys:
        assert await keys.find("other")
        issuer.keys = (RSA,)
        issuer.now += FRESH_S + 1

        assert await keys.find("other") is None


async def test_cached_keys_stay_valid_for_a_while_if_the_issuer_is_unreachable(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    issuer = Issuer(RSA)
    async with issuer.serving(serve) as keys:
        assert await keys.find("rsa")
        issuer.status = 500
        issuer.now += FRESH_S + 1
        with caplog.at_level(logging.WARNING):
            assert await keys.find("rsa")
        assert "HTTP status 500" in caplog.text
        asked = issuer.asked
        assert await keys.find("rsa")
        assert issuer.asked == asked  # it failed a moment ago
        with pytest.raises(IssuerUnavailable):
            await keys.find("other")  # it may have come since
        issuer.now += STALE_S
        with pytest.raises(IssuerUnavailable):
            await keys.find("rsa")
        issuer.status = 200
        issuer.now += UNKNOWN_KEY_INTERVAL_S + 1
        assert await keys.find("rsa")


async def test_an_issuer_that_never_responded_is_retried_soon(serve: Serve) -> None:
    issuer = Issuer(RSA)
    issuer.status = 503
    async with issuer.serving(serve) as keys:
        for _ in range(3):
            with pytest.raises(IssuerUnavailable, match="Cannot check the token"):
                await keys.find("rsa")
        assert issuer.asked == 1
        issuer.status = 200
        issuer.now += RETRY_INTERVAL_S + 0.1

        assert await keys.find("rsa")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"keys": 7}', b"<html>", b'{"keys": [7]}', b" " * (2**20 + 1)])
async def test_a_response_that_is_no_key_set_authenticates_no_token(serve: Serve, body: bytes) -> None:
    async def answer(request: Request) -> Response:
        return Response(body)

    async with serve(Starlette(routes=[Route("/", answer)])) as url, Jwks(url) as keys:
        with pytest.raises(IssuerUnavailable):
            await keys.find("rsa")


async def test_a_redirect_is_not_followed(serve: Serve) -> None:
    async def answer(request: Request) -> Response:
        return RedirectResponse("/keys") if request.url.path == "/" else Response(jwks(RSA))

    app = Starlette(routes=[Route("/", answer), Route("/keys", answer)])
    async with serve(app) as url, Jwks(url) as keys:
        with pytest.raises(IssuerUnavailable):
            await keys.find("rsa")


async def test_an_unreachable_issuer_authenticates_no_token() -> None:
    async with Jwks("http://127.0.0.1:1/jwks.json") as keys:
        with pytest.raises(IssuerUnavailable):
            await keys.find("rsa")


async def test_keys_can_be_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(jwks(RSA))
    async with Jwks(str(file)) as keys:
        assert await keys.find("rsa")


async def test_before_startup_no_token_is_authenticated() -> None:
    with pytest.raises(IssuerUnavailable):
        await Jwks("https://login.example.com/jwks.json").find("rsa")


def test_keys_that_cannot_verify_signatures_are_skipped() -> None:
    public = dict(RSA.as_dict(private=False))
    given = [
        {"kty": "new"},
        {"kty": "RSA", "kid": "broken", "n": "?", "e": 7},
        {"kid": "none"},
        {"kty": "oct", "kid": "shared", "k": "c2VjcmV0"},
        public | {"kid": "for encryption", "use": "enc"},
        public | {"kid": "good", "use": "sig"},
    ]

    assert [kid for kid in read_keys(json.dumps({"keys": given}).encode()) if kid] == ["good"]


def test_a_key_without_an_id_is_used_only_if_it_is_the_only_one() -> None:
    one, two = ({**key.as_dict(private=False)} for key in (RSA, OTHER))
    one.pop("kid"), two.pop("kid")

    assert None in read_keys(json.dumps({"keys": [one]}).encode())
    assert None not in read_keys(json.dumps({"keys": [one, two]}).encode())
