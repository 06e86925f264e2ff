"""Starts what is needed, runs the scenarios, prints the verdicts."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from urllib.parse import urlsplit

warnings.simplefilter("ignore")

import httpx
import openai

import parts
from engine import Engine, runs
from fake import Fake
from harness import SCENARIOS, Case
from styles import models

from tests.acceptance._lib import scenarios
from tests.acceptance._lib.processes import ANSWERED, NotStarted, Server, free_port, list_descendants, serve
from tests.acceptance._lib.scenarios import Outcome, Scenario, add_options, choose, conclude, exit_on_sigterm, fail, judge_each, leave_out, read_skips

import conformance, familystyles, quality, hostile, overhead, spawned  # noqa: E401 F401  (each declares its scenarios)

HERE = Path(__file__).resolve().parent.parent
SUITE = "tool-calls"
ORDER = ["conformance", "styles", "quality", "overhead", "hostile", "spawn"]


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="run", description="Acceptance of tool calls over a raw completion engine.")
    p.add_argument("--url", help="judge a server that runs already; RS_FAKE_ENGINE_URL and RS_LLAMA_URL say what it was configured with")
    p.add_argument("--reference", action="store_true", help="judge llama-server's own /v1/chat/completions instead, where it can be")
    p.add_argument("--spawn", action="store_true", help="let the server start llama-server itself (RS_LLAMA_BINARY)")
    p.add_argument("--where-possible", action="store_true", help="on a machine that cannot run llama-server, let xllamacpp stand in for it, and say what is skipped")
    p.add_argument("--engine", choices=("llama-server", "xllamacpp"), default="llama-server", help="which build of the real engine")
    p.add_argument("--quick", action="store_true", help="styles, hostile, and 10 cases of the real model")
    p.add_argument("--all", action="store_true", help="all 200 cases, and the scenarios that skips.txt names")
    p.add_argument("--cases", type=int, help="so many cases")
    p.add_argument("--qwen", action="store_true", help="Qwen2.5-Coder-1.5B in place of SmolLM2 (1.1 GB; slow)")
    p.add_argument("--gemma", action="store_true", help="the base model Gemma 3 270M, which has no chat template, in place of SmolLM2")
    add_options(p, ORDER)
    a = p.parse_args()
    a.model = "qwen" if a.qwen else "gemma" if a.gemma else "smollm2"
    a.cases = a.cases or (200 if a.all else 10 if a.quick else 12 if a.qwen else 40)
    a.overhead_seconds = 22
    if sum((bool(a.url), a.reference, a.spawn)) > 1:
        p.error("--url, --reference and --spawn exclude each other")
    if a.url and not (os.environ.get("RS_FAKE_ENGINE_URL") and os.environ.get("RS_LLAMA_URL")):
        p.error("--url needs RS_FAKE_ENGINE_URL (this suite will answer there) and RS_LLAMA_URL (the real engine runs there), as the server was given them")
    return a


def select(a: argparse.Namespace) -> list[Scenario]:
    ordered = dict(sorted(SCENARIOS.items(), key=lambda item: ORDER.index(item[1].group)))
    chosen = choose(ordered, a.scenarios)
    if a.list:
        return chosen
    if a.quick and not a.scenarios:
        chosen = [s for s in chosen if s.quick]
    if not (a.scenarios or a.all or a.reference):
        chosen, _ = leave_out(chosen, read_skips(HERE, SCENARIOS.__contains__))
    if a.reference:
        chosen = [s for s in chosen if s.peer]
    return [s for s in chosen if s.needs != "spawn" or a.spawn]


def awake(engine_url: str, server: Server) -> None:
    """Waits until the engine that the server spawned has loaded its model."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            if httpx.get(f"{engine_url}/health", timeout=2).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"no engine on {engine_url} within 120 s of the server's start:\n{server.tail()}")


def explain(error: Exception) -> str:
    if isinstance(error, openai.APIStatusError):
        return f"expected an answer, got {error.status_code} {error.message}"
    return scenarios.explain(error)


