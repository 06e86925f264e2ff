"""What was used in the last days, by day and by user, key, agent, model or purpose, and the state of the limits.

A request sees the usage of its own user and the limits of its user and key; with `operator.watch:*` or the scope
`usage:*` those of all users.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from starlette.responses import Response

from rightseat.core.types import JsonValue
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.queries import read_choice
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.limits.report import describe_rows, share_left
from rightseat.limits.store import UsageColumn, UsageQuery, UsageRow
from rightseat.limits.windows import find_zone
from rightseat.operations.rights import Operator
from rightseat.operations.usage import UsageReports

GROUPS: dict[str, UsageColumn] = {
    "user": "user",
    "key": "key",
    "agent": "agent",
    "model": "model",
    "purpose": "purpose",
}
PERIODS = {"7": 7, "30": 30, "90": 90, "365": 365}
"""Days of a period. Rows of at most 365 days are never merged by month."""
DEFAULT_DAYS = "30"
MAX_GROUPS = 200
"""Groups in one response: those that used most. The sums by day include all of them."""
MAX_COUNTERS = 200


class UsageLine(msgspec.Struct, frozen=True):
    """`is_counted` is False on a server that counts no usage; `is_everyone` tells whether other users are included.

    `days` has no entry for a day without usage. `left_out` is how many groups with less usage are not in `groups`.
    """

    is_counted: bool
    is_everyone: bool
    currency: str
    timezone: str
    since: str
    until: str
    by: str
    days: Sequence[JsonValue] = ()
    groups: Sequence[JsonValue] = ()
    left_out: int = 0


class LimitsLine(msgspec.Struct, frozen=True):
    """`left_out` is how many counters with more left are not in `limits`."""

    limits: Sequence[Mapping[str, JsonValue]] = ()
    left_out: int = 0


class UsageRoutes:
    """Without `usage` the server counts nothing."""

    def __init__(
        self,
        usage: UsageReports | None,
        currency: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._usage = usage
        self._currency = currency
        self._clock = clock

    def routes(self) -> Routes:
        return {("GET", "usage"): self.show, ("GET", "usage/limits"): self.show_limits}

    async def show(self, request: OperatorRequest) -> Response:
        parameters = request.http.query_params
        by = GROUPS[read_choice(parameters, "by", GROUPS) or "user"]
        days = PERIODS[read_choice(parameters, "days", PERIODS) or DEFAULT_DAYS]
        is_everyone = request.rights.includes_usage
        zone = self._usage.zone if self._usage else "UTC"
        until = self._clock().astimezone(find_zone(zone)).date()
        since = until - timedelta(days=days - 1)
        line = UsageLine(
            self._usage is not None, is_everyone, self._currency, zone, since.isoformat(), until.isoformat(), by
        )
        if self._usage is None:
            return json_response(line)
        return json_response(await add_sums(line, self._usage, request.operator, UsageQuery((by,), since, until)))

    async def show_limits(self, request: OperatorRequest) -> Response:
        """The counters of which the least is left; each as `GET /usage/limits` of the face `usage` has it."""
        counters = await self._usage.list_counters(request.operator) if self._usage else ()
        found = sorted(counters, key=share_left)
        return json_response(LimitsLine(found[:MAX_COUNTERS], max(0, len(found) - MAX_COUNTERS)))


async def add_sums(line: UsageLine, usage: UsageReports, operator: Operator, by_group: UsageQuery) -> UsageLine:
    by_day = msgspec.structs.replace(by_group, by=("day",))
    days, groups = await usage.sum(operator, by_day), sorted(await usage.sum(operator, by_group), key=rank)
    return msgspec.structs.replace(
        line,
        days=describe_rows(by_day, days),
        groups=describe_rows(by_group, groups[:MAX_GROUPS]),
        left_out=max(0, len(groups) - MAX_GROUPS),
    )


def rank(row: UsageRow) -> tuple[int, ...]:
    """Sorts by cost, then by tokens, then by requests, the largest first."""
    counts = row.counts
    tokens = counts.input_tokens + counts.output_tokens + counts.estimated_tokens
    return (-counts.cost, -tokens, -counts.requests, -counts.refused)
