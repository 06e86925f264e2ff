"""Starts what is needed, runs the scenarios, prints the verdicts."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from urllib.parse import urlsplit

warnings.simplefilter("ignore")

import anthropic

import servers
from engines import start_engine
from fake import Fake
from harness import SCENARIOS, Case

from tests.acceptance._lib import scenarios
from tests.acceptance._lib.processes import NotStarted
from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, choose, conclude, exit_on_sigterm, fail, judge_each

import basics, tools, thinking, people, hostile, clients, claude_code  # noqa: E401 F401  (each declares its scenarios)

HERE = Path(__file__).resolve().parent.parent
ORDER = ["basics", "tools", "thinking", "users", "errors", "hostile", "agents", "clients", "code", "local"]


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="run", description="Acceptance of Anthropic's Messages API with the real clients.")
    p.add_argument("--url", help="judge a server that runs already (an origin, no path); RS_UPSTREAM_OPENAI says what it was configured with")
    p.add_argument("--reference", action="store_true", help="judge LiteLLM's proxy instead")
    add_options(p, ORDER)
    a = p.parse_args()
    if a.url and a.reference:
        p.error("--url and --reference exclude each other")
    if a.url and not os.environ.get("RS_UPSTREAM_OPENAI"):
        p.error("--url needs RS_UPSTREAM_OPENAI, as the server was given it: the fake model is started there")
    return a


def program(*command: str):
    """A client in an environment of its own, which prints one line of JSON."""
    def run(*words: str) -> dict:
        script, *words = words
        done = subprocess.run([*command[:1], str(Path(command[1]) / script), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        last = done.stdout.strip().splitlines()[-1:]
        if done.returncode or not last:
            errors = [line for line in done.stderr.splitlines() if "Error" in line or "error" in line]
            raise AssertionError(f"expected {script} {words[0]} to end well, got {' / '.join(errors[:3])[:600] or done.stderr[-400:]}")
        return json.loads(last[0])
    return run


def explain(error: Exception) -> str:
    if isinstance(error, anthropic.APIStatusError):
        return f"expected an answer, got {error.status_code} {error.message}"
    return scenarios.explain(error)


def judge(s: Scenario, case: Case) -> Outcome:
    case.notes, case.servers, case.keys = [], [], []
    outcome = scenarios.judge(s, lambda: s.run(case), explain, case.reference)
    for key in case.keys:
        case.fake.release(key)
    for server in case.servers:
        server.stop()
    outcome.note = "; ".join(filter(None, [*case.notes, outcome.note]))
    if case.reference and s.beyond and outcome.outcome == "ok" and not outcome.note.startswith("skipped"):
        outcome.outcome, outcome.message = "FAIL", "expected the peer to fail here (`beyond`), got a pass"
    return outcome


def main() -> int:
    a = arguments()
    ordered = dict(sorted(SCENARIOS.items(), key=lambda item: ORDER.index(item[1].group)))
    todo, began = choose(ordered, a.scenarios), time.monotonic()
    if a.list:
        for s in todo:
            print(f"{s.name:<26}{s.group:<11}{'beyond' if s.beyond else '':<8}{s.about}")
        return 0
    exit_on_sigterm()
    fake = Fake(urlsplit(os.environ["RS_UPSTREAM_OPENAI"]).port if a.url else 0)
    packages, sources, server = Path(os.environ["RS_SUITE_PACKAGES"]), Path(os.environ["RS_SUITE_SOURCES"]), None
    with tempfile.TemporaryDirectory(prefix="rightseat-acceptance-", ignore_cleanup_errors=True) as scratch:
        folder = Path(scratch)

        engine = None
        if not a.url and not a.reference and any(s.group == "local" for s in todo) and "RS_LLAMA_URL" not in os.environ:
            engine = start_engine(folder)
            os.environ["RS_LLAMA_URL"] = engine.origin

        def start() -> servers.Server:
            if a.reference:
                return servers.litellm(folder, fake.url, Path(os.environ["RS_SUITE_PEER"]))
            return servers.project(folder, fake.url)

        try:
            server = None if a.url else start()
            node, langchain = program("node", str(sources / "node")), program(os.environ["RS_SUITE_LANGCHAIN"], str(HERE / "lib"))
            case = Case(a.url.rstrip("/") if a.url else server.origin, fake, server, None if a.url else start, node, langchain, packages, folder, a.reference)
            outcomes = judge_each(todo, lambda s: judge(s, case), server)
        except NotStarted as error:
            fail(str(error))
        finally:
            if server:
                server.stop()
            if engine:
                engine.stop()
            fake.close()
    return conclude(servers.SUITE, outcomes, began, a.json, client=f"anthropic {anthropic.__version__}")


if __name__ == "__main__":
    sys.exit(main())
