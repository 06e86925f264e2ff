"""Two results side by side: paired, exact, and honest about what they do not show."""

import json
import xml.etree.ElementTree as ElementTree

from judging import World, case, check, command, equal, order, outcomes, run, scenario
from project import Project


def two_models(project: Project, *, both: int, only_a: int, only_b: int, neither: int) -> None:
    """Runs one dataset with the models a and b, so that so many cases pass with both, one and none; labels `a` and `b`."""
    groups = {"both": (both, "yes", "yes"), "only_a": (only_a, "yes", "no"), "only_b": (only_b, "no", "yes"), "neither": (neither, "no", "no")}
    cases = [case(f"{group}-{number}", {"a": a, "b": b}, scorers=[{"equals": "yes"}]) for group, (count, a, b) in groups.items() for number in range(count)]
    project.dataset("pairs", cases)
    for model in ("a", "b"):
        run(project, "pairs", "--model", model, "--label", model)


def compare(project: Project, *words: str, codes: tuple[int, ...] = (0,)) -> dict:
    return command(project, "compare", *words, "--format", "json", codes=codes).json


@scenario
def compare_better(world: World) -> None:
    """1 case worse, 8 better of 30: exact McNemar p = 20/512; the verdict is `better`"""
    project = world.project()
    two_models(project, both=15, only_a=1, only_b=8, neither=6)
    got = compare(project, "a", "b")
    equal((got["cases"], got["both_passed"], got["only_a_passed"], got["only_b_passed"], got["neither_passed"]), (30, 15, 1, 8, 6), "the table")
    check(abs(got["p_value"] - 20 / 512) < 1e-6, f"p: expected 0.0390625, got {got['p_value']}")
    equal(got["verdict"], "better", "verdict")
    check(abs(got["difference"] - 7 / 30) < 1e-9, f"difference: expected 0.2333, got {got['difference']}")
    low, high = got["interval"]
    check(-1 <= low < 7 / 30 < high <= 1 and low > 0, f"95 % interval: got {got['interval']}")
    back = compare(project, "b", "a")
    equal((back["verdict"], round(back["p_value"], 9)), ("worse", round(got["p_value"], 9)), "the other way round")
    equal(compare(project, "a", "b")["interval"], got["interval"], "the interval, computed again")


@scenario
def compare_nothing_shown(world: World) -> None:
    """0 worse, 5 better: p = 1/16. It says that no difference is shown, and how many cases would be needed"""
    project = world.project()
    two_models(project, both=10, only_a=0, only_b=5, neither=0)
    got = compare(project, "a", "b")
    check(abs(got["p_value"] - 0.0625) < 1e-6, f"p: expected 0.0625, got {got['p_value']}")
    equal(got["verdict"], "no difference shown", "verdict")
    text = command(project, "compare", "a", "b").out
    check("no difference shown" in text.lower(), f"the table does not say it: {text[-200:]!r}")
    check("6" in got["sentence"], f"the sentence does not say what would show one (6 of 6): {got['sentence']!r}")


@scenario
def compare_same(world: World) -> None:
    """a result with itself: p = 1, difference 0, no difference shown"""
    project = world.project()
    two_models(project, both=4, only_a=0, only_b=0, neither=2)
    got = compare(project, "a", "b")
    equal((got["p_value"], got["difference"], got["verdict"]), (1.0, 0.0, "no difference shown"), "p, difference, verdict")


@scenario
def compare_repeats(world: World) -> None:
    """with repetitions the case is the unit: 6 cases that win 1 of 3 attempts give p = 2/64, not that of 18 pairs"""
    project = world.project()
    flips = {"a": ["no", "no", "no"], "b": ["yes", "no", "no"]}
    project.dataset("pairs", [case(f"c{number}", flip=flips, scorers=[{"equals": "yes"}]) for number in range(6)])
    for model in flips:
        run(project, "pairs", "--model", model, "--label", model, "--repeat", "3", "--concurrency", "1")
    got = compare(project, "a", "b")
    check(abs(got["p_value"] - 2 / 64) < 1e-6, f"p: expected 0.03125, got {got['p_value']}")
    check(abs(got["difference"] - 1 / 3) < 1e-9, f"difference: expected 0.333, got {got['difference']}")


@scenario
def compare_exact_beyond_20(world: World) -> None:
    """25 discordant pairs, 7 against 18: p = 0.0432852507, to six digits"""
    project = world.project()
    two_models(project, both=5, only_a=7, only_b=18, neither=0)
    got = compare(project, "a", "b")
    check(abs(got["p_value"] - 0.0432852507) < 1e-6, f"p: expected 0.0432853, got {got['p_value']}")


