"""`python -m tests.simulation SEED [--loss | --limits] [--count N]`: play schedules again, and say what befell them."""

import argparse
import sys
import time

from tests.simulation.limits.limit_world import play_many_limits
from tests.simulation.world import play_many


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("seed", type=int)
    parser.add_argument("--loss", action="store_true", help="Redis comes back empty, once")
    parser.add_argument("--count", type=int, default=1, help="so many, from that seed on; only what fails is shown")
    parser.add_argument("--limits", action="store_true", help="a schedule of limits")
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.count)
    began, failed = time.process_time(), 0
    for verdict in play_many_limits(seeds) if asked.limits else play_many(seeds, losing_log=asked.loss):
        failed += bool(verdict.problems)
        if verdict.problems or asked.count == 1:
            print(verdict)  # noqa: T201
    spent = time.process_time() - began
    print(f"{asked.count - failed} passed, {failed} failed, {1000 * spent / asked.count:.1f} ms of CPU each")  # noqa: T201
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