def judge(s: Scenario, case: Case) -> Outcome:
    case.notes, case.tags = [], []
    outcome = scenarios.judge(s, lambda: s.run(case), explain, case.options.reference)
    for tag in case.tags:
        script = case.fake.scripts.pop(tag, None)
        if script:
            script.go.set()
        case.fake.seen.pop(tag, None)
    outcome.note = "; ".join(filter(None, [*case.notes, outcome.note]))
    return outcome


def main() -> int:
    a = arguments()
    todo, began = select(a), time.monotonic()
    if a.list:
        for s in todo:
            print(f"{s.name:<32}{s.group:<13}{'beyond' if s.beyond else '':<8}{s.about}")
        return 0
    exit_on_sigterm()
    model = None if a.url else parts.model(a.model)
    program = parts.binary() if a.spawn or (not a.url and a.engine == "llama-server") else None
    if program and a.where_possible and (reason := parts.explain_unusable()):
        print(f"xllamacpp stands in for llama-server: {reason}", flush=True)
        for s in todo:
            if s.needs == "spawn":
                print(f"skip   {s.name}: {reason}", flush=True)
        a.spawn, a.engine, program = False, "xllamacpp", None
        todo = [s for s in todo if s.needs != "spawn"]
    if a.engine == "xllamacpp" and not a.url and not a.spawn:
        parts.library()
    fake = Fake(urlsplit(os.environ["RS_FAKE_ENGINE_URL"]).port if a.url else 0)
    engine = server = None
    with tempfile.TemporaryDirectory(prefix="rightseat-acceptance-") as scratch:
        folder = Path(scratch)
        try:
            if a.url:
                engine_url = os.environ["RS_LLAMA_URL"].rstrip("/")
                base = a.url.rstrip("/")
            else:
                env = {"RS_FAKE_ENGINE_URL": fake.url, "RS_LLAMA_MODEL": str(model), "RS_STATE_DIR": str(folder / "state"), "RS_MODELS_FILE": str(folder / "models.json")}
                (folder / "state").mkdir()
                if a.spawn:
                    engine_url = f"http://127.0.0.1:{free_port()}"
                    env |= {"RS_LLAMA_BINARY": str(program), "RS_LLAMA_PORT": engine_url.rpartition(":")[2]}
                    local = {"name": "local", "binary": str(program), "model": str(model), "port": int(env["RS_LLAMA_PORT"]), "style": "auto"}
                else:
                    engine = Engine(a.engine, model, folder / "engine.log")
                    engine_url = engine.origin
                    env |= {"RS_LLAMA_URL": engine.origin}
                    local = {"name": "local", "url": engine.origin, "style": "auto"}
                (folder / "models.json").write_text(json.dumps([local, *models(fake.url)], indent=1))
                if a.reference:
                    base = engine_url
                else:
                    port = free_port()
                    server = Server(serve(SUITE, port), port, os.environ | env, folder / "server.log", probe="/v1/models", statuses=ANSWERED)
                    server.start(within=120)
                    base = server.origin
                    if a.spawn:
                        awake(engine_url, server)
            fake.real = engine_url
            case = Case(base.removesuffix("/v1") + "/v1", fake, engine_url, a, server, engine)
            outcomes = judge_each(todo, lambda s: judge(s, case), server, may_end="spawn-no-orphan")
        except NotStarted as error:
            fail(str(error))
        finally:
            spawned_ones = [pid for pid in list_descendants(server.process.pid) if runs(pid, program)] if server and a.spawn else []
            for process in (server, engine):
                if process:
                    process.stop()
            for pid in spawned_ones:
                if runs(pid, program):
                    os.kill(pid, signal.SIGKILL)
            fake.close()
    return conclude(SUITE, outcomes, began, a.json, client=f"openai {openai.__version__}")


if __name__ == "__main__":
    sys.exit(main())
