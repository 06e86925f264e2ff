"""Counts of runs, model calls and tool calls, for charts. Counts of two periods can be added; memory is bounded."""

import math
from collections.abc import Iterable
from typing import Protocol

from rightseat.core.events import Usage
from rightseat.core.usage import ModelUsage, add_usage
from rightseat.operations.records import RunRecord

MAX_NAMES = 100
"""Different names of one kind in a tally; further names are counted as `OTHER`."""
OTHER = "(other)"
BIN_GROWTH = 1.1  # a quantile is at most 5 % off


class Histogram:
    """Durations, in bins that grow by 10 %: from a millisecond to a day there are about 190."""

    __slots__ = ("bins",)

    def __init__(self) -> None:
        self.bins: dict[int, int] = {}

    def add(self, seconds: float) -> None:
        bin = round(math.log(max(seconds, 0.001), BIN_GROWTH))
        self.bins[bin] = self.bins.get(bin, 0) + 1

    def merge(self, other: "Histogram") -> None:
        for bin, count in other.bins.items():
            self.bins[bin] = self.bins.get(bin, 0) + count

    def quantile(self, fraction: float) -> float | None:
        """In seconds; None without values."""
        left = fraction * sum(self.bins.values())
        for bin in sorted(self.bins):
            left -= self.bins[bin]
            if left <= 0:
                return float(BIN_GROWTH**bin)
        return None


class Tally:
    """The runs of one agent that ended in a period, and the model calls and tool calls that ended in it.

    `outcomes` counts runs by outcome, `errors` failed runs by code. `seconds` are durations of runs, `first_tokens` the
    times from a request to a model to the first chunk of its response.
    """

    __slots__ = ("errors", "first_tokens", "models", "outcomes", "seconds", "tools")

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.errors: dict[str, int] = {}
        self.tools: dict[str, int] = {}
        self.models: dict[tuple[str, str | None], ModelUsage] = {}
        self.seconds = Histogram()
        self.first_tokens = Histogram()

    def add_run(self, outcome: str, error: str | None, seconds: float | None) -> None:
        count(self.outcomes, outcome)
        if error is not None:
            count(self.errors, error)
        if seconds is not None:
            self.seconds.add(seconds)

    def add_tool(self, name: str) -> None:
        count(self.tools, name)

    def add_model(self, used: ModelUsage) -> None:
        key = (used.name, used.model)
        if key not in self.models and len(self.models) >= MAX_NAMES:
            key = (OTHER, None)
        known = self.models.get(key) or ModelUsage(key[0], 0, None, key[1])
        self.models[key] = ModelUsage(key[0], known.calls + used.calls, add_known(known.usage, used.usage), key[1])

    def add_record(self, run: RunRecord) -> None:
        """A stored run that has ended. The table has neither names of tools nor times of first tokens."""
        self.add_run(run.outcome or "failed", run.code, run.seconds)
        for used in run.models:
            self.add_model(used)

    def merge(self, other: "Tally") -> None:
        for mine, theirs in (
            (self.outcomes, other.outcomes),
            (self.errors, other.errors),
            (self.tools, other.tools),
        ):
            for name, number in theirs.items():
                count(mine, name, number)
        for used in other.models.values():
            self.add_model(used)
        self.seconds.merge(other.seconds)
        self.first_tokens.merge(other.first_tokens)


class RecentTallies(Protocol):
    """The tallies of this process for the last day, by minute and agent."""

    @property
    def since(self) -> float:
        """From when on nothing is missing, in seconds since 1970."""
        ...

    def list(self, since: float) -> Iterable[tuple[float, str, Tally]]:
        """(start of the minute in seconds since 1970, agent, its tally), the oldest first."""
        ...

    def running(self) -> dict[str, int]:
        """The active runs of this process, by agent."""
        ...


def count(counts: dict[str, int], name: str, number: int = 1) -> None:
    if name not in counts and len(counts) >= MAX_NAMES:
        name = OTHER
    counts[name] = counts.get(name, 0) + number


def add_known(*parts: Usage | None) -> Usage | None:
    known = [one for one in parts if one is not None]
    return add_usage(*known) if known else None
