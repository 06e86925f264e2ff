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
from engine import Engine, Process, children, free_port, runs
from fake import Fake
from harness import SCENARIOS, Case, Scenario, Skip
from styles import models

import conformance, familystyles, quality, hostile, overhead, spawned  # noqa: E401 F401  (each declares its scenarios)

SUITE = "tool-calls"
ORDER = ["conformance", "styles", "quality", "overhead", "hostile", "spawn"]


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(prog="run", description="Acceptance of tool calls over a raw completion engine.")
    p.add_argument("--url", help="judge a server that runs already; RS_FAKE_ENGINE_URL and RS_LLAMA_URL say what it was configured with")
    p.add_argument("--reference", action="store_true", help="judge llama-server's own /v1/chat/completions instead, where it can be")
    p.add_argument("--spawn", action="store_true", help="let the server start llama-server itself (RS_LLAMA_BINARY)")
    p.add_argument("--where-possible", action="store_true", help="judge nothing on a machine that cannot run llama-server, and say so")
    p.add_argument("--engine", choices=("llama-server", "xllamacpp"), default="llama-server", help="which build of the real engine")
    p.add_argument("--quick", action="store_true", help="styles, hostile, and 10 cases of the real model")
    p.add_argument("--all", action="store_true", help="all 200 cases, and the scenarios that skips.txt names")
    p.add_argument("--cases", type=int, help="so many cases")
    p.add_argument("--qwen", action="store_true", help="Qwen2.5-Coder-1.5B in place of SmolLM2 (1.1 GB; slow)")
    p.add_argument("--gemma", action="store_true", help="the base model Gemma 3 270M, which has no chat template, in place of SmolLM2")
    p.add_argument("--list", action="store_true", help="name the scenarios")
    p.add_argument("--json", metavar="FILE", help="write the verdicts there")
    p.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="names, or groups: " + ", ".join(ORDER))
    a = p.parse_args()
    a.model = "qwen" if a.qwen else "gemma" if a.gemma else "smollm2"
    a.cases = a.cases or (200 if a.all else 10 if a.quick else 12 if a.qwen else 40)
    a.overhead_seconds = 22
    if sum((bool(a.url), a.reference, a.spawn)) > 1:
        p.error("--url, --reference and --spawn exclude each other")
    known = {s.name for s in SCENARIOS} | set(ORDER)
    if unknown := [s for s in a.scenarios if s not in known]:
        p.error(f"no such scenario: {', '.join(unknown)}")
    if a.url and not (os.environ.get("RS_FAKE_ENGINE_URL") and os.environ.get("RS_LLAMA_URL")):
        p.error("--url needs RS_FAKE_ENGINE_URL (this suite will answer there) and RS_LLAMA_URL (the real engine runs there), as the server was given them")
    return a


def skips() -> dict[str, str]:
    """Scenarios that are left out for now, and why."""
    lines = (Path(__file__).resolve().parent.parent / "skips.txt").read_text().splitlines()
    left = dict(line.split(None, 1) for line in lines if line.strip() and not line.startswith("#"))
    if unknown := left.keys() - {s.name for s in SCENARIOS}:
        raise SystemExit(f"skips.txt names what is no scenario: {', '.join(sorted(unknown))}")
    return left


def chosen(a: argparse.Namespace) -> list[Scenario]:
    listed = sorted(SCENARIOS, key=lambda s: ORDER.index(s.group))
    if a.scenarios:
        listed = [s for s in listed if s.name in a.scenarios or s.group in a.scenarios]
    elif a.quick:
        listed = [s for s in listed if s.quick]
    if not (a.scenarios or a.all or a.reference):
        left = skips()
        for s in listed:
            if s.name in left:
                print(f"skip   {s.name}: {left[s.name]}", flush=True)
        listed = [s for s in listed if s.name not in left]
    if a.reference:
        listed = [s for s in listed if s.peer]
    return [s for s in listed if s.when != "spawn" or a.spawn]


def awake(engine_url: str, server: Process) -> None:
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


