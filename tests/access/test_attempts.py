"""Wrong keys are limited per client address."""

import httpx2
import pytest

from rightseat import app, config
from rightseat.access import attempts
from rightseat.access.attempts import FirstUses, WrongKeyLimit
from rightseat.core.errors import TooManyAttempts
from tests.conftest import Serve

OFFICE = "203.0.113.7"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(limit: WrongKeyLimit, address: str, times: int) -> list[int]:
    """The `retry_after` of those attempts that were refused."""
    found = []
    for _ in range(times):
        try:
            limit.record_wrong(address)
        except TooManyAttempts as error:
            found.append(error.retry_after)
    return found


def test_attempts_come_back_one_by_one() -> None:
    clock = Clock()
    limit = WrongKeyLimit(20, clock)

    assert refused(limit, OFFICE, 22) == [3, 3]
    clock.now += 2.5
    assert refused(limit, OFFICE, 1) == [1]
    clock.now += 0.6
    assert refused(limit, OFFICE, 2) == [3]
    clock.now += 3600
    assert refused(limit, OFFICE, 21) == [3]


def test_only_credentials_that_an_address_used_before_are_accepted_while_it_has_no_attempts_left() -> None:
    limit = WrongKeyLimit(5, Clock())
    limit.record_right(OFFICE, "the key 'alice'")
    refused(limit, OFFICE, 5)

    limit.record_right(OFFICE, "the key 'alice'")
    limit.record_right("198.51.100.1", "the key 'bob'")
    with pytest.raises(TooManyAttempts, match="Try again in 12 s"):
        limit.record_right(OFFICE, "the key 'bob'")


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("203.0.113.7", "203.0.113.8", False),
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ],
)
def test_what_counts_as_one_address(first: str, second: str, is_same: bool) -> None:
    limit = WrongKeyLimit(5, Clock())
    refused(limit, first, 5)

    assert bool(refused(limit, second, 1)) is is_same


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "unix socket", ""])
def test_this_machine_is_not_limited(address: str) -> None:
    assert refused(WrongKeyLimit(5, Clock()), address, 50) == []


def test_zero_means_no_limit() -> None:
    assert refused(WrongKeyLimit(0, Clock()), OFFICE, 50) == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "MAX_ADDRESSES", 100)
    monkeypatch.setattr(attempts, "MAX_KNOWN", 100)
    limit = WrongKeyLimit(5, Clock())
    for number in range(1000):
        limit.record_wrong(f"198.51.{number // 250}.{number % 250}")
        limit.record_right(f"203.0.{number // 250}.{number % 250}", "the key 'alice'")

    assert (len(limit._left), len(limit._known)) == (100, 100)


def test_the_first_use_of_a_credential_is_told_once_a_day() -> None:
    clock = Clock()
    uses = FirstUses(clock)

    first = [uses.is_first(name) for name in ("alice", "alice", "bob")]
    clock.now += 86_400

    assert first == [True, False, True]
    assert [uses.is_first("alice"), uses.is_first("alice")] == [True, False]


CONFIGURATION = """
models: {default: {type: scripted, chunk_delay: 0}}
log: {type: memory}
threads: {type: memory}
faces: [{type: openai, path: /v1}, {type: copilotkit, path: /copilotkit}, {type: operator, path: /operator}]
access:
  max_wrong_keys_per_minute: 4
  keys: [{name: alice, key: key-alice, scopes: ["*", "operator.watch:*"]}, {name: bob, key: key-bob}]
"""


async def test_faces_and_the_sign_in_share_the_limit_of_the_address_that_the_proxy_names(serve: Serve) -> None:
    application = app.build(config.parse(CONFIGURATION, environ={}))
    # The uvicorn of `serve` trusts proxies of this machine, as `rightseat serve` does.
    async with serve(application) as url, httpx2.AsyncClient(base_url=url) as client:

        async def send(path: str, key: str | None, address: str = OFFICE, method: str = "GET") -> httpx2.Response:
            headers = {"x-forwarded-for": address, "x-rightseat": "1"} | ({"x-api-key": key} if key else {})
            return await client.request(method, path, headers=headers)

        before = (await send("/v1/models", "key-alice")).status_code
        without = [(await send("/v1/models", None)).status_code for _ in range(9)]
        wrong = [
            (await send("/v1/models", "guess-1")).status_code,
            (await send("/copilotkit/info", "guess-2")).status_code,
            (await send("/operator/session", "guess-3", method="POST")).status_code,
            (await send("/operator/me", "guess-4")).status_code,
        ]
        limited = [
            await send("/v1/models", "guess-5"),
            await send("/copilotkit/info", "guess-6"),
            await send("/operator/session", "guess-7", method="POST"),
            await send("/v1/models", "key-bob"),
        ]
        known = (await send("/v1/models", "key-alice")).status_code
        elsewhere = (await send("/v1/models", "key-bob", "198.51.100.1")).status_code
        local = [(await client.get("/v1/models", headers={"x-api-key": "guess"})).status_code for _ in range(9)]

    assert [before, known, elsewhere] == [200, 200, 200]
    assert set(without) == {401}
    assert wrong == [401] * 4
    assert [answer.status_code for answer in limited] == [429] * 4
    assert all(1 <= int(answer.headers["retry-after"]) <= 15 for answer in limited)
    assert limited[0].json()["error"]["code"] == "too_many_attempts"
    assert limited[2].json()["error"] == "too_many_attempts"
    assert set(local) == {401}
