"""run [--list] [--json FILE] [--program FILE] [--quick] [--all] [--keep] [SCENARIO ...]"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, choose, conclude, exit_on_sigterm, fail, judge, leave_folder, leave_out, read_skips, report

sys.path.append(str(Path(__file__).resolve().parent))
import scenarios  # noqa: E402, F401  # fills the list
from fakes import Fakes  # noqa: E402
from judging import SCENARIOS, Finding, World, explain  # noqa: E402

SUITE = Path(__file__).resolve().parent.parent


def main() -> int:
    options = read_options()
    chosen, left = choose(SCENARIOS, options.scenarios), []
    if not (options.all or options.scenarios):
        chosen, left = leave_out(chosen, read_skips(SUITE, SCENARIOS.__contains__), options.list)
    if options.list:
        for scenario in chosen:
            print(f"{scenario.name:26} {scenario.about}")
        return 0
    program = Path(options.program).absolute()
    if not program.exists():
        fail(f"{options.program} is not here: run the suite from the project's root")
    exit_on_sigterm()
    folder, began = Path(tempfile.mkdtemp(prefix="rightseat-evals-")), time.monotonic()
    world = World(folder, [str(program)], Fakes())
    try:
        outcomes = left + [report(judge_one(world, scenario)) for scenario in chosen]
    except KeyboardInterrupt:
        return 130
    finally:
        world.stop()
    code = conclude("evals", outcomes, began, options.json)
    leave_folder(folder, bool(code or options.keep))
    return code


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside whether evaluations pinned from the log hold what they promise.")
    add_options(parser)
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument("--program", default=".venv/bin/rightseat", help="the command line to judge")
    parser.add_argument("--keep", action="store_true", help="keep the projects")
    return parser.parse_args()


def judge_one(world: World, scenario: Scenario) -> Outcome:
    finding = Finding()

    def run() -> None:
        try:
            scenario.run(world)
        except Exception as error:
            finding.problems.append(explain(error)[:400])
        more = f"; and {len(finding.problems) - 3} more" if len(finding.problems) > 3 else ""
        assert not finding.problems, "; ".join(finding.problems[:3]) + more

    outcome = judge(scenario, run, str)
    outcome.note = " ".join(f"{name} {value}" for name, value in finding.figures.items())
    outcome.figures = finding.figures
    return outcome


if __name__ == "__main__":
    sys.exit(main())
