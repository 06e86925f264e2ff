"""run [--quick] [--all] [--slack X] [--minutes X] [--list] [--json FILE] [--serve FILE] [PART ...]"""

import argparse
import asyncio
import fnmatch
import json
import os
import resource
import sys
import time
import tomllib
from pathlib import Path

import uvloop

from tests.acceptance._lib.modules import add_modules
from tests.acceptance._lib.scenarios import cancel_on_signals, fail, print_totals, read_skips
from tests.acceptance._lib.services import Missing

add_modules("speed")  # its fake model, client, faces and floor
import exhausted  # noqa: E402
import fleet  # noqa: E402
import growth  # noqa: E402
import history  # noqa: E402
import soak  # noqa: E402
import streams  # noqa: E402
from stage import Broken, Stage  # noqa: E402

SUITE = Path(__file__).resolve().parent.parent

SLACKENED = ("growth", "history")
"""Their figures are ratios of CPU times of about a millisecond, which neighbours on the machine change."""
PARTS = {"streams": streams, "files": exhausted, "fleet": fleet, "growth": growth, "history": history, "soak": soak}


def main() -> int:
    options = read_options()
    names = list(dict.fromkeys(name.partition("-")[0] for name in options.part or PARTS))
    if unknown := [name for name in names if name not in PARTS]:
        fail(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    targets = tomllib.loads((SUITE / "targets.toml").read_text())
    if options.list:
        for name in names:
            print(f"{name:10} {PARTS[name].__doc__}")
            for figure, target in targets[name].items():
                print(f"           {figure:28} {'>=' if isinstance(target, dict) else '<='} {bound(target):g}")
        return 0
    skipped = {} if options.all else read_skips(SUITE, lambda name: name.partition("-")[0] in PARTS)
    serve = Path(options.serve).resolve()
    if not serve.exists():
        fail(f"{options.serve} is not here")
    if options.minutes:
        os.environ["RS_SOAK_MINUTES"] = str(options.minutes)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    began, results, found = time.monotonic(), [], {}
    for name in names:
        try:
            found[name], lines = uvloop.run(judge(name, serve, slackened(name, targets[name], options.slack), options.quick, skipped))
        except Missing as missing:
            fail(str(missing))
        except asyncio.CancelledError:
            return 130
        results += lines
    failed = sum(line["outcome"] == "FAIL" for line in results)
    if options.json:
        head = {"suite": "scale", "quick": options.quick, "seconds": round(time.monotonic() - began, 1)}
        totals = {"passed": sum(line["outcome"] == "ok" for line in results), "failed": failed, "scenarios": results, "found": found}
        Path(options.json).write_text(json.dumps(head | totals, indent=1, default=str) + "\n")
    passed = sum(line["outcome"] == "ok" for line in results)
    print_totals(passed, failed, len(results) - passed - failed)
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run", description="How what rightseat costs grows with streams, servers, threads, messages and time.")
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)}, or a figure of one")
    parser.add_argument("--quick", action="store_true", help="smaller levels, under three minutes in all")
    parser.add_argument("--all", action="store_true", help="also judge what skips.txt names")
    parser.add_argument("--minutes", type=float, metavar="X", help="how long soak lasts")
    parser.add_argument("--slack", type=float, default=1.0, metavar="X", help="allow X times the growth of CPU times, on a machine with neighbours")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--serve", default="tests/acceptance/serve", help="what starts a server: FILE scale PORT")
    return parser.parse_args()


def slackened(name: str, targets: dict, slack: float) -> dict:
    return {figure: target * slack for figure, target in targets.items()} if name in SLACKENED else targets


async def judge(name: str, serve: Path, targets: dict, quick: bool, skipped: dict[str, str]) -> tuple[dict, list[dict]]:
    cancel_on_signals()
    part, began, found, reason = PARTS[name], time.monotonic(), {}, ""
    try:
        async with Stage(serve) as stage:
            found = await part.measure(stage, quick)
    except Broken as error:
        reason = str(error)
    print(f"\n{name}: {part.__doc__.splitlines()[0]}  ({time.monotonic() - began:.0f} s)")
    values = {}
    if found:
        show(list(part.table(found)))
        values = dict(part.figures(found))
    lines = []
    for pattern, target in targets.items():
        matching = fnmatch.filter(values, pattern) or [pattern]
        if matching == [pattern] and values and "*" in pattern and "RS_SCALE_STORES" in os.environ:
            continue  # a store that was left out
        for figure in matching:
            value = values.get(figure)
            outcome, detail = verdict(value, target, reason)
            why = next((why for pattern, why in skipped.items() if fnmatch.fnmatch(f"{name}-{figure}", pattern)), None)
            if why and value is not None:
                outcome, detail = "skip", f"{detail}; {why.strip()}"
            print(f"{outcome:6} {name}-{figure:28} {detail}", flush=True)
            lines.append({"name": f"{name}-{figure}", "outcome": outcome, "value": value, "detail": detail})
    return found, lines


def bound(target: object) -> float:
    return target["least"] if isinstance(target, dict) else target


def verdict(value: float | None, target: object, reason: str) -> tuple[str, str]:
    if value is None:
        return "FAIL", reason or "not measured"
    if isinstance(target, dict):
        return "ok" if value >= target["least"] else "FAIL", f"{value:.3g}; target >= {target['least']:g}"
    return "ok" if value <= target else "FAIL", f"{value:.3g}; target <= {target:g}"


def show(rows: list[list[str]]) -> None:
    wide = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[column]) for row in wide) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, *[0] * len(row)])).rstrip())
    print()


if __name__ == "__main__":
    sys.exit(main())
