"""The usage of the last days and the state of the limits in the operator API."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from rightseat.faces.operator import usage_sums
from rightseat.limits.book import Settle, UsageKey
from rightseat.limits.kinds import UsageCounts
from rightseat.stores.limits import MemoryLimits
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, Server, serving
from tests.faces.operator.test_rights import KEYS, User

COUNTED = (
    CONFIGURATION.replace("{type: scripted, chunk_delay: 0}", "{type: tests.faces.operator.counting_model}")
    + KEYS
    + """
    - {name: accountant, key: key-accountant, user: accountant, scopes: ["operator:default", "usage:*"]}
prices: {default: {input: 1.0, output: 2.0}, slow: {input: 1.0, output: 2.0}}
currency: EUR
limits:
  - {name: daily, subject: user, requests_per_day: 3, concurrent_runs: 2}
  - {name: total, subject: everyone, cost_per_month: 10}
"""
)


async def get(user: User, path: str, **query: str) -> dict[str, Any]:
    answer = await user.get(path, **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def run_twice_and_once(server: Server) -> None:
    for number, name in enumerate(("alice", "alice", "bob")):
        user = User(server, name)
        await user.ended(await user.start("Hello", thread=f"t{number}"))


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("user", [("alice", 2), ("bob", 1)]),
        ("key", [("alice", 2), ("bob", 1)]),
        ("agent", [("default", 3)]),
        ("model", [("default", 3)]),
        ("purpose", [("answer", 3)]),
    ],
)
async def test_an_operator_sees_the_usage_of_all_users(serve: Serve, by: str, expected: list[tuple[str, int]]) -> None:
    async with serving(serve, COUNTED) as server:
        await run_twice_and_once(server)
        found = await get(User(server, "olga"), "usage", by=by, days="7")

    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert [(row[by], row["requests"]) for row in found["groups"]] == expected
    (day,) = found["days"]
    assert (day["day"], day["requests"], day["refused"]) == (today, 3, 0)
    assert (day["input_tokens"], day["cached_tokens"], day["output_tokens"]) == (33, 6, 21)
    assert day["cost"] == pytest.approx((33 + 2 * 21) / 1e6)
    assert (found["until"], date.fromisoformat(found["since"])) == (
        today,
        date.fromisoformat(today) - timedelta(days=6),
    )
    assert (found["is_counted"], found["is_everyone"], found["currency"], found["left_out"]) == (True, True, "EUR", 0)


async def test_a_user_without_the_right_sees_the_own_usage(serve: Serve) -> None:
    async with serving(serve, COUNTED) as server:
        await run_twice_and_once(server)
        own = await get(User(server, "bob"), "usage")
        of_one_agent = await get(User(server, "slow"), "usage")
        limits = (await get(User(server, "bob"), "usage/limits"))["limits"]
        named = await get(User(server, "accountant"), "usage")

    assert [(row["user"], row["requests"]) for row in own["groups"]] == [("bob", 1)]
    assert (own["is_everyone"], sum(day["requests"] for day in own["days"])) == (False, 1)
    assert (of_one_agent["is_everyone"], of_one_agent["groups"]) == (False, [])
    assert sorted((row["limit"], row["subject"], row["kind"]) for row in limits) == [
        ("daily", "bob", "requests"),
        ("daily", "bob", "runs"),
    ]
    assert (named["is_everyone"], len(named["groups"])) == (True, 2)


async def test_an_operator_sees_the_state_of_every_limit(serve: Serve) -> None:
    async with serving(serve, COUNTED) as server:
        await run_twice_and_once(server)
        rows = (await get(User(server, "wu"), "usage/limits"))["limits"]

    used = {(row["limit"], row["subject"], row["kind"]): (row["used"], row["most"]) for row in rows}
    assert used["daily", "alice", "requests"] == (2, 3)
    assert used["daily", "bob", "requests"] == (1, 3)
    assert used["total", "everyone", "cost"] == (pytest.approx(75 / 1e6), 10)


async def test_groups_with_the_least_usage_are_left_out_of_a_long_list(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_sums, "MAX_GROUPS", 1)
    async with serving(serve, COUNTED) as server:
        await run_twice_and_once(server)
        found = await get(User(server, "olga"), "usage")

    assert [row["user"] for row in found["groups"]] == ["alice"]
    assert (found["left_out"], found["days"][0]["requests"]) == (1, 3)


async def test_counters_with_the_least_left_come_first(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_sums, "MAX_COUNTERS", 2)
    async with serving(serve, COUNTED) as server:
        await run_twice_and_once(server)
        found = await get(User(server, "olga"), "usage/limits")

    assert [(row["subject"], row["used"]) for row in found["limits"]] == [("alice", 2), ("bob", 1)]
    assert found["left_out"] == 3  # the concurrent runs of both, and the cost of everyone


async def test_days_before_the_period_are_not_included(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(serve, COUNTED) as server:
        metering = server.assembly.metering
        assert metering is not None
        assert isinstance(metering.ledger.store, MemoryLimits)
        for days in (6, 7, 40):
            at = (datetime.now(UTC) - timedelta(days=days)).timestamp()
            monkeypatch.setattr(metering.ledger.store, "_clock", lambda at=at: at)
            used = Settle(None, UsageKey("alice", "", "default", "default"), UsageCounts(requests=1))
            await metering.ledger.store.apply([used])
        week, month, quarter = [await get(User(server, "wu"), "usage", days=days) for days in ("7", "30", "90")]

    assert [len(found["days"]) for found in (week, month, quarter)] == [1, 2, 3]


async def test_a_server_that_counts_nothing_says_so(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        found = await get(User(server, "olga"), "usage")
        limits = await get(User(server, "olga"), "usage/limits")

    assert (found["is_counted"], found["days"], found["groups"]) == (False, [], [])
    assert limits == {"limits": [], "left_out": 0}


@pytest.mark.parametrize(("name", "value"), [("by", "day"), ("days", "8")])
async def test_an_unknown_group_or_period_is_refused(serve: Serve, name: str, value: str) -> None:
    async with serving(serve, COUNTED) as server:
        answer = await User(server, "olga").get("usage", **{name: value})

    assert (answer.status_code, value in answer.json()["message"]) == (400, True)
