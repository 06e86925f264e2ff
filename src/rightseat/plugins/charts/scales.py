"""Axis scales: positions of values, and round tick values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

MIN_MAGNITUDE = 1e-200  # smaller values are drawn as zero


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to a position on the axis, 0 at its start and 1 at its end."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        if self.is_log:
            low, high = math.log10(self.low), math.log10(self.high)
            return (math.log10(value) - low) / (high - low)
        return (value - self.low) / (self.high - self.low)


def build_linear_scale(values: Sequence[float], with_zero: bool, max_ticks: int = 6) -> Scale:
    """Ends and ticks are round numbers. Bars need zero on the scale, or their lengths would mislead."""
    low, high = min(values), max(values)
    if with_zero:
        low, high = min(low, 0), max(high, 0)
    largest = max(abs(low), abs(high))
    if largest < MIN_MAGNITUDE:
        low, high = 0, 1
    elif high - low <= largest * 1e-9:  # as good as one value
        low, high = low - largest / 10, high + largest / 10
    step = round_up_step((high - low) / max(1, max_ticks - 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 2 - math.floor(math.log10(step))
    ticks = tuple(round(at * step, digits) for at in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def build_log_scale(values: Sequence[float]) -> Scale:
    first = math.floor(math.log10(min(values)))
    last = math.ceil(math.log10(max(values)))
    last += first == last
    every = max(1, math.ceil((last - first) / 8))
    return Scale(10.0**first, 10.0**last, tuple(10.0**at for at in range(first, last + 1, every)), is_log=True)


def round_up_step(rough: float) -> float:
    """Return the next 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * 0.999)


def format_number(value: float) -> str:
    """Return a short form: 1,200 and 3.5M, not 1200.0 and 3500000."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    if abs(value) < 1:
        return f"{value:.4g}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")