def judge(s: Scenario, case: Case) -> dict:
    start, case.notes, case.tags = time.monotonic(), [], []
    verdict = {"name": s.name, "group": s.group, "beyond": s.beyond, "ok": False, "skipped": False, "message": ""}
    try:
        s.run(case)
        verdict["ok"] = True
    except Skip as e:
        verdict.update(ok=True, skipped=True)
        case.note(str(e))
    except AssertionError as e:
        verdict["message"] = str(e)
    except openai.APIStatusError as e:
        verdict["message"] = f"expected an answer, got {e.status_code} {e.message}"
    except Exception as e:
        verdict["message"] = f"expected an answer, got {type(e).__name__}: {e}"
    for tag in case.tags:
        script = case.fake.scripts.pop(tag, None)
        if script:
            script.go.set()
        case.fake.seen.pop(tag, None)
    verdict.update(note="; ".join(case.notes), seconds=round(time.monotonic() - start, 2))
    return verdict


def show(v: dict, reference: bool) -> None:
    mark = "ok" if v["ok"] else "beyond" if reference and v["beyond"] else "FAIL"
    line = f"{mark:<6} {v['name']} ({v['seconds']:.1f} s)"
    if v["note"]:
        line += f" [{v['note']}]"
    if v["message"]:
        line += f": {' '.join(v['message'].split())[:900]}"
    print(line, flush=True)


def main() -> int:
    a = arguments()
    if a.list:
        for s in sorted(SCENARIOS, key=lambda s: ORDER.index(s.group)):
            print(f"{s.name:<32}{s.group:<13}{'beyond' if s.beyond else '':<8}{s.about}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    todo, verdicts, began = chosen(a), [], time.monotonic()
    model = None if a.url else parts.model(a.model)
    program = parts.binary() if a.spawn or (not a.url and a.engine == "llama-server") else None
    if program and a.where_possible and (reason := parts.explain_unusable()):
        print(f"skip   all scenarios: {reason}")
        print("0 passed, 0 failed")
        return 0
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
                    engine_url = engine.url
                    env |= {"RS_LLAMA_URL": engine.url}
                    local = {"name": "local", "url": engine.url, "style": "auto"}
                (folder / "models.json").write_text(json.dumps([local, *models(fake.url)], indent=1))
                if a.reference:
                    base = engine_url
                else:
                    serve = Path("tests/acceptance/serve").resolve()
                    port = free_port()
                    server = Process([str(serve), SUITE, str(port)], env, folder / "server.log", f"http://127.0.0.1:{port}", "/v1/models", 120)
                    base = server.url
                    if a.spawn:
                        awake(engine_url, server)
            fake.real = engine_url
            case = Case(base.removesuffix("/v1") + "/v1", fake, engine_url, a, server, engine)
            for s in todo:
                verdicts.append(judge(s, case))
                show(verdicts[-1], a.reference)
                if server and not server.alive() and s.name != "spawn-no-orphan":
                    print(f"the server ended with code {server.process.returncode}:\n{server.tail()}")
                    break
        finally:
            spawned_ones = [pid for pid in children(server.process.pid) if runs(pid, program)] if server and a.spawn else []
            for process in (server, engine):
                if process:
                    process.stop()
            for pid in spawned_ones:
                if runs(pid, program):
                    os.kill(pid, signal.SIGKILL)
            fake.close()
    missed = len(todo) - len(verdicts)
    passed = sum(v["ok"] for v in verdicts)
    beyond = sum(not v["ok"] and v["beyond"] for v in verdicts) if a.reference else 0
    failed = len(verdicts) - passed - beyond + missed
    if a.json:
        Path(a.json).write_text(json.dumps({"suite": SUITE, "client": f"openai {openai.__version__}", "passed": passed, "failed": failed, "beyond": beyond, "seconds": round(time.monotonic() - began, 1), "scenarios": verdicts}, indent=1) + "\n")
    if a.reference:
        print(f"{beyond} beyond the reference")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
