"""run [--list] [--all] [--json FILE] [--slack N] [--where-possible] [--keep] [SCENARIO ...]"""

import argparse
import importlib
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import isolation  # noqa: E402
from judging import SCENARIOS, Failed, short  # noqa: E402

from tests.acceptance._lib import scenarios  # noqa: E402
from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, choose, conclude, exit_on_sigterm, leave_folder, leave_out, read_skips, report  # noqa: E402
from tests.acceptance._lib.services import Missing  # noqa: E402

MODULES = (
    *("web", "access", "approvals", "guards", "keeping", "sandbox", "outward", "sql", "bombs", "pages", "fleet", "endings", "freezes"),
    "newer",
    "budgets",
    "secrets_and_sessions",
    "local",
    "reach",
    "old_tables",
)
WORKERS = 3
SUITE = Path(__file__).resolve().parent.parent


def main() -> int:
    options = read_options()
    for name in MODULES:
        importlib.import_module(f"scenarios.{name}")
    chosen, left = choose(SCENARIOS, options.scenarios), []
    if not (options.all or options.scenarios):
        chosen, left = leave_out(chosen, read_skips(SUITE, SCENARIOS.__contains__), options.list)
    if options.list:
        for one in chosen:
            print(f"{one.name:34}{one.about}")
        return 0
    from stage import Stage

    isolation.guard_this_process()
    exit_on_sigterm()
    folder = Path(tempfile.mkdtemp(prefix="rightseat-security-"))
    folder.chmod(0o755)
    began, stage = time.monotonic(), Stage(folder)
    if not stage.isolation:
        print("no network namespace can be made here: addresses other than loopback are left out", file=sys.stderr)
    try:
        outcomes = left + judge_all(stage, chosen, options.where_possible)
    finally:
        stage.stop()
    leave_folder(folder, options.keep)
    return conclude("security", outcomes, began, options.json)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside what rightseat promises of its security.")
    add_options(parser)
    parser.add_argument("--all", action="store_true", help="run those that skips.txt names too")
    parser.add_argument("--slack", type=float, metavar="N", help="every bound of time N times as long, for a busy machine")
    parser.add_argument("--where-possible", action="store_true", help="leave out what needs PostgreSQL or Redis where they are not installed")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the servers' logs")
    return parser.parse_args()


def judge_all(stage: Any, chosen: list[Scenario], where_possible: bool) -> list[Outcome]:
    """Most run side by side; those that measure time, or end their server, by themselves afterwards."""

    def judge_one(one: Scenario) -> Outcome:
        return judge(stage, one, where_possible)

    stage.prepare([one.needs for one in chosen if one.needs][:10])
    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes = [report(outcome) for outcome in pool.map(judge_one, [one for one in chosen if not one.alone])]
    return outcomes + [report(judge_one(one)) for one in chosen if one.alone]


def judge(stage: Any, one: Scenario, where_possible: bool) -> Outcome:
    is_missing = False

    def run() -> None:
        nonlocal is_missing
        try:
            one.run(stage)
        except Missing:
            is_missing = True
            raise

    outcome = scenarios.judge(one, run, explain)
    if is_missing and where_possible:
        outcome.outcome = "skip"
    return outcome


def explain(failure: Exception) -> str:
    if isinstance(failure, (Failed, Missing)):
        return short(str(failure), 600)
    where = traceback.extract_tb(failure.__traceback__)[-1]
    return short(f"{type(failure).__name__}: {failure} ({Path(where.filename).name}:{where.lineno})", 600)


if __name__ == "__main__":
    sys.exit(main())
