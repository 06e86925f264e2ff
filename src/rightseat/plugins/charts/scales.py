"""Where values stand on an axis, and which of them are written beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

SMALLEST = 1e-200  # what is less is drawn as nothing


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to a share of the axis, 0 at its start and 1 at its end."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        if self.is_log:
            low, high = math.log10(self.low), math.log10(self.high)
            return (math.log10(value) - low) / (high - low)
        return (value - self.low) / (self.high - self.low)


def linear(values: Sequence[float], with_zero: bool, most: int = 6) -> Scale:
    """Ends and ticks on round numbers. Bars begin at zero, or they lie about their length."""
    low, high = min(values), max(values)
    if with_zero:
        low, high = min(low, 0), max(high, 0)
    largest = max(abs(low), abs(high))
    if largest < SMALLEST:
        low, high = 0, 1
    elif high - low <= largest * 1e-9:  # as good as one value
        low, high = low - largest / 10, high + largest / 10
    step = nice((high - low) / max(1, most - 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 2 - math.floor(math.log10(step))
    ticks = tuple(round(at * step, digits) for at in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def logarithmic(values: Sequence[float]) -> Scale:
    first = math.floor(math.log10(min(values)))
    last = math.ceil(math.log10(max(values)))
    last += first == last
    every = max(1, math.ceil((last - first) / 8))
    return Scale(10.0**first, 10.0**last, tuple(10.0**at for at in range(first, last + 1, every)), is_log=True)


def nice(rough: float) -> float:
    """The next 1, 2, 2.5 or 5 with noughts."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * 0.999)


def written(value: float) -> str:
    """As short as it can be said: 1,200 and 3.5M, not 1200.0 and 3500000."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    if abs(value) < 1:
        return f"{value:.4g}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")
