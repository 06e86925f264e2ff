"""Which runs failed, by agent, cause and model: what `health` cannot see without asking each model."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec
from starlette.responses import Response

from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.metric_series import read_seconds
from rightseat.faces.operator.queries import read_choice, read_text
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.limits.prices import Prices
from rightseat.operations.records import RunQuery, RunRecord
from rightseat.operations.service import ListsNotSupported, Operations
from rightseat.reads import hold_read

MINUTE_S = 60
DAY_S = 24 * 60 * MINUTE_S
WINDOWS: Mapping[str, int] = {
    "15m": 15 * MINUTE_S,
    "1h": 60 * MINUTE_S,
    "24h": DAY_S,
    "7d": 7 * DAY_S,
    "30d": 30 * DAY_S,
}
MAX_RUNS: Mapping[str, int] = {"15m": 2_000}
"""How many of the newest runs are read, whenever they began: reading costs the same however many are stored."""
MAX_RUNS_OTHERWISE = 20_000


class FailedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """`failed` of the `ended` runs of the agent ended with this `code`, the first of them at `since`, the last at
    `last`. `model` is the last one that they used; None if they used none. `users` is how many they were of, `cost`
    what they cost; None if that is unknown."""

    agent: str
    code: str
    model: str | None
    failed: int
    ended: int
    users: int
    cost: float | None
    since: str
    last: str


class FailureList(msgspec.Struct, frozen=True):
    """`since` is when the runs begin that were read; None if it is all of the window."""

    groups: Sequence[FailedRuns]
    since: str | None


class FailuresRoute:
    def __init__(self, operations: Operations, clock: Callable[[], float] = time.time) -> None:
        self._operations = operations
        self._clock = clock

    def routes(self) -> Routes:
        return {("GET", "failures"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        """Of the agents that the request may watch, and of the runs that began in the `window`: stored ones of all
        servers, and transient ones of this process."""
        query = request.http.query_params
        window = read_choice(query, "window", WINDOWS) or "15m"
        operator, operations = request.operator, self._operations
        groups = FailureGroups(self._clock() - WINDOWS[window], operations.prices)
        wanted = RunQuery(agent=read_text(query, "agent"), limit=MAX_RUNS.get(window, MAX_RUNS_OTHERWISE))
        is_complete = True
        with suppress(ListsNotSupported):
            await hold_read()
            is_complete = await operations.visit_runs(operator, wanted, groups.add)
        since = groups.find_begin(is_complete=is_complete)
        for run in operations.list_transient_runs(operator, wanted):
            groups.add(run)
        return json_response(FailureList(groups.list(), since))


class FailureGroups:
    """The failed runs that began after `begin`, in seconds since 1970. Stored runs are added the newest first."""

    def __init__(self, begin: float, prices: Prices) -> None:
        self._begin = begin
        self._prices = prices
        self._oldest: str | None = None
        self._is_past_begin = False
        self._ended: dict[str, int] = {}
        self._runs: dict[tuple[str, str, str | None], list[RunRecord]] = {}

    def add(self, run: RunRecord) -> None:
        if read_seconds(run.started_at) < self._begin:
            self._is_past_begin = True
            return
        self._oldest = run.started_at
        if run.ended_at is None:
            return
        self._ended[run.agent] = self._ended.get(run.agent, 0) + 1
        if run.outcome == "failed":
            model = run.models[-1].name if run.models else None
            self._runs.setdefault((run.agent, run.code or "internal_error", model), []).append(run)

    def find_begin(self, *, is_complete: bool) -> str | None:
        """When the runs so far begin; None if these are all since `begin`."""
        return None if is_complete or self._is_past_begin else self._oldest

    def list(self) -> Sequence[FailedRuns]:
        """The most frequent first."""
        groups = [self._describe(*key, runs) for key, runs in self._runs.items()]
        return sorted(groups, key=lambda group: (-group.failed, group.agent, group.code, group.model or ""))

    def _describe(self, agent: str, code: str, model: str | None, runs: Sequence[RunRecord]) -> FailedRuns:
        times = [run.ended_at or run.started_at for run in runs]
        costs = [cost for run in runs if (cost := self._prices.cost(run.models)) is not None]
        return FailedRuns(
            agent=agent,
            code=code,
            model=model,
            failed=len(runs),
            ended=self._ended[agent],
            users=len({run.user for run in runs}),
            cost=sum(costs) if costs else None,
            since=min(times),
            last=max(times),
        )
