"""What an evaluation costs: never more than its budget, nothing twice, and little beside the model's own time."""

import asyncio
import json
import os
import signal
import subprocess
import time

import aiohttp
from fakes import tell
from judging import Broken, Finding, World, attempt, case, check, command, equal, order, outcomes, run, scenario
from project import Project

from tests.acceptance._lib.scenarios import until

YES = [{"equals": "yes"}]


@scenario
def concurrency_bound(world: World) -> None:
    """40 cases with `--concurrency 5`: never more than 5 model calls at once, and really several"""
    project = world.project()
    project.dataset("d", [case(f"c{number}", "yes", scorers=YES, ms=120) for number in range(40)])
    run(project, "d", "--concurrency", "5")
    check(3 <= world.fakes.most <= 5, f"calls at once: expected 3 to 5, got {world.fakes.most}")
    world.fakes.forget()
    run(project, "d", "--concurrency", "1", "--fresh")
    equal(world.fakes.most, 1, "calls at once with --concurrency 1")


@scenario
def budget_stops(world: World) -> None:
    """40 cases that cost 5.60 with a budget of 4.00: it stops before that is exceeded, exits 3, and reports what is missing"""
    project = world.project()
    project.dataset("d", [case(f"c{number:02}", "yes", scorers=YES, ms=20, **{"in": 100, "out": 20}) for number in range(40)])
    result = run(project, "d", "--budget", "4", "--concurrency", "4", codes=(3,))
    spent = world.fakes.cost()
    check(spent <= 4 + 1e-9, f"spent {spent:.2f} of 4.00")
    check(spent >= 2, f"it stopped after {spent:.2f} of 4.00: reservations that are settled come back")
    equal((result["complete"], result["stopped"]), (False, "budget"), "complete, stopped")
    done = sum(item["outcome"] == "passed" for item in result["cases"])
    equal(done, len(world.fakes.requests), "cases that were run, and model calls")
    equal(result["totals"].get("not_run"), 40 - done, "totals.not_run")
    Finding.latest.figures |= {"spent": f"{spent:.2f}", "of": "4.00"}


@scenario
def budget_counts_judges(world: World) -> None:
    """the judge's calls are paid from the same budget"""
    project = world.project()
    project.dataset("d", [case(f"c{number}", "yes", scorers=[{"judge": {"rubric": "r", "model": "judge"}}]) for number in range(20)])
    run(project, "d", "--budget", "4", "--concurrency", "2", codes=(3,))
    check(world.fakes.of("judge"), "the judge was never asked")
    check(world.fakes.cost() <= 4 + 1e-9, f"spent {world.fakes.cost():.2f} of 4.00")


@scenario
def budget_continues(world: World) -> None:
    """a second start with more budget pays only for what is missing"""
    project = world.project()
    project.dataset("d", [case(f"c{number:02}", "yes", scorers=YES) for number in range(20)])
    run(project, "d", "--budget", "2", codes=(3,))
    result = run(project, "d", "--budget", "5")
    equal(len(world.fakes.requests), 20, "model calls of both starts")
    equal((result["complete"], result["totals"]["passed"]), (True, 20), "complete, passed")


def wait_for_calls(world: World, process: subprocess.Popen, count: int) -> None:
    """Until so many model calls are answered, or the process has ended."""
    until(lambda: process.poll() is not None or sum(request.state == "done" for request in world.fakes.requests) >= count, f"{count} model calls", seconds=60)