@scenario
def compare_configurations(world: World) -> None:
    """another configuration file and `--set` are variants; the report names what differs and lists the changed cases"""
    project = world.project()
    project.dataset("d", [case("c", {"a": "yes", "b": "no"}, scorers=[{"equals": "yes"}]), case("same", "yes", scorers=[{"equals": "yes"}])])
    agents = {"default": {"type": "loop", "model": "b", "instructions": "Be brief.", "tools": ["shop:tools"]}}
    project.configure("other.yaml", agents=agents)
    equal(outcomes(run(project, "d", "--label", "one")), {"c": "passed", "same": "passed"}, "rightseat.yaml")
    equal(outcomes(run(project, "d", "-c", "other.yaml", "--label", "two")), {"c": "failed", "same": "passed"}, "other.yaml")
    check("Be brief." in world.fakes.requests[-1].texts, "the other configuration's instructions did not reach the model")
    got = compare(project, "one", "two")
    equal([change["name"] for change in got["changed"]], ["c"], "changed cases")
    check("agents.default.model" in json.dumps(got.get("variant_difference")), f"what differs: {got.get('variant_difference')}")
    result = run(project, "d", "--set", "agents.default.instructions=Sing.", "--label", "three")
    check("Sing." in world.fakes.requests[-1].texts, "--set did not reach the model")
    check("Sing." in json.dumps(result["variant"]), "the result does not say what was set")
    command(project, "run", "d", "--set", "agents.default.instrctions=x", codes=(1, 2))


@scenario
def compare_other_cases(world: World) -> None:
    """cases that only one result has, or whose content has changed, are named and not compared"""
    project = world.project()
    yes = [{"equals": "yes"}]
    project.dataset("d", [case("kept", "yes", scorers=yes), case("gone", "yes", scorers=yes), case("edited", "yes", scorers=yes)])
    run(project, "d", "--label", "one")
    project.dataset("d", [case("kept", "yes", scorers=yes), case("new", "yes", scorers=yes), case("edited", "no", scorers=yes)])
    run(project, "d", "--label", "two")
    got = compare(project, "one", "two")
    equal((got["cases"], got["only_in_a"], got["only_in_b"], got["edited"]), (1, ["gone"], ["new"], ["edited"]), "cases")


@scenario
def compare_exit_codes(world: World) -> None:
    """`--fail-on worse` exits 1 only where worse is shown; unknown results exit 1 with one line"""
    project = world.project()
    two_models(project, both=2, only_a=0, only_b=8, neither=0)
    command(project, "compare", "a", "b", "--fail-on", "worse")
    command(project, "compare", "b", "a", "--fail-on", "worse", codes=(1,))
    command(project, "compare", "b", "a")
    command(project, "compare", "a", "b", "--fail-on", "difference", codes=(1,))
    done = command(project, "compare", "a", "nothing", codes=(1,))
    check("nothing" in done.err and len(done.err.strip().splitlines()) <= 2, f"message: {done.err[:200]!r}")


@scenario
def repeat_flaky(world: World) -> None:
    """3 repetitions are 3 calls of the model, not one call and a cache; a case that passes twice is flaky, not passed"""
    project = world.project()
    project.dataset("d", [case("flaky", flip=["yes", "no", "yes"], scorers=[{"equals": "yes"}]), case("steady", "yes", scorers=[{"equals": "yes"}])])
    result = run(project, "d", "--repeat", "3", "--concurrency", "1", codes=(1,))
    equal(len(world.fakes.requests), 6, "model calls")
    found = {item["name"]: item for item in result["cases"]}
    equal((found["flaky"]["outcome"], round(found["flaky"]["pass_rate"], 3), found["flaky"].get("flaky")), ("failed", 0.667, True), "the flaky case")
    equal((found["steady"]["outcome"], found["steady"]["pass_rate"], found["steady"].get("flaky")), ("passed", 1.0, False), "the steady case")
    low, high = result["totals"]["interval"]
    check(0 <= low < result["totals"]["pass_rate"] < high <= 1, f"interval of the pass rate: {result['totals']['interval']}")


