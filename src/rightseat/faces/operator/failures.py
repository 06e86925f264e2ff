"""Which runs failed in the last minutes, by agent and code: what `health` cannot see without asking each model."""

import time
from collections.abc import Callable, Iterable

import msgspec
from starlette.responses import Response

from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.metric_series import format_time
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.service import Operations
from rightseat.operations.tally import Tally

WINDOW_S = 15 * 60


class FailedRuns(msgspec.Struct, frozen=True):
    """`failed` of the `ended` runs of the agent ended with this `code`, the first of them in the minute of `since`."""

    agent: str
    code: str
    failed: int
    ended: int
    since: str


class FailuresRoute:
    def __init__(self, operations: Operations, clock: Callable[[], float] = time.time) -> None:
        self._operations = operations
        self._clock = clock

    def routes(self) -> Routes:
        return {("GET", "failures"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        """Of the last 15 minutes, as this process counted them, of the agents that the request may watch."""
        recent = self._operations.count_recent(request.operator, self._clock() - WINDOW_S)
        return json_response(sum_failures(recent.tallies if recent else ()))


def sum_failures(tallies: Iterable[tuple[float, str, Tally]]) -> list[FailedRuns]:
    """The most frequent first. `tallies` are (start of a minute, agent, its tally), the oldest first."""
    ended: dict[str, int] = {}
    failed: dict[tuple[str, str], int] = {}
    since: dict[tuple[str, str], float] = {}
    for minute, agent, tally in tallies:
        ended[agent] = ended.get(agent, 0) + sum(tally.outcomes.values())
        for code, number in tally.errors.items():
            failed[agent, code] = failed.get((agent, code), 0) + number
            since.setdefault((agent, code), minute)
    lines = [
        FailedRuns(agent, code, number, ended[agent], format_time(since[agent, code]))
        for (agent, code), number in failed.items()
    ]
    return sorted(lines, key=lambda line: (-line.failed, line.agent, line.code))
