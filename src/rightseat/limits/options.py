"""The section `limits`: how many requests, runs, tokens and how much money a subject may use."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, Self, assert_never

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from rightseat.limits.kinds import KINDS, RUNS, KindName
from rightseat.limits.rules import (
    DowngradePolicy,
    ExceedPolicy,
    Limit,
    LimitRule,
    Limits,
    QueuePolicy,
    Subject,
)
from rightseat.limits.windows import CalendarWindow, SlidingWindow, Window, find_zone

PERIOD_PATTERN = re.compile(r"([1-9][0-9]{0,6})([smhd])")
PERIOD_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MAX_PERIOD_SECONDS = 31 * 86400


def read_period(text: str) -> int:
    """Seconds. Raises `ValueError`."""
    found = PERIOD_PATTERN.fullmatch(text)
    seconds = int(found[1]) * PERIOD_SECONDS[found[2]] if found else 0
    if not 1 <= seconds <= MAX_PERIOD_SECONDS:
        raise ValueError(text)
    return seconds


def _check_period(text: str) -> str:
    try:
        read_period(text)
    except ValueError as error:
        raise PydanticCustomError("period", "should be like 10s, 5m, 6h or 7d, and at most 31d") from error
    return text


def _check_timezone(name: str) -> str:
    try:
        find_zone(name)
    except ValueError as error:
        raise PydanticCustomError("timezone", "should be the name of a time zone, like UTC or Europe/Berlin") from error
    return name


Period = Annotated[str, AfterValidator(_check_period)]
TimeZone = Annotated[str, AfterValidator(_check_timezone)]
Count = Annotated[int, Field(ge=1)]
Money = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CountWindow(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    most: Count
    """The maximum in any period of this length."""
    per: Period
    """The length, such as `10s`, `5m`, `6h` or `7d`."""


class CostWindow(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    most: Money
    """The maximum in any period of this length, in `currency`."""
    per: Period
    """The length, such as `10s`, `5m`, `6h` or `7d`."""


class QueueOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    wait: float = Field(default=30.0, gt=0, le=3600)
    """How many seconds a request waits at most; it is then refused with `queue_timeout`."""
    most: Count = 100
    """How many requests wait for one counter at most; others are refused with `queue_full`."""


class LimitOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1, max_length=100)
    """Unique. Error messages, headers and the usage report have it. A renamed limit starts from zero."""
    subject: Subject
    """Who has a counter: each `user`, each `key`, each `agent`, each client `address`, or `everyone` together. Requests
    without a key are not limited by a limit for keys; requests without any credential are all one user. With IPv6 the
    addresses of a network of 64 bits are one client."""
    match: str = "*"
    """Only subjects whose name matches this pattern, such as `guest-*`."""
    agents: tuple[str, ...] | None = None
    """Only requests to these agents. Left out: all."""
    concurrent_runs: Count | None = None
    """The maximum number of runs at once, on all servers of the store together."""
    requests_per_minute: Count | None = None
    """The maximum number of requests in any minute."""
    requests_per_hour: Count | None = None
    """The maximum number of requests in any hour."""
    requests_per_day: Count | None = None
    """The maximum number of requests on a day of `timezone`."""
    requests_per_month: Count | None = None
    """The maximum number of requests in a month of `timezone`."""
    requests: CountWindow | None = None
    """The maximum number of requests in any other period, such as `{most: 5, per: 10s}`."""
    tokens_per_minute: Count | None = None
    """The maximum number of tokens in any minute, input and output together."""
    tokens_per_hour: Count | None = None
    """The maximum number of tokens in any hour."""
    tokens_per_day: Count | None = None
    """The maximum number of tokens on a day of `timezone`."""
    tokens_per_month: Count | None = None
    """The maximum number of tokens in a month of `timezone`."""
    tokens: CountWindow | None = None
    """The maximum number of tokens in any other period."""
    cost_per_day: Money | None = None
    """The maximum cost on a day of `timezone`, in `currency`. Every model needs a price under `prices`."""
    cost_per_month: Money | None = None
    """The maximum cost in a month of `timezone`, in `currency`."""
    cost: CostWindow | None = None
    """The maximum cost in any other period."""
    on_exceed: Literal["reject", "queue", "downgrade"] = "reject"
    """What happens to a request beyond the limit: it is refused (`reject`), waits (`queue`), or another model answers
    it (`downgrade`)."""
    queue: QueueOptions | None = None
    """For `on_exceed: queue`: how long, and how many requests wait, such as `{wait: 30, most: 100}`."""
    downgrade: str | None = None
    """For `on_exceed: downgrade`: the model that answers, a name under `models`."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        rules = list(self.rules("UTC"))
        if not rules:
            raise PydanticCustomError("limit", "limits nothing; add a key like requests_per_minute or concurrent_runs")
        if self.on_exceed == "queue" and any(rule.is_budget for rule in rules):
            text = "cannot queue: a request would wait for a budget of more than an hour, or of cost. Split the limit"
            raise PydanticCustomError("limit", text)
        if self.queue is not None and self.on_exceed != "queue":
            raise PydanticCustomError("limit", "has `queue`, which needs `on_exceed: queue`")
        if (self.downgrade is not None) != (self.on_exceed == "downgrade"):
            raise PydanticCustomError("limit", "needs both `on_exceed: downgrade` and `downgrade: MODEL`, or neither")
        return self

    @property
    def policy(self) -> ExceedPolicy:
        if self.downgrade is not None:
            return DowngradePolicy(self.downgrade)
        if self.on_exceed != "queue":
            return None
        queue = self.queue or QueueOptions()
        return QueuePolicy(queue.wait, queue.most)

    @property
    def limits_cost(self) -> bool:
        return any(rule.kind.is_money for rule in self.rules("UTC"))

    @property
    def limits_calls(self) -> bool:
        """Whether it limits tokens or cost, which only models have that this server calls itself."""
        return any(rule.kind.counts_calls for rule in self.rules("UTC"))

    def rules(self, zone: str) -> Iterator[LimitRule]:
        if self.concurrent_runs is not None:
            yield LimitRule(RUNS, self.concurrent_runs)
        day, month = CalendarWindow("day", zone), CalendarWindow("month", zone)
        windows: Sequence[Window] = (SlidingWindow(60), SlidingWindow(3600), day, month)
        for kind in KINDS.values():
            for most, window in zip(self._periods(kind.name), windows, strict=True):
                if most is not None:
                    yield LimitRule(kind, kind.parse(most), window)
        for kind in KINDS.values():
            if (own := self._own_period(kind.name)) is not None:
                yield LimitRule(kind, kind.parse(own.most), SlidingWindow(read_period(own.per)))

    def _periods(self, kind: KindName) -> tuple[float | None, float | None, float | None, float | None]:
        """The maximum per minute, hour, day and month."""
        match kind:
            case "requests":
                minute, hour = self.requests_per_minute, self.requests_per_hour
                return minute, hour, self.requests_per_day, self.requests_per_month
            case "tokens":
                return self.tokens_per_minute, self.tokens_per_hour, self.tokens_per_day, self.tokens_per_month
            case "cost":
                return None, None, self.cost_per_day, self.cost_per_month
            case "runs":
                return None, None, None, None
            case _:
                assert_never(kind)

    def _own_period(self, kind: KindName) -> CountWindow | CostWindow | None:
        match kind:
            case "requests":
                return self.requests
            case "tokens":
                return self.tokens
            case "cost":
                return self.cost
            case "runs":
                return None
            case _:
                assert_never(kind)


def build_limits(options: Sequence[LimitOptions], zone: str) -> Limits:
    return Limits(
        [Limit(one.name, one.subject, [*one.rules(zone)], one.match, one.agents, one.policy) for one in options]
    )
