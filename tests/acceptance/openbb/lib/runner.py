"""Starts what is needed, runs the scenarios, prints the verdicts."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from scenarios import SCENARIOS, Case
from upstream import Upstream

from tests.acceptance._lib import scenarios
from tests.acceptance._lib.processes import ANSWERED, NotStarted, Server, free_port, serve
from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, choose, conclude, exit_on_sigterm, fail, report

HERE = Path(__file__).resolve().parent
SUITE = "openbb"
TIME = 65.0         # seconds within which every scenario must have begun
WORKERS = 3


def judge(scenario: Scenario, base: str, upstream: Upstream, server: Server | None, end: float, is_peer: bool = False) -> Outcome:
    case = Case(base, upstream, server and server.log, server and Path(server.environment["RS_STATE_DIR"]))

    def run() -> None:
        if time.monotonic() > end:
            raise AssertionError("expected to begin in time, but the scenarios before it took too long")
        scenario.run(case)
        case.settle()

    outcome = scenarios.judge(scenario, run, explain, is_peer)
    wrong = upstream.objections.get(case.tag)
    if outcome.outcome != "ok" and wrong and wrong[0] not in outcome.message:
        outcome.message += f" (the model had refused a request: {wrong[0]})"
    if scenario.beyond and outcome.outcome != "beyond":
        outcome.note = "beyond"
    upstream.brains.pop(case.tag, None)
    return outcome


def explain(error: Exception) -> str:
    return str(error) if isinstance(error, AssertionError) else scenarios.explain(error)


def start(command: Sequence[str], port: int, environment: Mapping[str, str], folder: Path) -> Server:
    """A server with a folder for its state; GET /agents.json says that it is there."""
    state = folder / "state"
    state.mkdir()
    whole = {**os.environ, **environment, "RS_STATE_DIR": str(state)}
    server = Server(command, port, whole, folder / "server.log", probe="/agents.json", statuses=ANSWERED)
    server.start(within=30)
    return server


def main() -> int:
    parser = argparse.ArgumentParser(prog="run", description="Acceptance of rightseat's OpenBB face.")
    parser.add_argument("--url", help="judge a server that runs already; its model is this suite on the port of RS_UPSTREAM_OPENAI")
    parser.add_argument("--reference", action="store_true", help="judge an agent made with openbb-ai instead")
    add_options(parser)
    args = parser.parse_args()
    chosen, began = choose(SCENARIOS, args.scenarios), time.monotonic()
    if args.list:
        for scenario in chosen:
            print(f"{scenario.name:<28}{'beyond  ' if scenario.beyond else '        '}{scenario.about}")
        return 0
    if args.url and args.reference:
        parser.error("--url and --reference exclude each other")
    configured = os.environ.get("RS_UPSTREAM_OPENAI")
    if args.url and not configured:
        parser.error("--url needs RS_UPSTREAM_OPENAI: the address at which the running server looks for its model; this suite will answer there")
    exit_on_sigterm()

    upstream = Upstream(urlsplit(configured).port or 80 if args.url else 0)
    server = None
    with tempfile.TemporaryDirectory(prefix="rightseat-acceptance-") as scratch:
        try:
            if not args.url:
                port = free_port()
                peer = [sys.executable, str(HERE / "reference_agent.py"), str(port)]
                server = start(peer if args.reference else serve(SUITE, port), port, {"RS_UPSTREAM_OPENAI": upstream.url}, Path(scratch))
            base = args.url or server.origin
            outcomes = run_all(chosen, base.rstrip("/"), upstream, server, args.reference)
            if server and not server.is_alive():
                print(f"the server ended during the run with code {server.process.returncode}")
            if server and not args.reference:
                show_log(server, outcomes)
        except NotStarted as error:
            fail(str(error))
        finally:
            if server:
                server.stop(5)
            upstream.close()
    return conclude(SUITE, outcomes, began, args.json)


def show_log(server: Server, outcomes: list[Outcome]) -> None:
    if any(outcome.outcome == "FAIL" for outcome in outcomes) and server.tail().strip():
        print(f"the end of the server's log:\n{server.tail().strip()}", file=sys.stderr)


def run_all(chosen: list[Scenario], base: str, upstream: Upstream, server: Server | None, is_peer: bool) -> list[Outcome]:
    """Most scenarios run side by side; those that measure time run by themselves afterwards."""
    end = time.monotonic() + TIME

    def one(scenario: Scenario) -> Outcome:
        return judge(scenario, base, upstream, server, end, is_peer)

    with ThreadPoolExecutor(WORKERS) as pool:
        outcomes = [report(outcome) for outcome in pool.map(one, [scenario for scenario in chosen if not scenario.alone])]
    return outcomes + [report(one(scenario)) for scenario in chosen if scenario.alone]


if __name__ == "__main__":
    sys.exit(main())
