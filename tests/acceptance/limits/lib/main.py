"""run [--quick] [--list] [--json FILE] [--reference] [--break WHAT] [--serve FILE] [--command FILE] [SCENARIO ...]"""

import siblings  # noqa: F401, I001

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
from pathlib import Path

import uvloop
from scenarios import QUICK, SCENARIOS
from services import Missing
from stage import Finding, World

REFERENCE = [sys.executable, str(Path(__file__).parent / "reference.py")]


def main() -> int:
    options = read_options()
    skipped = {} if options.all or options.scenario or options.reference or options.broken else skips()
    if unknown := [name for name in skipped if name not in SCENARIOS]:
        print(f"skips.txt names no scenario: {', '.join(unknown)}", file=sys.stderr)
        return 2
    names = options.scenario or [name for name in (QUICK if options.quick else SCENARIOS) if name not in skipped]
    if unknown := [name for name in names if name not in SCENARIOS]:
        print(f"no such scenario: {', '.join(unknown)}", file=sys.stderr)
        return 2
    if options.list:
        for name in names:
            print(f"{name:26} {SCENARIOS[name].__doc__}")
        return 0
    serve, command = [str(Path(options.serve).resolve())], [str(Path(options.command).resolve())]
    if options.reference or options.broken:
        serve, command = [*REFERENCE, "serve"], [*REFERENCE, "command"]
        os.environ["RS_BROKEN"] = options.broken or ""
    elif not Path(options.serve).exists():
        print(f"{options.serve} is not here: run the suite from the project's root", file=sys.stderr)
        return 2
    random.seed(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="rightseat-limits-"))
    folder.chmod(0o755)
    began = time.monotonic()
    try:
        outcomes = uvloop.run(judge_all(World(folder, serve, command, options.quick), names))
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    except asyncio.CancelledError:
        return 130
    failed = sum(outcome["outcome"] == "FAIL" for outcome in outcomes)
    if options.json:
        target = "reference" if options.reference or options.broken else "rightseat"
        summary = {"suite": "limits", "target": target, "seconds": round(time.monotonic() - began, 1), "passed": len(outcomes) - failed, "failed": failed, "scenarios": outcomes}
        Path(options.json).write_text(json.dumps(summary, indent=1, default=str) + "\n")
    if failed or options.keep:
        print(f"the servers' logs are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def skips() -> dict[str, str]:
    """Scenarios that rightseat does not pass yet, and why."""
    lines = (Path(__file__).resolve().parent.parent / "skips.txt").read_text().splitlines()
    return dict(line.split("  ", 1) for line in lines if line.strip() and not line.startswith("#"))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside whether rightseat's limits and budgets hold.")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("--quick", action="store_true", help="the main ones, fewer cycles; under two minutes")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--reference", action="store_true", help="judge lib/reference.py, a small gateway that keeps the contract")
    parser.add_argument("--break", dest="broken", metavar="WHAT", help="judge it with a fault: race, leak, twice, fixed, after, unfair; must fail")
    parser.add_argument("--serve", default="tests/acceptance/serve")
    parser.add_argument("--command", default="tests/acceptance/command")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


async def judge_all(world: World, names: list[str]) -> list[dict]:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    await world.model.start()
    outcomes = []
    try:
        for name in names:
            outcomes.append(await judge(world, name))
    finally:
        await world.stop()
    return outcomes


async def judge(world: World, name: str) -> dict:
    began, found = time.monotonic(), Finding()
    try:
        found = await asyncio.wait_for(SCENARIOS[name](world), 300)
    except Missing:
        raise
    except Exception as error:
        found = Finding.latest
        found.problems.append(f"{type(error).__name__}: {error}"[:300])
    seconds, outcome = time.monotonic() - began, "FAIL" if found.problems else "ok"
    more = f"; and {len(found.problems) - 3} more" if len(found.problems) > 3 else ""
    figures = " ".join(f"{key} {value}" for key, value in found.figures.items())
    print(f"{outcome:6} {name:26} {'; '.join(found.problems[:3])}{more}{' | ' if found.problems and figures else ''}{figures} ({seconds:.0f} s)", flush=True)
    return {"name": name, "outcome": outcome, "seconds": round(seconds, 1), "problems": found.problems, "figures": found.figures}


if __name__ == "__main__":
    sys.exit(main())
