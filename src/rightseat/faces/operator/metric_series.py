"""Numbers over time, for charts: runs, times, tokens, cost, calls and errors.

The last hour and the last day are counted in this process. Longer periods are read from the stored runs, of all
servers, which have neither the times of first tokens nor the names of tools.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from starlette.responses import Response

from rightseat.core.ask import AgentNames, includes_agent
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.queries import read_choice
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.limits.prices import Prices
from rightseat.operations.records import RunQuery, RunRecord
from rightseat.operations.rights import Operator
from rightseat.operations.service import Operations
from rightseat.operations.tally import Histogram, Tally

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
WINDOWS = {
    "1h": (HOUR_S, MINUTE_S),
    "24h": (DAY_S, 15 * MINUTE_S),
    "7d": (7 * DAY_S, 3 * HOUR_S),
    "30d": (30 * DAY_S, 12 * HOUR_S),
}
"""Name → seconds of the window, and of one point in it."""
COUNTED_HERE = ("1h", "24h")
MAX_RUNS = 100_000
"""Stored runs that are read for one response: from SQLite in a thread, from PostgreSQL in parts on the event loop."""

Counts = Mapping[str, Sequence[int]]


class TokenSeries(msgspec.Struct, frozen=True, rename={"input": "in", "output": "out"}):
    input: Sequence[int]
    output: Sequence[int]
    cached: Sequence[int]


class QuantileSeries(msgspec.Struct, frozen=True):
    """In seconds; null where there was no value."""

    p50: Sequence[float | None]
    p95: Sequence[float | None]


class SeriesLine(msgspec.Struct, frozen=True):
    """Each list has one value for each of `MetricsLine.times`. `first_token` and `tool_calls` are null if unknown.

    A run is counted when it ends. `cost` is null where a model without a price was used.
    """

    runs: Counts
    agents: Counts
    errors: Counts
    seconds: QuantileSeries
    first_token: QuantileSeries | None
    tokens: TokenSeries
    cost: Sequence[float | None]
    model_calls: Counts
    tool_calls: Counts | None


class MetricsLine(msgspec.Struct, frozen=True):
    """`times` are the starts of the points, in seconds since 1970, `step` seconds apart. `since` is the time from which
    on nothing is missing, if that is within the window. `running` is the number of active runs of this server."""

    window: str
    step: int
    times: Sequence[int]
    since: str | None
    currency: str
    running: int
    series: SeriesLine


class MetricsRoute:
    def __init__(self, operations: Operations, clock: Callable[[], float] = time.time) -> None:
        self._operations = operations
        self._clock = clock

    def routes(self) -> Routes:
        return {("GET", "metrics"): self.show}

    async def show(self, request: OperatorRequest) -> Response:
        """Of all runs with the agents that the request may watch. `agent` restricts them to one."""
        operator, prices = request.operator, self._operations.prices
        operator.check_any("watch")
        query = request.http.query_params
        window = read_choice(query, "window", WINDOWS) or "1h"
        seconds, step = WINDOWS[window]
        points = Points(self._clock(), seconds, step, request.rights.watch, query.get("agent"))
        recent = self._operations.count_recent(operator, points.times[0])
        if window in COUNTED_HERE and recent is not None:
            points.add_all(recent.tallies)
            since = recent.since
        else:
            since = await self._add_stored(operator, points)
        running = recent.running if recent else {}
        return json_response(
            MetricsLine(
                window=window,
                step=step,
                times=[*points.times],
                since=format_time(since) if since > points.times[0] else None,
                currency=prices.currency,
                running=sum(number for agent, number in running.items() if points.has_agent(agent)),
                series=points.write(prices, has_names=window in COUNTED_HERE and recent is not None),
            )
        )

    async def _add_stored(self, operator: Operator, points: "Points") -> float:
        """Returns the time from which on all runs were read."""
        oldest = float(points.times[0])

        def add(run: RunRecord) -> None:
            nonlocal oldest
            oldest = read_seconds(run.started_at)
            points.add_run(run)

        since = format_time(points.times[0])
        query = RunQuery(since=since, agent=points.agent, limit=MAX_RUNS)
        is_complete = await self._operations.visit_runs(operator, query, add)
        return points.times[0] if is_complete else oldest


class Points:
    """One tally for each point of a chart and each agent."""

    def __init__(self, now: float, seconds: int, step: int, watched: AgentNames, agent: str | None) -> None:
        last = int(now // step) * step
        self.times = range(last - seconds, last + step, step)
        self.agent = agent
        self._watched = watched
        self._tallies = [Tally() for _ in self.times]
        self._agents: dict[str, list[int]] = {}

    def has_agent(self, agent: str) -> bool:
        return self.agent in (None, agent) and includes_agent(self._watched, agent)

    def add_all(self, found: Iterable[tuple[float, str, Tally]]) -> None:
        for at, agent, tally in found:
            if self.has_agent(agent) and (index := self._index(at)) is not None:
                self._tallies[index].merge(tally)
                self._count_agent(agent, index, sum(tally.outcomes.values()))

    def add_run(self, run: RunRecord) -> None:
        """A run that has not ended is left out."""
        if run.ended_at is not None and (index := self._index(read_seconds(run.ended_at))) is not None:
            self._tallies[index].add_record(run)
            self._count_agent(run.agent, index, 1)

    def write(self, prices: Prices, *, has_names: bool) -> SeriesLine:
        tallies = self._tallies
        used = [[one.usage for one in tally.models.values() if one.usage is not None] for tally in tallies]
        tokens = TokenSeries(
            [sum(one.input_tokens for one in point) for point in used],
            [sum(one.output_tokens for one in point) for point in used],
            [sum(one.cache_read_tokens for one in point) for point in used],
        )
        models: list[dict[str, int]] = [{} for _ in tallies]
        for point, tally in zip(models, tallies, strict=True):
            for one in tally.models.values():
                point[one.name] = point.get(one.name, 0) + one.calls
        return SeriesLine(
            runs=by_name([tally.outcomes for tally in tallies]),
            agents=self._agents,
            errors=by_name([tally.errors for tally in tallies]),
            seconds=quantiles([tally.seconds for tally in tallies]),
            first_token=quantiles([tally.first_tokens for tally in tallies]) if has_names else None,
            tokens=tokens,
            cost=[prices.cost([*tally.models.values()]) if tally.models else 0.0 for tally in tallies],
            model_calls=by_name(models),
            tool_calls=by_name([tally.tools for tally in tallies]) if has_names else None,
        )

    def _index(self, at: float) -> int | None:
        index = int((at - self.times[0]) // self.times.step)
        return index if 0 <= index < len(self.times) else None

    def _count_agent(self, agent: str, index: int, runs: int) -> None:
        if runs:
            self._agents.setdefault(agent, [0] * len(self.times))[index] += runs


def by_name(points: Sequence[Mapping[str, int]]) -> dict[str, list[int]]:
    names = sorted({name for point in points for name in point})
    return {name: [point.get(name, 0) for point in points] for name in names}


def quantiles(points: Sequence[Histogram]) -> QuantileSeries:
    return QuantileSeries(
        [rounded(one.quantile(0.5)) for one in points],
        [rounded(one.quantile(0.95)) for one in points],
    )


def rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def read_seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def format_time(seconds: float) -> str:
    """In the form of stored times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
