"""run [--quick] [--list] [--json FILE] [--reference] [--break WHAT] [--serve FILE] [--command FILE] [SCENARIO ...]"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from tests.acceptance._lib.modules import add_modules
from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, cancel_on_signals, choose, conclude, fail, leave_folder, leave_out, read_skips, report
from tests.acceptance._lib.services import Missing

add_modules("speed")  # its faces
from scenarios import QUICK, SCENARIOS  # noqa: E402
from stage import Finding, World  # noqa: E402

SUITE = Path(__file__).resolve().parent.parent
REFERENCE = [sys.executable, str(Path(__file__).parent / "reference.py")]


def main() -> int:
    options = read_options()
    chosen, left = choose(SCENARIOS, options.scenarios or (QUICK if options.quick else [])), []
    if not (options.all or options.scenarios or options.reference or options.broken):
        chosen, left = leave_out(chosen, read_skips(SUITE, SCENARIOS.__contains__), options.list)
    if options.list:
        for one in chosen:
            print(f"{one.name:26} {one.about}")
        return 0
    serve, command = [str(Path(options.serve).resolve())], [str(Path(options.command).resolve())]
    if options.reference or options.broken:
        serve, command = [*REFERENCE, "serve"], [*REFERENCE, "command"]
        os.environ["RS_BROKEN"] = options.broken or ""
    elif not Path(options.serve).exists():
        fail(f"{options.serve} is not here")
    random.seed(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="rightseat-limits-"))
    folder.chmod(0o755)
    began = time.monotonic()
    try:
        outcomes = left + uvloop.run(judge_all(World(folder, serve, command, options.quick), chosen))
    except Missing as missing:
        fail(str(missing))
    except asyncio.CancelledError:
        return 130
    code = conclude("limits", outcomes, began, options.json, target="reference" if options.reference or options.broken else "rightseat")
    leave_folder(folder, bool(code or options.keep))
    return code


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside whether rightseat's limits and budgets hold.")
    add_options(parser)
    parser.add_argument("--quick", action="store_true", help="the main ones, fewer cycles; under two minutes")
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument("--reference", action="store_true", help="judge lib/reference.py, a small gateway that keeps the contract")
    parser.add_argument("--break", dest="broken", metavar="WHAT", help="judge it with a fault: race, leak, twice, fixed, after, unfair; must fail")
    parser.add_argument("--serve", default="tests/acceptance/serve")
    parser.add_argument("--command", default="tests/acceptance/command")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


async def judge_all(world: World, chosen: list[Scenario]) -> list[Outcome]:
    cancel_on_signals()
    await world.model.start()
    try:
        return [report(await judge(world, scenario)) for scenario in chosen]
    finally:
        await world.stop()


async def judge(world: World, scenario: Scenario) -> Outcome:
    began, found = time.monotonic(), Finding()
    try:
        found = await asyncio.wait_for(scenario.run(world), 300)
    except Missing:
        raise
    except Exception as error:
        found = Finding.latest
        found.problems.append(f"{type(error).__name__}: {error}"[:300])
    more = f"; and {len(found.problems) - 3} more" if len(found.problems) > 3 else ""
    figures = " ".join(f"{key} {value}" for key, value in found.figures.items())
    outcome = "FAIL" if found.problems else "ok"
    return Outcome(scenario.name, outcome, "; ".join(found.problems[:3]) + more, figures, time.monotonic() - began, {"problems": found.problems, **found.figures})


if __name__ == "__main__":
    sys.exit(main())