@scenario
def exit_codes(world: World) -> None:
    """0 passed, 1 below the threshold, 2 files or options are wrong, 3 it could not be judged"""
    project = world.project()
    project.dataset("d", [case(f"c{number}", "yes" if number < 8 else "no", scorers=[{"equals": "yes"}]) for number in range(10)])
    command(project, "run", "d", codes=(1,))
    command(project, "run", "d", "--threshold", "0.8")
    command(project, "run", "d", "--threshold", "0.81", codes=(1,))
    command(project, "run", "d", "--threshold", "80", codes=(2,))
    command(project, "run", "nothing", codes=(2,))
    command(project, "run", "d", "--case", "no-such-*", codes=(2,))
    command(project, "run", "d", "--case", "c[0-3]")
    project.dataset("down", [case("fine"), case("down", status=500)])
    result = run(project, "down", codes=(3,))
    equal(outcomes(result), {"fine": "passed", "down": "error"}, "with a provider that fails")


@scenario
def junit(world: World) -> None:
    """JUnit XML that a CI reads: counts, one testcase a case, failures with reasons, errors apart, no control characters"""
    project = world.project()
    project.dataset("d", [case("good", "yes", scorers=[{"equals": "yes"}]), case("bad <&>\"'", "no \x1b[31m ]]>", scorers=[{"equals": "yes"}]), case("down", status=500)])
    command(project, "run", "d", "--format", "junit", "-o", "junit.xml", codes=(3,))
    root = ElementTree.parse(project.folder / "junit.xml").getroot()
    suite = root if root.tag == "testsuite" else root.find("testsuite")
    equal((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("3", "1", "1"), "tests, failures, errors")
    cases = {node.get("name"): node for node in suite.findall("testcase")}
    equal(set(cases), {"good", "bad <&>\"'", "down"}, "testcases")
    equal([child.tag for child in cases["good"]], [], "children of the passed case")
    failure = cases["bad <&>\"'"].find("failure")
    check(failure is not None and (failure.get("message") or failure.text), "the failure has no reason")
    check(cases["down"].find("error") is not None, "the error is not an <error>")
    check(all(item.get("classname") == "d" and float(item.get("time")) >= 0 for item in cases.values()), "classname or time is missing")


@scenario
def markdown(world: World) -> None:
    """Markdown for a pull request: short, a table, changed cases; what a model said cannot break or link it"""
    project = world.project()
    evil = "| x | [click](http://evil.test) <img src=x> @everyone\n\n# Title"
    project.dataset("d", [case("good", "yes", scorers=[{"equals": "yes"}]), case("bad", {"a": "yes", "b": evil}, scorers=[{"equals": "yes"}])])
    run(project, "d", "--label", "one")
    run(project, "d", "--model", "b", "--label", "two")
    text = command(project, "compare", "one", "two", "--format", "markdown").out
    check("|" in text and "bad" in text, f"no table with the changed case: {text[:200]!r}")
    check("\n# Title" not in text and "](http://evil.test)" not in text and "<img" not in text, "a model's text is Markdown of the report")
    check(len(text) < 4000, f"{len(text)} characters")
    text = command(project, "run", "d", "--format", "markdown").out
    check("2" in text and "pass" in text.lower(), f"the run's Markdown: {text[:200]!r}")


@scenario
def clean_output(world: World) -> None:
    """with `--format json` only JSON is on stdout; progress is on stderr, without control characters where there is no terminal"""
    project = world.project()
    project.dataset("d", [case(f"c{number}", ms=50) for number in range(10)])
    done = command(project, "run", "d", "--format", "json")
    json.loads(done.out)
    check("\x1b" not in done.err and "\r" not in done.err, "control characters on stderr")
    command(project, "run", "d", "--format", "json", "-o", "result.json")
    equal(json.loads((project.folder / "result.json").read_text())["totals"]["cases"], 10, "the file of -o")


@scenario
def list_shows(world: World) -> None:
    """`eval list` shows datasets, cases and the latest result, and asks no model"""
    project = world.project()
    project.dataset("first", [case("one", "yes", scorers=[{"equals": "yes"}]), case("two", calls=[[["get_order", {"id": 7}]]], recorded=[order()])])
    project.dataset("second", [case("three")])
    run(project, "first", "--label", "main")
    world.fakes.forget()
    got = json.loads(command(project, "list", "--format", "json").out)
    equal({dataset["name"]: dataset["cases"] for dataset in got["datasets"]}, {"first": 2, "second": 1}, "datasets and their cases")
    equal(next(dataset for dataset in got["datasets"] if dataset["name"] == "first")["latest"]["passed"], 2, "the latest result of the first")
    results = json.loads(command(project, "list", "--results", "--format", "json").out)
    equal([result["label"] for result in results["results"]], ["main"], "results")
    equal(len(world.fakes.requests), 0, "model calls")
