"""The windows of limits: which amounts count at a time, and when they stop counting. Times are unix seconds.

A window counts amounts in buckets. A day or a month is one bucket. Any other window slides: it has six steps, and the
current step and the six before it count, so no period of the window's length holds more than the limit, and an amount
stops counting at most a sixth of the window late.
"""

import math
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

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

    def end(self, bucket: int) -> float:
        return (bucket + STEPS + 1) * self.seconds / STEPS


class CalendarWindow(msgspec.Struct, frozen=True):
    """A day or a month of a time zone. A day has 23 or 25 hours where the clocks change."""

    unit: Literal["day", "month"]
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
        return math.floor(self._first(datetime.fromtimestamp(at, find_zone(self.zone))).timestamp())

    def is_live(self, bucket: int, at: float) -> bool:
        return bucket >= self.bucket(at)

    def start(self, bucket: int) -> float:
        return float(bucket)

    def end(self, bucket: int) -> float:
        first = datetime.fromtimestamp(bucket, find_zone(self.zone))
        later = timedelta(days=1 if self.unit == "day" else 32)  # wall-clock time: the zone's offset may change
        return self._first(first + later).timestamp()

    def _first(self, time: datetime) -> datetime:
        midnight = time.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        return midnight if self.unit == "day" else midnight.replace(day=1)


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
