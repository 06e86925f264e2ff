"""Starts what is needed, runs the scenarios, prints the verdicts."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from scenarios import SCENARIOS, Case, Scenario
from upstream import Upstream

HERE = Path(__file__).resolve().parent
SUITE = "openbb"
TIME = 65.0         # seconds within which every scenario must have begun
WORKERS = 3


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process of ours: started, waited for, ended."""

    def __init__(self, command: list[str], port: int, env: dict, log: Path):
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self.output = log.open("wb")
        self.process = subprocess.Popen(command, env={**os.environ, **env}, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            self.wait(port)
        except BaseException:
            self.stop()
            raise

    def wait(self, port: int) -> None:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise SystemExit(f"the server ended with code {self.process.returncode} before it answered:\n{self.tail()}")
            try:
                httpx.get(f"{self.url}/agents.json", timeout=2, verify=False)
                return
            except httpx.HTTPError:
                time.sleep(0.1)
        raise SystemExit(f"the server did not answer on port {port} within 30 s:\n{self.tail()}")

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.output.close()


def judge(scenario: Scenario, base: str, upstream: Upstream, log: Path | None, state: Path | None, end: float) -> dict:
    started, case = time.monotonic(), Case(base, upstream, log, state)
    verdict = {"name": scenario.name, "beyond": scenario.beyond, "ok": False, "message": ""}
    if started > end:
        verdict["message"] = f"expected to begin within {TIME:.0f} s, but the scenarios before it took too long"
    else:
        try:
            scenario.run(case)
            case.settle()
            verdict["ok"] = True
        except AssertionError as failure:
            verdict["message"] = str(failure)
            wrong = upstream.objections.get(case.tag)
            if wrong and wrong[0] not in verdict["message"]:
                verdict["message"] += f" (the model had refused a request: {wrong[0]})"
        except Exception as failure:
            verdict["message"] = f"expected an answer, got {type(failure).__name__}: {failure}"
    verdict["seconds"] = round(time.monotonic() - started, 2)
    upstream.brains.pop(case.tag, None)
    return verdict


def show(verdict: dict, reference: bool) -> None:
    mark = "ok" if verdict["ok"] else "beyond" if reference and verdict["beyond"] else "FAIL"
    note = " [beyond]" if verdict["beyond"] and mark != "beyond" else ""
    print(f"{mark:<6} {verdict['name']}{note} ({verdict['seconds']:.1f} s)" + (f": {' '.join(verdict['message'].split())}" if verdict["message"] else ""), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="run", description="Acceptance of rightseat's OpenBB face.")
    parser.add_argument("--url", help="judge a server that runs already; its model is this suite on the port of RS_UPSTREAM_OPENAI")
    parser.add_argument("--reference", action="store_true", help="judge an agent made with openbb-ai instead")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts there")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    args = parser.parse_args()

    if args.list:
        for scenario in SCENARIOS:
            print(f"{scenario.name:<28}{'beyond  ' if scenario.beyond else '        '}{scenario.about}")
        return 0
    known = {scenario.name: scenario for scenario in SCENARIOS}
    if unknown := [name for name in args.scenarios if name not in known]:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    if args.url and args.reference:
        parser.error("--url and --reference exclude each other")
    configured = os.environ.get("RS_UPSTREAM_OPENAI")
    if args.url and not configured:
        parser.error("--url needs RS_UPSTREAM_OPENAI: the address at which the running server looks for its model; this suite will answer there")
    chosen = [known[name] for name in args.scenarios] or SCENARIOS
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    upstream = Upstream(urlsplit(configured).port or 80 if args.url else 0)
    server = None
    with tempfile.TemporaryDirectory(prefix="rightseat-acceptance-") as scratch:
        state, log = Path(scratch) / "state", Path(scratch) / "server.log"
        state.mkdir()
        try:
            base = args.url
            if not base:
                port = free_port()
                env = {"RS_UPSTREAM_OPENAI": upstream.url, "RS_STATE_DIR": str(state)}
                if args.reference:
                    command = [sys.executable, str(HERE / "reference_agent.py"), str(port)]
                else:
                    serve = Path("tests/acceptance/serve").resolve()
                    if not os.access(serve, os.X_OK):
                        raise SystemExit(f"{serve} cannot be run")
                    command = [str(serve), SUITE, str(port)]
                server = Server(command, port, env, log)
                base = server.url
            verdicts = run_all(chosen, base.rstrip("/"), upstream, log if server else None, state if server else None, args.reference)
            if server and server.process.poll() is not None:
                print(f"the server ended during the run with code {server.process.returncode}")
            if server and not args.reference and not all(verdict["ok"] for verdict in verdicts) and server.tail().strip():
                print(f"the end of the server's log:\n{server.tail().strip()}", file=sys.stderr)
        finally:
            if server:
                server.stop()
            upstream.close()

    passed = sum(verdict["ok"] for verdict in verdicts)
    beyond = sum(not verdict["ok"] and verdict["beyond"] for verdict in verdicts) if args.reference else 0
    failed = len(verdicts) - passed - beyond
    if args.json:
        Path(args.json).write_text(json.dumps({"suite": SUITE, "passed": passed, "failed": failed, "beyond": beyond, "scenarios": verdicts}, indent=1) + "\n")
    if args.reference:
        print(f"{beyond} beyond the reference")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run_all(chosen: list[Scenario], base: str, upstream: Upstream, log: Path | None, state: Path | None, reference: bool) -> list[dict]:
    """Most scenarios run side by side; those that measure time run by themselves afterwards."""
    end, verdicts = time.monotonic() + TIME, []

    def one(scenario: Scenario) -> dict:
        return judge(scenario, base, upstream, log, state, end)

    with ThreadPoolExecutor(WORKERS) as pool:
        for verdict in pool.map(one, [scenario for scenario in chosen if not scenario.alone]):
            show(verdict, reference)
            verdicts.append(verdict)
    for scenario in chosen:
        if scenario.alone:
            verdicts.append(one(scenario))
            show(verdicts[-1], reference)
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
