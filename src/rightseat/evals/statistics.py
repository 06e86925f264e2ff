"""The statistics of results: exact tests over cases, and intervals. The case is the unit, not the attempt."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

RESAMPLES = 10_000
SIGNIFICANCE = Fraction(1, 20)
MAX_ADDITIONS = 2_000_000
"""Of a sign-flip test, about a second. Beyond, the normal distribution takes the place of the counted sums."""


def sign_flip_p_value(differences: Sequence[Fraction]) -> float:
    """Of all ways to flip the signs of the differences, the share at least as far from 0. McNemar's exact test for 0, 1
    and -1. The differences are multiples of a common fraction, so the sums are counted instead of sampled."""
    scale = math.lcm(*(difference.denominator for difference in differences))
    steps = [abs(int(difference * scale)) for difference in differences if difference]
    observed = abs(int(sum(differences, Fraction()) * scale))
    ways = {0: 1}  # by their sum
    additions = 0
    for step in steps:
        after: dict[int, int] = {}
        for total, count in ways.items():
            for flipped in (total + step, total - step):
                after[flipped] = after.get(flipped, 0) + count
        ways = after
        additions += 2 * len(ways)
        if additions > MAX_ADDITIONS:
            return math.erfc(observed / math.sqrt(2 * sum(step * step for step in steps)))
    extreme = sum(count for total, count in ways.items() if abs(total) >= observed)
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


def agreement_to_show_a_difference(differing: int) -> tuple[int, int]:
    """How many cases have to agree, of how many that differ, for a p below the level: at least 6 of 6."""
    count = max(differing, 6)
    tail = 0
    for against in range(count):
        tail += math.comb(count, against)
        if 2 * tail >= SIGNIFICANCE * Fraction(2) ** count:
            return count - against + 1, count
    raise AssertionError("half of the cases are never too few")
