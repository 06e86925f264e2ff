"""Counts of the last day: by minute and agent, in bounded memory."""

import pytest

from rightseat.core.events import Usage
from rightseat.core.tracing import trace_span
from rightseat.core.usage import ModelUsage
from rightseat.operations.tally import MAX_NAMES, OTHER, Histogram, Tally
from rightseat.telemetry import recent
from rightseat.telemetry.recent import KEPT_S, MINUTE_S, RecentMetrics


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000 * MINUTE_S

    def __call__(self) -> float:
        return self.now


def run(metrics: RecentMetrics, agent: str = "clerk", **noted: str) -> None:
    with trace_span("run", agent, metrics) as span:
        span.note(**(noted or {"outcome": "done"}))


def test_a_run_is_counted_with_its_outcome_calls_and_tokens() -> None:
    metrics = RecentMetrics()
    with trace_span("run", "clerk", metrics) as span:
        assert metrics.running() == {"clerk": 1}
        with trace_span("model", "gpt-5", model_key="upstream") as model:
            model.mark_first_chunk()
            model.note(input_tokens=11, output_tokens=7)
            model.note(cache_read_tokens=3, cache_written_tokens=0)
        with trace_span("tool", "get_weather"):
            pass
        span.note(outcome="failed", error="model_error")

    ((_, agent, tally),) = metrics.list(0)
    assert (agent, tally.outcomes, tally.errors) == ("clerk", {"failed": 1}, {"model_error": 1})
    assert tally.tools == {"get_weather": 1}
    assert [*tally.models.values()] == [ModelUsage("upstream", 1, Usage(11, 7, cache_read_tokens=3), "gpt-5")]
    assert sum(tally.seconds.bins.values()) == sum(tally.first_tokens.bins.values()) == 1
    assert metrics.running() == {}


def test_a_cancelled_run_is_cancelled_and_one_that_is_handed_over_is_not_counted() -> None:
    metrics = RecentMetrics()
    run(metrics, outcome="cancelled")
    with trace_span("run", "clerk", metrics):
        pass  # another process goes on with it

    ((_, _, tally),) = metrics.list(0)
    assert (tally.outcomes, tally.errors) == ({"cancelled": 1}, {})
    assert metrics.running() == {}


def test_minutes_are_kept_for_a_day() -> None:
    clock = Clock()
    metrics = RecentMetrics(clock)
    run(metrics)
    clock.now += KEPT_S - MINUTE_S
    run(metrics)
    assert len([*metrics.list(0)]) == 2

    clock.now += 2 * MINUTE_S
    run(metrics)

    assert [at for at, _, _ in metrics.list(0)] == [clock.now - 2 * MINUTE_S, clock.now]
    assert metrics.since >= clock.now - KEPT_S
    assert [at for at, _, _ in metrics.list(clock.now - 30)] == [clock.now]


def test_memory_is_bounded_and_since_names_what_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_TALLIES", 10)
    clock = Clock()
    metrics = RecentMetrics(clock)
    begun = metrics.since
    for _ in range(30):
        run(metrics)
        clock.now += MINUTE_S

    kept = [at for at, _, _ in metrics.list(0)]
    assert len(kept) == 10
    assert metrics.since == kept[0] > begun


def test_further_names_are_counted_together() -> None:
    tally = Tally()
    for number in range(MAX_NAMES + 5):
        tally.add_tool(f"tool{number}")
        tally.add_model(ModelUsage(f"model{number}", 1))

    assert len(tally.tools) == len(tally.models) == MAX_NAMES + 1
    assert tally.tools[OTHER] == tally.models[OTHER, None].calls == 5


def test_quantiles_are_at_most_five_percent_off() -> None:
    histogram, other = Histogram(), Histogram()
    for number in range(1, 51):
        histogram.add(number / 10)
    for number in range(51, 101):
        other.add(number / 10)
    histogram.merge(other)

    assert histogram.quantile(0.5) == pytest.approx(5.0, rel=0.05)
    assert histogram.quantile(0.95) == pytest.approx(9.5, rel=0.05)
    assert Histogram().quantile(0.5) is None
