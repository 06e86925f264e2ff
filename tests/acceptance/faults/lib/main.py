"""run [--url URL] [--list] [--all] [--json FILE] [--quick] [--runs N] [--cycles N] [--lease S] [--slack S] [--load N] [--where-possible] [--keep] [SCENARIO ...]"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from judge import Finding, Limits
from scenarios import SCENARIOS
from stage import Settings, World

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
QUICK = ("kill9", "kill-between-effect-and-checkpoint", "pause", "laptop-kill9")


def main() -> int:
    options = read_options()
    wanted = options.scenarios or (list(QUICK) if options.quick else [])
    chosen, left = choose(SCENARIOS, wanted), []
    if options.list:
        for scenario in chosen:
            print(f"{scenario.name:38} {scenario.about}")
        return 0
    if not (options.scenarios or options.all):
        chosen, left = leave_out(chosen, read_skips(SUITE, SCENARIOS.__contains__))
    if options.reference:
        fail("no peer makes this promise: there is no reference")
    random.seed(options.seed)
    settings = Settings(
        options.runs,
        min(30, options.runs),
        options.lease,
        options.load,
        options.cycles,
        slack=options.slack,
        where_possible=options.where_possible,
    )
    folder = Path(tempfile.mkdtemp(prefix="rightseat-faults-"))
    folder.chmod(0o755)
    began = time.monotonic()
    try:
        work = judge_url(folder, settings, options.url) if options.url else judge_all(folder, settings, chosen)
        outcomes = left + uvloop.run(interruptible(work))
    except Missing as missing:
        fail(str(missing))
    except asyncio.CancelledError:
        shutil.rmtree(folder, ignore_errors=True)
        return 130
    code = conclude("faults", outcomes, began, options.json, target=options.url or "rightseat")
    leave_folder(folder, bool(code or options.keep))
    return code


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside whether rightseat's runs survive.")
    add_options(parser)
    parser.add_argument(
        "--url",
        help="base URLs (…/copilotkit), with commas, of replicas that run already: only their clients can be made to suffer",
    )
    parser.add_argument("--reference", action="store_true", help="there is none")
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument("--quick", action="store_true", help="20 runs, a lease of 3 s, the four main scenarios")
    parser.add_argument("--runs", type=int, help="runs of kill9, at most 30 of them in the others (100)")
    parser.add_argument(
        "--cycles",
        type=int,
        default=1,
        help="how often kill9 kills, and how often any other scenario is repeated; stops at the first failure (1)",
    )
    parser.add_argument("--lease", type=float, help="RS_LEASE_SECONDS (5)")
    parser.add_argument(
        "--slack", type=float, default=0.0, help="seconds by which a run may be silent for longer, on a busy machine (0)"
    )
    parser.add_argument(
        "--where-possible", action="store_true", help="leave out what needs a service that is not installed"
    )
    parser.add_argument("--load", type=float, default=2000, help="tokens a second over all runs (2000)")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    options = parser.parse_args()
    options.runs = options.runs or (20 if options.quick else 100)
    options.lease = options.lease or (3.0 if options.quick else 5.0)
    return options


async def interruptible(work: Coroutine[None, None, list[Outcome]]) -> list[Outcome]:
    cancel_on_signals()
    return await work


async def judge_all(folder: Path, settings: Settings, chosen: list[Scenario]) -> list[Outcome]:
    world, outcomes = World(folder, settings), []
    await world.fakes.start()
    try:
        for scenario in chosen:
            repeats = settings.cycles if scenario.name != "kill9" else 1
            for _ in range(repeats):
                try:
                    outcomes.append(await judge_one(scenario.name, scenario.run(world)))
                except Missing as missing:
                    if not settings.where_possible:
                        raise
                    outcomes.append(report(Outcome(scenario.name, "skip", str(missing))))
                    break
                if repeats > 1 and outcomes[-1].outcome == "FAIL":
                    break
    finally:
        await world.stop()
    return outcomes


async def judge_url(folder: Path, settings: Settings, urls: str) -> list[Outcome]:
    """Of servers that are not ours only the clients can misbehave. The fakes stand where the servers were told they would."""
    port = urlsplit(os.environ.get("RS_UPSTREAM_OPENAI", "")).port
    if not port:
        raise Missing(
            "with --url set RS_UPSTREAM_OPENAI (and RS_TOOL_URL, same port) to what the servers were started with"
        )
    world = World(folder, settings)
    await world.fakes.start(port)

    async def churn() -> Finding:
        async with world.given(urls.split(",")) as stage:
            began = time.monotonic()
            await stage.crowd(min(20, settings.small), churn=0.1)
            await stage.finish()
            return await stage.judge(began, None, Limits(2, 3))

    try:
        return [await judge_one("client-churn", churn())]
    finally:
        await world.stop()


async def judge_one(name: str, work: Awaitable[Finding]) -> Outcome:
    began, found = time.monotonic(), Finding()
    try:
        found = await asyncio.wait_for(work, 3600)
    except Missing:
        raise
    except Exception as error:
        found.note(f"{type(error).__name__}: {error}")
    wrong = "; ".join(f"{problem} ({times}x)" for problem, times in found.problems.most_common())
    figures = {"problems": dict(found.problems), **found.figures}
    outcome = "FAIL" if found.problems else "ok"
    return report(Outcome(name, outcome, wrong, str(found), time.monotonic() - began, figures))


if __name__ == "__main__":
    sys.exit(main())
