"""run [--list] [--all] [--json FILE] [--slack N] [--where-possible] [--keep] [SCENARIO ...]"""

import argparse
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import isolation  # noqa: E402
from judging import SCENARIOS, Failed, Scenario, short  # noqa: E402
from services import Missing  # noqa: E402

MODULES = ("web", "access", "approvals", "guards", "keeping", "sandbox", "outward", "sql", "bombs", "pages", "fleet", "endings", "freezes")
WORKERS = 3
SKIPS = Path(__file__).resolve().parent.parent / "skips.txt"


def main() -> int:
    options = read_options()
    for name in MODULES:
        importlib.import_module(f"scenarios.{name}")
    if unknown := [name for name in options.scenario if name not in SCENARIOS]:
        print(f"no such scenario: {', '.join(unknown)}", file=sys.stderr)
        return 2
    skipped = {} if options.all or options.scenario else read_skips()
    chosen = [SCENARIOS[name] for name in options.scenario] or [one for one in SCENARIOS.values() if one.name not in skipped]
    if options.list:
        for one in chosen:
            print(f"{one.name:34}{one.about}")
        return 0
    from stage import SERVE, Stage

    if not os.access(SERVE, os.X_OK):
        print(f"there is no executable {SERVE}", file=sys.stderr)
        return 2
    for name, reason in skipped.items():
        print(f"skip {name}: {reason}", flush=True)
    isolation.guard_this_process()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="rightseat-security-"))
    folder.chmod(0o755)
    began, stage = time.monotonic(), Stage(folder)
    if not stage.isolation:
        print("no network namespace can be made here: addresses other than loopback are left out", file=sys.stderr)
    try:
        verdicts = judge_all(stage, chosen)
    finally:
        stage.stop()
    if options.where_possible:
        skipped |= {verdict["name"]: verdict["message"] for verdict in verdicts if verdict["is_missing"]}
        verdicts = [verdict for verdict in verdicts if not verdict["is_missing"]]
    failed = sum(not verdict["ok"] for verdict in verdicts)
    seconds = round(time.monotonic() - began, 1)
    if options.json:
        whole = {"suite": "security", "seconds": seconds, "passed": len(verdicts) - failed, "failed": failed, "scenarios": verdicts}
        Path(options.json).write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    if options.keep:
        print(f"the servers' logs are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(verdicts) - failed} passed, {failed} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="Judge from outside what rightseat promises of its security.")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("--list", action="store_true", help="name the scenarios, with what each asserts")
    parser.add_argument("--json", metavar="FILE", help="write the verdicts there")
    parser.add_argument("--all", action="store_true", help="run those that skips.txt names too")
    parser.add_argument("--slack", type=float, metavar="N", help="every bound of time N times as long, for a busy machine")
    parser.add_argument("--where-possible", action="store_true", help="leave out what needs PostgreSQL or Redis where they are not installed")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the servers' logs")
    return parser.parse_args()


def read_skips() -> dict[str, str]:
    """Scenarios that are left out, with the reason. A name that no scenario has is an error."""
    lines = (line for line in SKIPS.read_text().splitlines() if line.strip() and not line.startswith("#"))
    found = {name: reason.strip() for name, _, reason in (line.partition("  ") for line in lines)}
    if unknown := found.keys() - SCENARIOS.keys():
        raise SystemExit(f"{SKIPS} names scenarios that do not exist: {', '.join(sorted(unknown))}")
    return found


def judge_all(stage: Any, chosen: list[Scenario]) -> list[dict]:
    """Most run side by side; those that measure time, or end their server, by themselves afterwards."""
    verdicts = []
    stage.prepare([one.spare for one in chosen if one.spare][:10])
    with ThreadPoolExecutor(WORKERS) as pool:
        for verdict in pool.map(lambda one: judge(stage, one), [one for one in chosen if not one.alone]):
            show(verdict)
            verdicts.append(verdict)
    for one in chosen:
        if one.alone:
            verdicts.append(judge(stage, one))
            show(verdicts[-1])
    return verdicts


def judge(stage: Any, one: Scenario) -> dict:
    began, message, is_missing = time.monotonic(), "", False
    try:
        one.run(stage)
    except Missing as failure:
        message, is_missing = str(failure), True
    except Failed as failure:
        message = str(failure)
    except Exception as failure:
        where = traceback.extract_tb(failure.__traceback__)[-1]
        message = f"{type(failure).__name__}: {failure} ({Path(where.filename).name}:{where.lineno})"
    seconds = round(time.monotonic() - began, 1)
    return {"name": one.name, "ok": not message, "is_missing": is_missing, "message": short(message, 600), "seconds": seconds}


def show(verdict: dict) -> None:
    if verdict["ok"]:
        print(f"ok {verdict['name']} ({verdict['seconds']} s)", flush=True)
    elif verdict["is_missing"]:
        print(f"missing {verdict['name']}: {verdict['message']}", flush=True)
    else:
        print(f"FAIL {verdict['name']}: {verdict['message']} ({verdict['seconds']} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
