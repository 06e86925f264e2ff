"""The windows of limits: which amounts count at a time, and when they stop counting. Times are unix seconds.

A window counts amounts in buckets. A day or a month is one bucket. Any other window slides: it has six steps, and the
current step and the six before it count, so no period of the window's length holds more than the limit, and an amount
stops counting at most a sixth of the window late.
"""

import math
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

CalendarUnit = Literal["day", "month"]
STEPS = 6
LONG_SECONDS = 3600.0
"""A longer window is a budget: clients should not retry by themselves."""


class Window(Protocol):
    @property
    def name(self) -> str:
        """Unique for each window of a limit; a part of the key of its counters."""
        ...

    @property
    def phrase(self) -> str:
        """The window in a message, such as `per day`."""
        ...

    @property
    def is_long(self) -> bool: ...

    def bucket(self, at: float) -> int:
        """The bucket that an amount at this time belongs to."""
        ...

    def is_live(self, bucket: int, at: float) -> bool:
        """Whether the amounts of the bucket count at this time."""
        ...

    def start(self, bucket: int) -> float: ...

    def span(self, bucket: int) -> tuple[float, float]:
        """The period in which amounts are added to the bucket."""
        ...

    def end(self, bucket: int) -> float:
        """From this time on, the amounts of the bucket do not count any more."""
        ...


class SlidingWindow(msgspec.Struct, frozen=True):
    seconds: int

    @property
    def name(self) -> str:
        return f"{self.seconds}s"

    @property
    def phrase(self) -> str:
        known = {60: "per minute", 3600: "per hour"}
        return known.get(self.seconds) or f"in {format_seconds(self.seconds)}"

    @property
    def is_long(self) -> bool:
        return self.seconds > LONG_SECONDS

    def bucket(self, at: float) -> int:
        return math.floor(at * STEPS / self.seconds)

    def is_live(self, bucket: int, at: float) -> bool:
        return self.bucket(at) - STEPS <= bucket

    def start(self, bucket: int) -> float:
        return bucket * self.seconds / STEPS

    def span(self, bucket: int) -> tuple[float, float]:
        return self.start(bucket), self.start(bucket + 1)

    def end(self, bucket: int) -> float:
        return (bucket + STEPS + 1) * self.seconds / STEPS


class CalendarWindow(msgspec.Struct, frozen=True):
    """A day or a month of a time zone. A day has 23 or 25 hours where the clocks change."""

    unit: CalendarUnit
    zone: str = "UTC"

    @property
    def name(self) -> str:
        return self.unit

    @property
    def phrase(self) -> str:
        return f"per {self.unit}"

    @property
    def is_long(self) -> bool:
        return True

    def bucket(self, at: float) -> int:
        start, end = find_calendar_period(self.unit, self.zone, math.floor(at / PERIOD_GRID_S) * PERIOD_GRID_S)
        return start if start <= at < end else find_first_second(self.unit, self.zone, at)

    def is_live(self, bucket: int, at: float) -> bool:
        return bucket >= self.bucket(at)

    def start(self, bucket: int) -> float:
        return float(bucket)

    def span(self, bucket: int) -> tuple[float, float]:
        return float(bucket), self.end(bucket)

    def end(self, bucket: int) -> float:
        return find_calendar_end(self.unit, self.zone, bucket)


PERIOD_GRID_S = 900
"""Times of a quarter of an hour share a cached period: Python's arithmetic of dates takes 10 us for each of them."""


@lru_cache(maxsize=1000)
def find_calendar_period(unit: CalendarUnit, zone: str, at: int) -> tuple[int, float]:
    """The day or month of a time, from its first second to the first one after it."""
    start = find_first_second(unit, zone, at)
    return start, find_calendar_end(unit, zone, start)


@lru_cache(maxsize=1000)
def find_calendar_end(unit: CalendarUnit, zone: str, start: int) -> float:
    first = datetime.fromtimestamp(start, find_zone(zone))
    later = timedelta(days=1 if unit == "day" else 32)  # wall-clock time: the zone's offset may change
    return find_first_time(unit, first + later).timestamp()


def find_first_second(unit: CalendarUnit, zone: str, at: float) -> int:
    return math.floor(find_first_time(unit, datetime.fromtimestamp(at, find_zone(zone))).timestamp())


def find_first_time(unit: CalendarUnit, time: datetime) -> datetime:
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return midnight if unit == "day" else midnight.replace(day=1)


def find_zone(name: str) -> tzinfo:
    """Raises `ValueError` for an unknown time zone."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(f"no time zone is named {name!r}") from error


def format_seconds(seconds: float) -> str:
    """A duration as OpenAI's headers have it: `12s`, `6m0s`, `1h0m0s`."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
