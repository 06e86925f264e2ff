"""`python -m tests.fuzz [TARGET...] [--minutes 30] [--seed N] [--count N]`: fuzz by hand.

The time is shared out evenly among the targets, each after another. Without `--minutes`, `--count` cases of each
target are run from the seed on, 1 if nothing else is said.
"""

import argparse
import asyncio
import itertools
import logging
import os
import sys
import tempfile
import time

from tests.fuzz.engine import Figures, Target, run
from tests.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"one of {', '.join(TARGETS)}; all without any")
    parser.add_argument("--minutes", type=float, help="for all targets together")
    parser.add_argument("--seed", type=int, default=0, help="the first; the next case has the next one")
    parser.add_argument("--count", type=int, default=1, help="cases of each target, without --minutes")
    asked = parser.parse_args()
    unknown = sorted(set(asked.targets) - set(TARGETS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}. Targets: {', '.join(TARGETS)}")
    logging.getLogger().addHandler(logging.NullHandler())  # what is logged as an error is collected and shown
    chosen = [TARGETS[name] for name in asked.targets or TARGETS]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where a server without a configuration file keeps its state
        return report(chosen, asked.seed, asked.count, asked.minutes)


def report(chosen: list[Target], seed: int, count: int, minutes: float | None) -> int:
    every: list[Figures] = []
    end = time.monotonic() + 60 * (minutes or 0)
    for place, target in enumerate(chosen):
        if minutes is None:
            figures = asyncio.run(run(target, range(seed, seed + count)))
        else:
            now = time.monotonic()
            figures = asyncio.run(run(target, itertools.count(seed), now + (end - now) / (len(chosen) - place)))
        every.append(figures)
        show(figures)
    cases, failed = sum(one.cases for one in every), sum(one.failed for one in every)
    say(f"fuzz: {cases - failed:,} passed, {failed:,} failed")
    return bool(failed)


def show(figures: Figures) -> None:
    say(
        f"{figures.target}: {figures.cases:,} cases, {figures.crashes} crashes, {figures.stalls} stalls, "
        f"slowest {1000 * figures.slowest_s:.0f} ms of CPU time (seed {figures.slowest_seed})"
    )
    for failure in figures.failures.values():
        say(f"\n{failure}\n")


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
