"""run [--url URL] [--list] [--all] [--json FILE] [--quick] [--runs N] [--cycles N] [--lease S] [--slack S] [--load N] [--where-possible] [--keep] [SCENARIO ...]"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from urllib.parse import urlsplit

import fleet
import uvloop
from judge import Finding, Limits
from scenarios import SCENARIOS
from services import Missing
from stage import Settings, World

QUICK = ("kill9", "kill-between-effect-and-checkpoint", "pause", "laptop-kill9")


def main() -> int:
    options = read_options()
    names, left = options.scenario or list(QUICK if options.quick else SCENARIOS), skips()
    if unknown := [name for name in (*names, *left) if name not in SCENARIOS]:
        print(f"no such scenario: {', '.join(unknown)}", file=sys.stderr)
        return 2
    if options.list:
        for name in names:
            print(f"{name:38} {SCENARIOS[name].__doc__}")
        return 0
    if not (options.scenario or options.all):
        for name in [name for name in names if name in left]:
            print(f"skip   {name:36} {left[name]}", flush=True)
        names = [name for name in names if name not in left]
    if options.reference:
        print("no peer makes this promise: there is no reference", file=sys.stderr)
        return 2
    if not options.url and not fleet.SERVE.exists():
        print(f"{fleet.SERVE} is not here: run the suite from the project's root", file=sys.stderr)
        return 2
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
        work = judge_url(folder, settings, options.url) if options.url else judge_all(folder, settings, names)
        outcomes = uvloop.run(interruptible(work))
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    except asyncio.CancelledError:
        shutil.rmtree(folder, ignore_errors=True)
        return 130
    failed = sum(outcome["outcome"] == "FAIL" for outcome in outcomes)
    if options.json:
        summary = {
            "suite": "faults",
            "target": options.url or "rightseat",
            "seconds": round(time.monotonic() - began, 1),
            "passed": len(outcomes) - failed,
            "failed": failed,
            "scenarios": outcomes,
        }
        Path(options.json).write_text(json.dumps(summary, indent=2) + "\n")
    if failed or options.keep:
        print(f"the servers' logs are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def skips() -> dict[str, str]:
    """Scenarios that are left out for now, and why."""
    lines = (Path(__file__).resolve().parent.parent / "skips.txt").read_text().splitlines()
    return dict(line.split(None, 1) for line in lines if line.strip() and not line.startswith("#"))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside whether rightseat's runs survive.")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument(
        "--url",
        help="base URLs (…/copilotkit), with commas, of replicas that run already: only their clients can be made to suffer",
    )
    parser.add_argument("--reference", action="store_true", help="there is none")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument("--json", metavar="FILE")
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


async def interruptible(work: Coroutine[None, None, list[dict]]) -> list[dict]:
    """On SIGINT and SIGTERM what was started is ended first."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    return await work


async def judge_all(folder: Path, settings: Settings, names: list[str]) -> list[dict]:
    world, outcomes = World(folder, settings), []
    await world.fakes.start()
    try:
        for name in names:
            repeats = settings.cycles if name != "kill9" else 1
            for _ in range(repeats):
                try:
                    outcomes.append(await judge_one(name, SCENARIOS[name](world)))
                except Missing as missing:
                    if not settings.where_possible:
                        raise
                    print(f"skip   {name:36} {missing}", flush=True)
                    break
                if repeats > 1 and outcomes[-1]["outcome"] == "FAIL":
                    break
    finally:
        await world.stop()
    return outcomes


async def judge_url(folder: Path, settings: Settings, urls: str) -> list[dict]:
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


async def judge_one(name: str, work: Awaitable[Finding]) -> dict:
    began, found = time.monotonic(), Finding()
    try:
        found = await asyncio.wait_for(work, 3600)
    except Missing:
        raise
    except Exception as error:
        found.note(f"{type(error).__name__}: {error}")
    seconds = time.monotonic() - began
    outcome = "FAIL" if found.problems else "ok"
    wrong = "; ".join(f"{problem} ({times}x)" for problem, times in found.problems.most_common())
    print(f"{outcome:6} {name:36} {wrong + ' | ' if wrong else ''}{found} ({seconds:.0f} s)", flush=True)
    return {
        "name": name,
        "outcome": outcome,
        "seconds": round(seconds, 1),
        "problems": dict(found.problems),
        "figures": found.figures,
    }


if __name__ == "__main__":
    sys.exit(main())
