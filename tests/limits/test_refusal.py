"""What a refused client is asked to wait."""

import pytest

from rightseat.limits.book import LimitRefusal, Standing
from rightseat.limits.refusal import explain_refusal, headers_of_refusal
from rightseat.limits.rules import CounterKey, LimitRule
from rightseat.limits.windows import CalendarWindow, SlidingWindow

NOW = 1_800_000_000.0
HOUR = LimitRule("requests", 10, SlidingWindow(3600))
MONTH = LimitRule("requests", 10, CalendarWindow("month"))


def waits(rule: LimitRule, subject: str, seconds: float) -> set[int]:
    standing = Standing(CounterKey("a", rule.name, subject), rule, 0, NOW + seconds)
    refused = LimitRefusal(standing, 1, NOW)
    return {int(headers_of_refusal(refused, explain_refusal(refused))["retry-after"]) for _ in range(200)}


@pytest.mark.parametrize("rule", [HOUR, MONTH])
def test_a_client_of_its_own_counter_waits_until_it_opens(rule: LimitRule) -> None:
    assert waits(rule, "anna", 999.5) == {1000}


@pytest.mark.parametrize("rule", [HOUR, MONTH])
def test_clients_of_a_shared_counter_wait_up_to_a_tenth_longer(rule: LimitRule) -> None:
    found = waits(rule, "everyone", 1000)

    assert len(found) > 10
    assert min(found) >= 1000
    assert max(found) <= 1100


def test_no_client_waits_five_minutes_longer_than_needed() -> None:
    assert max(waits(MONTH, "everyone", 20 * 86_400)) <= 20 * 86_400 + 300


def test_a_wait_of_a_second_stays_one() -> None:
    assert waits(HOUR, "everyone", 0.2) == {1}
