"""The life of a token, by a clock that only the test moves."""

import asyncio

import pytest

from rightseat.core.errors import ModelRefusedKey
from rightseat.egress.credentials.cache import EXPIRY_MARGIN_S, RENEW_BEFORE_S, RETRY_INTERVAL_S, Token, TokenCache
from tests.conditions import settle


class Source:
    """Gives `t1`, `t2`, …, each good for an hour; fails while `failing`, and waits while `held`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.fetched = 0
        self.failing = False
        self.held = asyncio.Event()
        self.held.set()

    async def fetch(self) -> Token[str]:
        self.fetched += 1
        number = self.fetched
        await self.held.wait()
        if self.failing:
            raise ModelRefusedKey("No token.")
        return Token(f"t{number}", 3600)

    def token(self) -> TokenCache[str]:
        return TokenCache(lambda: self.now)


async def test_a_token_is_fetched_once_and_kept() -> None:
    source = Source()
    token = source.token()

    assert [await token.get(source.fetch) for _ in range(3)] == ["t1"] * 3
    assert source.fetched == 1


async def test_concurrent_requests_share_one_fetch_that_a_cancelled_one_does_not_end() -> None:
    source = Source()
    token = source.token()
    source.held.clear()
    waiting = [asyncio.create_task(token.get(source.fetch)) for _ in range(50)]
    await settle()
    waiting[0].cancel()
    await settle()

    source.held.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)

    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == ["t1"] * 49
    assert source.fetched == 1


async def test_a_token_is_renewed_in_the_background_shortly_before_it_expires() -> None:
    source = Source()
    token = source.token()
    await token.get(source.fetch)
    source.held.clear()
    source.now += 3600 - RENEW_BEFORE_S - 1
    assert await token.get(source.fetch) == "t1"
    assert source.fetched == 1

    source.now += 1
    assert [await token.get(source.fetch) for _ in range(3)] == ["t1"] * 3  # nobody waits
    await settle()
    source.held.set()
    await settle()

    assert await token.get(source.fetch) == "t2"
    assert source.fetched == 2


async def test_a_failed_renewal_is_logged_and_retried_after_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    source = Source()
    token = source.token()
    await token.get(source.fetch)
    source.failing = True
    source.now += 3600 - RENEW_BEFORE_S

    for _ in range(3):
        assert await token.get(source.fetch) == "t1"
        await settle()

    assert source.fetched == 2
    assert "No new token: No token. The present one is valid for 270 s more." in caplog.text

    source.now += RETRY_INTERVAL_S
    assert await token.get(source.fetch) == "t1"
    await settle()
    assert source.fetched == 3


async def test_a_token_that_would_expire_in_transit_is_not_returned() -> None:
    source = Source()
    token = source.token()
    await token.get(source.fetch)
    source.failing = True
    source.now += 3600 - EXPIRY_MARGIN_S

    with pytest.raises(ModelRefusedKey):
        await token.get(source.fetch)

    source.failing = False
    assert await token.get(source.fetch) == "t3"


async def test_a_failed_fetch_fails_all_waiting_requests_and_the_next_one_retries() -> None:
    source = Source()
    source.failing = True
    token = source.token()

    found = await asyncio.gather(*(token.get(source.fetch) for _ in range(5)), return_exceptions=True)

    assert all(isinstance(one, ModelRefusedKey) for one in found)
    assert source.fetched == 1
    source.failing = False
    assert await token.get(source.fetch) == "t2"


async def test_a_refused_token_is_fetched_again_once_for_all_requests() -> None:
    source = Source()
    token = source.token()
    refused = await token.get(source.fetch)

    assert [token.discard(refused) for _ in range(10)] == [True] * 10
    assert await asyncio.gather(*(token.get(source.fetch) for _ in range(10))) == ["t2"] * 10
    assert source.fetched == 2
    assert token.discard(refused)  # a straggler: there is a newer one
    assert await token.get(source.fetch) == "t2"


async def test_a_new_token_that_is_refused_too_is_kept_for_a_while() -> None:
    source = Source()
    token = source.token()
    assert token.discard(await token.get(source.fetch))
    second = await token.get(source.fetch)

    assert not token.discard(second)
    assert await token.get(source.fetch) == second

    source.now += RETRY_INTERVAL_S
    assert token.discard(second)
    assert await token.get(source.fetch) == "t3"


async def test_closing_the_cache_cancels_a_fetch() -> None:
    source = Source()
    token = source.token()
    source.held.clear()
    waiting = asyncio.create_task(token.get(source.fetch))
    await settle()

    async with asyncio.timeout(30):
        await token.aclose()

    with pytest.raises(asyncio.CancelledError):
        await waiting


def test_the_repr_of_a_token_hides_it() -> None:
    assert "secret" not in repr(Token("secret", 1))


@pytest.mark.parametrize(("lifetime", "renewed_after"), [(3600, 3300), (400, 200), (50, 30)])
async def test_a_short_lived_token_is_used_for_half_of_its_lifetime(lifetime: float, renewed_after: float) -> None:
    now, fetched = 1000.0, 0

    async def fetch() -> Token[str]:
        nonlocal fetched
        fetched += 1
        return Token("token", lifetime)

    token = TokenCache[str](lambda: now)
    await token.get(fetch)
    now += renewed_after - 1 if lifetime > EXPIRY_MARGIN_S * 2 else 0
    await token.get(fetch)
    await settle()
    before = fetched
    now = 1000.0 + renewed_after
    await token.get(fetch)
    await settle()

    assert (before, fetched) == (1, 2)
