"""Which amounts count at a time, and when they stop counting."""

import random
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from rightseat.limits.book import Admitted, Book, Buckets, LimitRefusal, Reserve, UsageKey
from rightseat.limits.rules import Charge, CounterKey, LimitRule
from rightseat.limits.windows import CalendarWindow, SlidingWindow, find_zone, format_seconds

KEY = CounterKey("free", "requests/6s", "alice")
USAGE = UsageKey("alice", "", "default", "")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("seconds", [1, 6, 60, 86400])
def test_no_period_of_a_sliding_window_has_more_than_the_limit(seconds: int, seed: int) -> None:
    """The oracle is a list of all admitted times."""
    chance, rule = random.Random(seed), LimitRule("requests", 10, SlidingWindow(seconds))
    now, admitted, buckets = chance.uniform(1e9, 2e9), list[float](), Buckets()
    for _ in range(400):
        now += chance.expovariate(30 / seconds)
        book = Book({KEY: buckets}, now)
        outcome = book.apply(Reserve("a", "run", [Charge(KEY, rule, 1)], USAGE))
        buckets = book.counters[KEY]
        recent = [at for at in admitted if at > now - seconds]
        if isinstance(outcome, Admitted):
            assert len(recent) < 10
            admitted.append(now)
        else:
            late = [at for at in admitted if at > now - seconds * 7 / 6]
            assert len(late) >= 10  # a place is free at most a sixth of the window late

    assert len(admitted) > 50


def test_a_refused_request_fits_at_the_time_that_its_refusal_names() -> None:
    rule, start = LimitRule("requests", 3, SlidingWindow(60)), 1_000_000_020.0
    book = Book({KEY: {}}, start)
    for _ in range(3):
        book.apply(Reserve("a", "run", [Charge(KEY, rule, 1)], USAGE))
    refused = book.apply(Reserve("a", "run", [Charge(KEY, rule, 1)], USAGE))

    assert isinstance(refused, LimitRefusal)
    opens_at = refused.standing.opens_at
    assert start + 60 <= opens_at <= start + 70
    early, later = Book(dict(book.counters), opens_at - 0.01), Book(dict(book.counters), opens_at)
    assert isinstance(early.apply(Reserve("a", "run", [Charge(KEY, rule, 1)], USAGE)), LimitRefusal)
    assert isinstance(later.apply(Reserve("a", "run", [Charge(KEY, rule, 1)], USAGE)), Admitted)


def test_a_day_is_one_of_its_time_zone_also_when_the_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    window = CalendarWindow("day", "Europe/Berlin")
    lengths = {}
    for month, day in ((3, 29), (10, 25), (7, 1)):
        bucket = window.bucket(datetime(2026, month, day, 12, tzinfo=berlin).timestamp())
        lengths[month] = (window.end(bucket) - window.start(bucket)) / 3600
        assert datetime.fromtimestamp(bucket, berlin) == datetime(2026, month, day, tzinfo=berlin)

    assert lengths == {3: 23, 10: 25, 7: 24}


def test_a_month_begins_on_its_first_day() -> None:
    window = CalendarWindow("month")
    bucket = window.bucket(datetime(2026, 12, 31, 23, 59, tzinfo=UTC).timestamp())

    assert datetime.fromtimestamp(bucket, UTC) == datetime(2026, 12, 1, tzinfo=UTC)
    assert datetime.fromtimestamp(window.end(bucket), UTC) == datetime(2027, 1, 1, tzinfo=UTC)
    assert not window.is_live(bucket, window.end(bucket))


def test_an_unknown_time_zone_is_an_error() -> None:
    with pytest.raises(ValueError, match="Nowhere"):
        find_zone("Nowhere/Else")


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1s"), (12, "12s"), (360, "6m0s"), (3661, "1h1m1s")])
def test_durations_have_the_form_of_openai(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
