"""Numbers over time in the operator API."""

from typing import Any

import pytest

from rightseat.faces.operator import metric_series
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, serving
from tests.faces.operator.test_rights import KEYS, User

PRICED = """
prices: {default: {input: 1.0, output: 2.0}}
currency: EUR
"""


def totals(counts: dict[str, list[int]]) -> dict[str, int]:
    return {name: sum(values) for name, values in counts.items()}


async def numbers(user: User, **query: str) -> dict[str, Any]:
    answer = await user.get("metrics", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("window", ["1h", "24h", "7d", "30d"])
async def test_runs_are_counted_by_outcome_agent_and_model(window: str, serve: Serve) -> None:
    counting = CONFIGURATION.replace("{type: scripted, chunk_delay: 0}", "{type: tests.faces.operator.counting_model}")
    async with serving(serve, counting + KEYS + PRICED) as server:
        alice, olga = User(server, "alice"), User(server, "olga")
        for number in range(3):
            await alice.ended(await alice.start("Hello", thread=f"t{number}"))
        stopped = await alice.start("Hello", "slow", "t9")
        await alice.change("POST", f"runs/{stopped}/stop")
        await alice.ended(stopped)
        found = await numbers(olga, window=window)

    series, points = found["series"], len(found["times"])
    assert totals(series["runs"]) == {"cancelled": 1, "done": 3}
    assert totals(series["agents"]) == {"default": 3, "slow": 1}
    assert sum(series["model_calls"]["default"]) == 3
    assert sum(series["tokens"]["out"]) > 0
    assert sum(series["cost"]) == pytest.approx((sum(series["tokens"]["in"]) + 2 * sum(series["tokens"]["out"])) / 1e6)
    assert any(value is not None for value in series["seconds"]["p95"])
    assert (found["currency"], found["running"]) == ("EUR", 0)
    assert {len(series["runs"]["done"]), len(series["cost"]), len(series["seconds"]["p50"])} == {points}
    assert found["times"][1] - found["times"][0] == found["step"]
    assert (series["first_token"] is None) == (window in ("7d", "30d"))


async def test_only_agents_that_the_key_may_watch_are_counted(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        alice, slow, olga = (User(server, name) for name in ("alice", "slow", "olga"))
        await alice.ended(await alice.start("Hello"))
        await alice.start("Hello", "slow", "t2")
        watched = await numbers(slow)
        stored = await numbers(slow, window="7d")
        chosen = await numbers(olga, agent="slow")
        refused = await alice.get("metrics")
        wrong = await olga.get("metrics", window="2h")

    assert (watched["series"]["runs"], stored["series"]["runs"], chosen["series"]["runs"]) == ({}, {}, {})
    assert (watched["running"], chosen["running"]) == (1, 1)
    assert refused.status_code == 403
    assert "operator.watch:*" in refused.json()["message"]
    assert wrong.status_code == 400


async def test_a_period_that_is_not_complete_says_since_when_it_is(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metric_series, "MAX_RUNS", 1)
    async with serving(serve, CONFIGURATION + KEYS) as server:
        alice, olga = User(server, "alice"), User(server, "olga")
        one = await numbers(olga, window="7d")
        for number in range(2):
            await alice.ended(await alice.start("Hello", thread=f"t{number}"))
        two = await numbers(olga, window="7d")
        here = await numbers(olga)

    assert one["since"] is None
    assert two["since"] is not None
    assert totals(two["series"]["runs"]) == {"done": 1}
    assert here["since"] is not None, "the server has just started"
