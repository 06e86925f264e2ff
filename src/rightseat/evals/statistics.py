"""The statistics of results: exact tests over cases, and intervals. The case is the unit, not the attempt."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

RESAMPLES = 10_000
SIGNIFICANCE = 0.05
MAX_EXACT_CASES = 2000
"""Beyond, the sums of a sign-flip test are too many to count, and the normal distribution is exact enough."""


def sign_flip_p_value(differences: Sequence[Fraction]) -> float:
    """Of all ways to flip the signs of the differences, the share at least as far from 0. McNemar's exact test for 0, 1
    and -1. The differences are multiples of a common fraction, so the sums are counted instead of sampled."""
    scale = math.lcm(*(difference.denominator for difference in differences))
    steps = [abs(int(difference * scale)) for difference in differences if difference]
    observed = abs(int(sum(differences, Fraction()) * scale))
    if not steps:
        return 1.0
    if len(steps) > MAX_EXACT_CASES or sum(steps) * len(steps) > 10_000_000:
        return math.erfc((observed - 0.5) / math.sqrt(2 * sum(step * step for step in steps)))
    ways = [1]  # how many choices of signs have the sum `index`, when each flipped step adds itself
    for step in steps:
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - step] if total >= step else 0)
            for total in range(len(ways) + step)
        ]
    whole = sum(steps)
    extreme = sum(count for total, count in enumerate(ways) if abs(2 * total - whole) >= observed)
    return float(Fraction(extreme, 2 ** len(steps)))


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """The 95 % interval of the mean, by drawing the values again with replacement. The same values give the same."""
    if not values:
        return 0.0, 0.0
    draw = random.Random(seed)  # noqa: S311  # no secret
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES))
    return means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


def wilson_interval(passed: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if count == 0:
        return 0.0, 1.0
    z = 1.959964
    share = passed / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def cases_to_show_a_difference() -> int:
    """How many cases have to differ, all in one direction, for a p below the level."""
    return next(count for count in range(1, 100) if 2 / 2**count < SIGNIFICANCE)
