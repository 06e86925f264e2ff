"""The error and the headers of an ask that a limit refuses, and the headers of one that it admits."""

import math
import random
from collections.abc import Iterable
from datetime import datetime

from rightseat.core import errors
from rightseat.limits.book import LimitRefusal, Standing
from rightseat.limits.response_headers import LIMIT_HEADERS, LimitLevel
from rightseat.limits.rules import EVERYONE, Charge, LimitRule
from rightseat.limits.windows import CalendarWindow, find_zone, format_seconds

MAX_SPREAD_S = 300.0
WHO_SETS_IT = "The operator of this server sets it under `limits`."


def explain_refusal(refused: LimitRefusal, currency: str = "USD") -> errors.LimitExceeded:
    standing, rule = refused.standing, refused.standing.rule
    name, number = standing.key.limit, describe_rule(rule, currency)
    wait = max(1, math.ceil(standing.opens_at - refused.now))
    if refused.cause == "queue_full":
        text = f"The limit {name!r} of {number} is reached, and its queue is full. Try again in a moment. {WHO_SETS_IT}"
        return errors.QueueFull(text, limit=name)
    if refused.cause == "queue_timeout":
        text = f"The limit {name!r} of {number} is reached, and waiting for it took too long. Try again later."
        return errors.QueueTimeout(f"{text} {WHO_SETS_IT}", limit=name)
    if rule.window is None:
        text = f"The limit {name!r} of {number} is reached. Wait until a run ends, or stop one. {WHO_SETS_IT}"
        return errors.ConcurrencyLimitExceeded(text, limit=name)
    if rule.is_budget:
        opening = format_opening(standing, wait)
        text = f"The budget {name!r} of {number} {describe_left(refused, currency)} It opens again {opening}."
        return errors.BudgetExceeded(f"{text} {WHO_SETS_IT}", limit=name, retry_after=spread_wait(standing, wait))
    text = f"The limit {name!r} of {number} is reached. Try again in {format_seconds(wait)}. {WHO_SETS_IT}"
    return errors.RateLimitExceeded(text, limit=name, retry_after=spread_wait(standing, wait), counted=rule.kind.header)


def describe_left(refused: LimitRefusal, currency: str) -> str:
    rule, left = refused.standing.rule, refused.standing.left
    if not left or refused.amount <= left:
        return "is used up."
    wanted = rule.kind.format(refused.amount, currency)
    return f"has {rule.kind.format(left, currency)} left, and this call may need {wanted}."


def spread_wait(standing: Standing, wait: int) -> int:
    """Up to a tenth longer if the counter is shared by everyone: otherwise all clients would return at once."""
    if standing.key.subject != EVERYONE:
        return wait
    return wait + round(random.uniform(0, min(wait / 10, MAX_SPREAD_S)))  # noqa: S311  # not a secret


def explain_too_large(charge: Charge, currency: str = "USD") -> errors.RequestTooLarge:
    """For a charge that is larger than the whole limit, so that it can never be admitted."""
    wanted = charge.rule.kind.format(charge.amount, currency)
    return errors.RequestTooLarge(
        f"This request may need {wanted}; the limit {charge.key.limit!r} is {describe_rule(charge.rule, currency)}. "
        f"Send less, or ask for a shorter answer with `max_tokens`. {WHO_SETS_IT}",
        limit=charge.key.limit,
    )


def describe_rule(rule: LimitRule, currency: str) -> str:
    number = rule.kind.format(rule.most, currency)
    return f"{number} {rule.window.phrase}" if rule.window else number


def format_opening(standing: Standing, wait: int) -> str:
    window = standing.rule.window
    if isinstance(window, CalendarWindow):
        opening = datetime.fromtimestamp(standing.opens_at, find_zone(window.zone))
        return f"at {opening:%Y-%m-%d %H:%M} ({window.zone})"
    return f"in {format_seconds(wait)}"


def headers_of(standings: Iterable[Standing], now: float) -> dict[str, str]:
    """Those of the limits with the least left, one for requests and one for tokens."""
    found: dict[str, str] = {}
    lowest: dict[str, Standing] = {}
    for one in standings:
        header = one.rule.kind.header
        if header and one.rule.window and (header not in lowest or one.left < lowest[header].left):
            lowest[header] = one
    write = LIMIT_HEADERS.get()
    for name, one in lowest.items():
        found |= write(LimitLevel(name, one.rule.most, one.left, one.opens_at, now))
    named = min(standings, key=lambda one: one.left / max(1, one.rule.most), default=None)
    return found | ({"x-rightseat-limit": named.key.limit} if named else {})


def headers_of_refusal(refused: LimitRefusal, error: errors.LimitExceeded) -> dict[str, str]:
    found = headers_of([refused.standing], refused.now) | {"x-rightseat-limit": error.limit}
    found["retry-after"] = str(error.retry_after)
    return found | ({"x-should-retry": "false"} if isinstance(error, errors.BudgetExceeded) else {})
