"""run [--list] [--json FILE] [--quick] [--all] [--runs N] [--lease S] [--cycles N] [--keep] [SCENARIO ...]"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path

from scenarios import SCENARIOS
from stage import Finding, Settings, World

from tests.acceptance._lib.scenarios import (
    Outcome,
    Scenario,
    add_options,
    cancel_on_signals,
    choose,
    conclude,
    fail,
    leave_folder,
    leave_out,
    read_skips,
    report,
)
from tests.acceptance._lib.services import Missing

SUITE = Path(__file__).resolve().parent.parent
QUICK = (
    *("postgres-restart-8", "postgres-blackhole-8", "kill9-after-outage", "pgbouncer-session", "ready-read-only"),
    *("ready-http-1.0", "disk-full", "disk-full-start", "metrics-names", "chart-switches", "engine-private-names"),
)
LONGEST_S = 600


def main() -> int:
    options = read_options()
    wanted = options.scenarios or (list(QUICK) if options.quick else [])
    chosen, left = choose(SCENARIOS, wanted), []
    if options.list:
        for scenario in chosen:
            print(f"{scenario.name:28} {scenario.about}")
        return 0
    if options.url or options.reference:
        fail("the suite breaks what it has started itself: there is no --url and no --reference")
    if not (options.scenarios or options.all):
        chosen, left = leave_out(chosen, read_skips(SUITE, SCENARIOS.__contains__))
    folder = Path(tempfile.mkdtemp(prefix="rightseat-operations-"))
    folder.chmod(0o755)  # PostgreSQL and PgBouncer run as another user
    began, settings = time.monotonic(), Settings(options.runs, options.lease)
    try:
        outcomes = left + asyncio.run(interruptible(judge_all(folder, settings, chosen * options.cycles)))
    except asyncio.CancelledError:
        shutil.rmtree(folder, ignore_errors=True)
        return 130
    code = conclude("operations", outcomes, began, options.json, target="rightseat")
    leave_folder(folder, bool(code or options.keep))
    return code


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside how rightseat is to operate.")
    add_options(parser)
    parser.add_argument("--url", help="there is none")
    parser.add_argument("--reference", action="store_true", help="there is none")
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument(
        "--quick", action="store_true", help=f"a lease of 3 s, and {len(QUICK)} scenarios if none is named"
    )
    parser.add_argument("--runs", type=int, default=30, help="streaming runs in the outages (30)")
    parser.add_argument("--lease", type=float, help="threads.lease_seconds (5)")
    parser.add_argument("--cycles", type=int, default=1, help="how often the scenarios are played (1)")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    options.lease = options.lease or (3.0 if options.quick else 5.0)
    return options


async def interruptible(work: Coroutine[None, None, list[Outcome]]) -> list[Outcome]:
    cancel_on_signals()
    return await work


async def judge_all(folder: Path, settings: Settings, chosen: list[Scenario]) -> list[Outcome]:
    world = World(folder, settings)
    await world.model.start()
    try:
        return [report(await judge_one(world, scenario)) for scenario in chosen]
    finally:
        await world.stop()


async def judge_one(world: World, scenario: Scenario) -> Outcome:
    began, found = time.monotonic(), Finding()
    try:
        async with world.stage(scenario.name) as stage:
            await asyncio.wait_for(scenario.run(stage, found), LONGEST_S)
    except Missing as missing:
        return Outcome(scenario.name, "skip", str(missing), seconds=time.monotonic() - began)
    except Exception as error:
        found.problems[f"{type(error).__name__}: {str(error)[:300]}"] += 1
    figures = {"problems": dict(found.problems), **found.figures}
    outcome, wrong = "FAIL" if found.problems else "ok", "; ".join(found.problems)
    return Outcome(scenario.name, outcome, wrong, str(found), time.monotonic() - began, figures)


if __name__ == "__main__":
    sys.exit(main())