@scenario
def kill9_resume(world: World) -> None:
    """kill -9 in the middle of 30 cases; the next start pays again for no more than was open, and the result is whole"""
    project = world.project()
    project.dataset("d", [case(f"c{number:02}", "yes", scorers=YES, ms=150) for number in range(30)])
    process = project.start("eval", "run", "d", "--concurrency", "3", "--format", "json")
    wait_for_calls(world, process, 12)
    still_runs(project, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    result = run(project, "d", "--concurrency", "3")
    equal((result["totals"]["passed"], result["complete"]), (30, True), "passed, complete")
    twice = len(world.fakes.requests) - 30
    check(0 <= twice <= 4, f"{twice} model calls were paid twice: expected at most the 3 that were open, and one whose answer was not written")
    Finding.latest.figures["twice"] = twice


@scenario
def interrupt(world: World) -> None:
    """Ctrl-C ends it within seconds, with what there is, as incomplete"""
    project = world.project()
    project.dataset("d", [case(f"c{number:02}", "yes", scorers=YES, ms=300) for number in range(50)])
    process = project.start("eval", "run", "d", "--concurrency", "2", "--label", "cut")
    wait_for_calls(world, process, 4)
    still_runs(project, process)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    code = process.wait(20)
    check(code in (130, 3, -2, 1), f"exit code {code}")
    check(time.monotonic() - began < 8, f"it took {time.monotonic() - began:.0f} s to end")
    results = json.loads(command(project, "list", "--results", "--format", "json").out)["results"]
    equal([(result["label"], result["complete"]) for result in results], [("cut", False)], "results")


@scenario
def cache_unchanged(world: World) -> None:
    """a second start asks the model for nothing; `--fresh` asks anew; more repetitions ask for the new ones only"""
    project = world.project()
    project.dataset("d", [case(f"c{number}", "yes", scorers=YES) for number in range(5)])
    run(project, "d")
    result = run(project, "d")
    equal(len(world.fakes.requests), 5, "model calls of two starts")
    check(all(attempt(result, f"c{number}").get("cached") for number in range(5)), "attempts are not marked as cached")
    equal(result["totals"].get("cost"), 0, "cost of the second start")
    run(project, "d", "--fresh")
    equal(len(world.fakes.requests), 10, "model calls with --fresh")
    run(project, "d", "--repeat", "3")
    equal(len(world.fakes.requests), 20, "model calls with two more repetitions of each")


@scenario
def cache_rescore(world: World) -> None:
    """a changed scorer judges the stored answers anew, without the model"""
    project = world.project()
    project.dataset("d", [case("c", "yes", scorers=YES)])
    run(project, "d")
    project.dataset("d", [case("c", "yes", scorers=[{"equals": "no"}])])
    equal(outcomes(run(project, "d", codes=(1,))), {"c": "failed"}, "with another scorer")
    equal(len(world.fakes.requests), 1, "model calls")


@scenario
def cache_invalidated(world: World) -> None:
    """changed instructions, another model, a changed case or recording, a changed tool description: asked anew"""
    project = world.project()
    project.dataset("d", [case("c", "yes", scorers=YES, recorded=[order()])])
    run(project, "d")
    run(project, "d", "--set", "agents.default.instructions=Sing.")
    equal(len(world.fakes.requests), 2, "model calls after other instructions")
    run(project, "d", "--model", "b")
    equal(len(world.fakes.requests), 3, "model calls after another model")
    project.dataset("d", [case("c", "yes", scorers=YES, recorded=[order(result="other")])])
    run(project, "d")
    equal(len(world.fakes.requests), 4, "model calls after another recording")
    shop = project.folder / "shop.py"
    shop.write_text(shop.read_text().replace("Look up an order.", "Look up one order by its number."))
    run(project, "d")
    equal(len(world.fakes.requests), 5, "model calls after another tool description")


@scenario
def errors_not_cached(world: World) -> None:
    """a provider that failed is asked again at the next start"""
    project = world.project()
    project.dataset("d", [case("c", status=500)])
    run(project, "d", codes=(3,))
    before = len(world.fakes.requests)
    run(project, "d", codes=(3,))
    check(len(world.fakes.requests) > before, "the failure was taken from the cache")


@scenario
def overhead_1000(world: World) -> None:
    """1,000 cases of 60 ms, 20 at once: at most 2.5 times the bare model calls and 8 s, and 400 MB"""
    project = world.project()
    cases = [case(f"c{number:04}", "yes", scorers=[{"contains": "yes"}, {"tool_calls": {"deny": ["refund"]}}], recorded=[order(number)], ms=60) for number in range(1000)]
    project.dataset("big", json.dumps({"version": 1, "cases": cases}))
    bare = asyncio.run(call_bare(project, [item["ask"] for item in cases], 20))
    world.fakes.forget()
    result = run(project, "big", "--concurrency", "20", timeout=300)
    equal((len(world.fakes.requests), result["totals"]["passed"]), (1000, 1000), "model calls, passed cases")
    ratio = result["seconds_taken"] / bare
    Finding.latest.figures |= {"bare": f"{bare:.1f} s", "eval": f"{result['seconds_taken']:.1f} s", "ratio": f"{ratio:.2f}", "peak": f"{result['peak_mb']:.0f} MB"}
    check(result["seconds_taken"] <= 2.5 * bare + 8, f"took {result['seconds_taken']:.1f} s, the bare calls {bare:.1f} s")
    check(result["peak_mb"] <= 400, f"{result['peak_mb']:.0f} MB")
    again = run(project, "big", "--concurrency", "20", timeout=300)
    check(again["seconds_taken"] < 12 and len(world.fakes.requests) == 1000, f"from the cache: {again['seconds_taken']:.1f} s, {len(world.fakes.requests) - 1000} model calls")


def still_runs(project: Project, process: subprocess.Popen) -> None:
    if process.poll() is not None:
        raise Broken(f"it ended by itself with exit {process.returncode}: {(project.folder / 'err.txt').read_text().strip()[-200:]!r}")


async def call_bare(project: Project, questions: list[str], most: int) -> float:
    gate = asyncio.Semaphore(most)
    async with aiohttp.ClientSession() as http:

        async def call(text: str) -> None:
            body = {"model": "a", "stream": True, "messages": [{"role": "user", "content": text}]}
            async with gate, http.post(f"{project.fakes.url}/v1/chat/completions", json=body) as response:
                await response.read()

        await call(tell("warm", say="x"))
        began = time.monotonic()
        await asyncio.gather(*(call(text) for text in questions))
        return time.monotonic() - began
