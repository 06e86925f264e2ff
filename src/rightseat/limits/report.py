"""The reports of usage and limits as JSON, for the face `usage` and for the command line."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rightseat.core.types import JsonValue
from rightseat.limits.kinds import NANO, UsageCounts
from rightseat.limits.rules import LimitRule, Limits, Subject
from rightseat.limits.store import CounterRow, UsageQuery, UsageRow
from rightseat.limits.windows import find_zone

COUNT_NAMES = UsageCounts.__struct_fields__
Subjects = Mapping[Subject, str]
"""Whose counters a request may see: its user and its key."""


def report_usage(query: UsageQuery, rows: Sequence[UsageRow], currency: str) -> dict[str, JsonValue]:
    return {
        "since": query.since.isoformat() if query.since else None,
        "until": query.until.isoformat() if query.until else None,
        "currency": currency,
        "rows": describe_rows(query, rows),
    }


def describe_rows(query: UsageQuery, rows: Sequence[UsageRow]) -> list[JsonValue]:
    return [{**dict(zip(query.by, row.group, strict=True)), **describe_counts(row.counts)} for row in rows]


def describe_counts(counts: UsageCounts) -> dict[str, JsonValue]:
    return {name: getattr(counts, name) for name in COUNT_NAMES} | {"cost": counts.cost / NANO}


def describe_counters(
    limits: Limits, now: float, rows: Sequence[CounterRow], zone: str, own: Subjects | None
) -> Iterator[dict[str, JsonValue]]:
    """Those of configured limits; with `own` only those of these subjects."""
    kinds = {limit.name: limit.subject for limit in limits.limits}
    for row in rows:
        rule = limits.find_rule(row.key)
        if rule is None or (own is not None and own.get(kinds[row.key.limit]) != row.key.subject):
            continue
        yield describe_counter(row, rule, now, zone)


def describe_counter(row: CounterRow, rule: LimitRule, now: float, zone: str) -> dict[str, JsonValue]:
    """Amounts of cost are in the currency. For concurrent runs, `running` is what is in use."""
    window = rule.window
    live = sorted(one for one in row.buckets if window is None or window.is_live(one, now))
    used, reserved = (sum(row.buckets[one][part] for one in live) for part in (0, 1))
    found: dict[str, JsonValue] = {"limit": row.key.limit, "subject": row.key.subject, "kind": rule.kind.name}
    if window is None:
        return found | {"most": rule.most, "used": 0, "reserved": 0, "running": reserved, "waiting": row.waiting}
    first, last = (live[0], live[-1]) if live else (window.bucket(now), window.bucket(now))
    amounts = {"most": rule.most, "used": used, "reserved": reserved}
    times = {"window_start": format_time(window.start(first), zone), "resets_at": format_time(window.end(last), zone)}
    shown = {name: rule.kind.scale(amount) for name, amount in amounts.items()}
    return found | times | shown | {"running": 0, "waiting": row.waiting}


def share_left(counter: Mapping[str, Any]) -> float:
    """What is left of a described counter, from 0 to 1. More may be used than the limit has, if a provider says so."""
    taken: float = counter["used"] + counter["reserved"] + counter["running"]
    return 1 - taken / float(counter["most"])


def format_time(at: float, zone: str) -> str:
    """ISO 8601 in this time zone, to the second."""
    return datetime.fromtimestamp(at, find_zone(zone)).isoformat(timespec="seconds")
