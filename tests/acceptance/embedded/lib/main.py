"""run [--list] [--json FILE] [--all] [--verbose] [--overlay DIR] [SCENARIO ...]"""

import argparse
import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, choose, conclude, exit_on_sigterm, leave_out, read_skips, report
from tests.acceptance._lib.services import Missing, Postgres

HERE = Path(__file__).resolve().parent
SUITE = HERE.parent
NEEDS_DATABASE = ("durable_argument", "examples_fastapi_shop", "workers_postgres")
TIMEOUT_S = 120
SKIPPED = 77
"""The exit code of `case.py` for what the machine lacks."""


def read_scenarios() -> dict[str, Scenario]:
    """Each is a file; the part of its name before the first `_` is its group."""
    found = {}
    for file in sorted((HERE / "scenarios").glob("*.py")):
        about = (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()[0]
        found[file.stem] = Scenario(file.stem, about, check_by_hand, group=file.stem.partition("_")[0])
    return found


def check_by_hand() -> None:
    raise NotImplementedError("a scenario runs in a process of its own")


@dataclass
class Stage:
    """What all scenarios of a run share."""

    overlay: str | None
    verbose: bool
    postgres: str = ""

    def judge(self, scenario: Scenario) -> Outcome:
        began = time.monotonic()
        if scenario.name in NEEDS_DATABASE and not self.postgres:
            return Outcome(scenario.name, "skip", "PostgreSQL is not installed")
        code, output = self.play(HERE / "scenarios" / f"{scenario.name}.py")
        seconds = time.monotonic() - began
        lines = [line for line in output.strip().splitlines() if line.strip()]
        last = lines[-1] if lines else "no output"
        if code == 0:
            return Outcome(scenario.name, "ok", seconds=seconds)
        if code == SKIPPED:
            return Outcome(scenario.name, "skip", last, seconds=seconds)
        if self.verbose:
            print("\n".join(f"     | {line}" for line in lines))
        return Outcome(scenario.name, "FAIL", last, seconds=seconds)

    def play(self, file: Path) -> tuple[int | None, str]:
        """The exit code and the output; None if it was ended after the time limit."""
        with tempfile.TemporaryDirectory(prefix="embedded-", ignore_cleanup_errors=True) as folder:
            child = subprocess.Popen(
                [sys.executable, str(HERE / "case.py"), str(file)],
                cwd=folder,
                env=self.environment(),
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                output, _ = child.communicate(timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                end_group(child.pid)
                output, _ = child.communicate()
                return None, f"{output[-2000:]}\nno result within {TIMEOUT_S} s"
            finally:
                end_group(child.pid)  # whatever the scenario left behind
        return child.returncode, output

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "WEB_CONC"))}
        paths = [*([self.overlay] if self.overlay else []), str(HERE), str(HERE / "scenarios")]
        commands = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
        return kept | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1", "PATH": commands, "RS_POSTGRES": self.postgres}


def end_group(id: int) -> None:
    try:
        os.killpg(id, signal.SIGKILL)
    except ProcessLookupError:
        pass


@contextmanager
def database_server(chosen: Sequence[Scenario]) -> Iterator[str]:
    """The address of a PostgreSQL of the suite's own; empty where none is needed or installed."""
    if not any(one.name in NEEDS_DATABASE for one in chosen):
        yield ""
        return
    folder = Path(tempfile.mkdtemp(prefix="rightseat-embedded-"))
    folder.chmod(0o755)
    server = None
    try:
        try:
            server = Postgres(folder)
        except Missing:
            yield ""
            return
        server.start()
        yield server.url("postgres")
    finally:
        if server:
            server.crash()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="run", description="Judge rightseat inside Python applications.")
    add_options(parser, ["auth", "tool", "workers and other first words"])
    parser.add_argument("--all", action="store_true", help="also what skips.txt names")
    parser.add_argument("--overlay", metavar="DIR", help="a folder that is searched before the project")
    parser.add_argument("--verbose", action="store_true", help="the whole output of scenarios that failed")
    options = parser.parse_args()
    scenarios, left, began = read_scenarios(), [], time.monotonic()
    chosen = choose(scenarios, options.scenarios)
    if not (options.all or options.scenarios):
        chosen, left = leave_out(chosen, read_skips(SUITE, scenarios.__contains__), options.list)
    if options.list:
        for one in chosen:
            print(f"{one.name:42} {one.about}")
        return 0
    exit_on_sigterm()
    with database_server(chosen) as postgres:
        stage = Stage(options.overlay, options.verbose, postgres)
        outcomes = left + [report(stage.judge(one)) for one in chosen]
    return conclude("embedded", outcomes, began, options.json)


if __name__ == "__main__":
    sys.exit(main())
