"""Datasets are files of other people: errors with their place, interchange, and hostile ones."""

import json
import os
import time

import yaml
from fakes import tell
from judging import Finding, World, case, check, command, equal, order, outcomes, places, run, scenario

FINE = "version: 1\ncases:\n  - name: one\n    ask: Hello\n    scorers:\n      - outcome: done\n"


@scenario
def error_places(world: World) -> None:
    """every error has file, line and column, all of them at once; no model is asked"""
    project = world.project()
    broken = "version: 1\ncases:\n  - name: one\n    ask: Hello\n    scorrers:\n      - outcome: done\n  - name: one\n    ask: Again\n    scorers:\n      - contians: x\n  - ask: nameless\n    scorers:\n      - number: {near: many}\n"
    project.dataset("d", broken)
    done = command(project, "run", "d", codes=(2,))
    got = places(done.err)
    check((5, 5) in got, f"the unknown key `scorrers` at 5:5: {sorted(got)}")
    check((10, 9) in got, f"the unknown scorer `contians` at 10:9: {sorted(got)}")
    check(any(line == 13 for line, _ in got), f"the text for a number in line 13: {sorted(got)}")
    check(any(line == 7 for line, _ in got), f"the second case named `one` in line 7: {sorted(got)}")
    check("scorers" in done.err and "contains" in done.err, "no correction is proposed for `scorrers` and `contians`")
    check("Traceback" not in done.err, "a traceback")
    equal(len(world.fakes.requests), 0, "model calls")


@scenario
def error_syntax(world: World) -> None:
    """YAML that cannot be parsed: line and column, exit 2; other datasets are still listed"""
    project = world.project()
    project.dataset("bad", "version: 1\ncases:\n  - name: [one\n    ask: x\n")
    project.dataset("good", FINE)
    done = command(project, "run", "bad", codes=(2,))
    check(places(done.err) and "Traceback" not in done.err, f"no place: {done.err[:200]!r}")
    done = command(project, "list", codes=(0, 2))
    check("good" in done.out, "`eval list` does not list the good dataset")


@scenario
def version_unknown(world: World) -> None:
    """a file of a later version is refused, not half understood"""
    project = world.project()
    project.dataset("later", FINE.replace("version: 1", "version: 9"))
    done = command(project, "run", "later", codes=(2,))
    check("version" in done.err and "9" in done.err, f"message: {done.err[:200]!r}")


@scenario
def json_schema(world: World) -> None:
    """the JSON Schema that the file's first line names accepts datasets and rejects misspelt keys"""
    import jsonschema

    project = world.project()
    project.dataset("d", [case("c", recorded=[order()])])
    schema = json.loads(command(project, "schema").out)
    jsonschema.validate(project.read("d"), schema)
    try:
        jsonschema.validate({"version": 1, "cases": [{"name": "c", "ask": "x", "scorrers": []}]}, schema)
        check(False, "the schema accepts `scorrers`")
    except jsonschema.ValidationError:
        pass


@scenario
def pydantic_export(world: World) -> None:
    """the real pydantic-evals loads an exported dataset and runs it: names, inputs, expected outputs, evaluators"""
    from pydantic_evals import Dataset

    project = world.project()
    project.dataset("d", [
        case("one", ask="What is it?", scorers=[{"contains": "120"}, {"equals": "expected"}], more={"expected": "It is 120."}),
        case("two", ask="Is it polite?", scorers=[{"judge": {"rubric": "It is polite.", "model": "judge"}}], recorded=[order()]),
    ])
    command(project, "export", "d", "--to", "pydantic-evals", "-o", "exported.yaml")
    loaded = Dataset[object, object, object].from_file(project.folder / "exported.yaml")
    equal([(item.name, item.expected_output) for item in loaded.cases], [("one", "It is 120."), ("two", None)], "names and expected outputs")
    check("What is it?" in json.dumps(loaded.cases[0].inputs), "the question is not in `inputs`")
    names = [type(evaluator).__name__ for evaluator in loaded.cases[0].evaluators]
    equal(sorted(names), ["Contains", "EqualsExpected"], "evaluators of the first case")
    equal([type(evaluator).__name__ for evaluator in loaded.cases[1].evaluators], ["LLMJudge"], "evaluators of the second case")
    loaded.cases = loaded.cases[:1]
    report = loaded.evaluate_sync(lambda inputs: "It is 120.", progress=False)
    check(all(all(assertion.value for assertion in each.assertions.values()) for each in report.cases), "pydantic-evals judges the expected output as wrong")


@scenario
def pydantic_import(world: World) -> None:
    """a dataset that pydantic-evals wrote is imported and run"""
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Contains, EqualsExpected

    project = world.project()
    made = Dataset(name="theirs", cases=[Case(name="x", inputs=tell("hello", say="HELLO"), expected_output="HELLO", metadata={"by": "kim"}, evaluators=(Contains("ELL"),))], evaluators=[EqualsExpected()])
    made.to_file(project.folder / "theirs.yaml")
    command(project, "import", "theirs.yaml", "--into", "ours")
    equal(outcomes(run(project, "ours")), {"x": "passed"}, "outcome")
    equal(sorted(next(iter(scorer)) for scorer in [*project.read("ours").get("scorers", []), *project.read("ours")["cases"][0]["scorers"]]), ["contains", "equals"], "scorers")


@scenario
def pydantic_round_trip(world: World) -> None:
    """export and import give the same cases, also what pydantic-evals has no word for"""
    project = world.project()
    cases = [
        case("one", ask="Hello", scorers=[{"contains": "x"}, {"tool_calls": {"expect": ["get_order"], "order": "any"}}, {"cost": {"at_most": 0.5}}], recorded=[order()], more={"expected": "y"}),
        case("two", ask=["first", "second"], scorers=[{"judge": {"rubric": "r", "model": "judge"}}], more={"history": [{"user": "a"}, {"assistant": "b"}]}),
    ]
    project.dataset("d", cases)
    command(project, "export", "d", "--to", "pydantic-evals", "-o", "x.yaml")
    from pydantic_evals import Dataset

    Dataset[object, object, object].from_file(project.folder / "x.yaml").to_file(project.folder / "y.yaml")
    command(project, "import", "y.yaml", "--into", "back")
    equal(project.read("back")["cases"], cases, "the cases after the round trip")


@scenario
def import_unknown_evaluator(world: World) -> None:
    """an evaluator that we have not: named, refused with exit 2; with `--skip-unknown` imported without it"""
    project = world.project()
    (project.folder / "theirs.yaml").write_text("cases:\n- name: x\n  inputs: hello\nevaluators:\n- TheirOwn: {a: 1}\n")
    done = command(project, "import", "theirs.yaml", "--into", "ours", codes=(2,))
    check("TheirOwn" in done.err, f"message: {done.err[:200]!r}")
    command(project, "import", "theirs.yaml", "--into", "ours", "--skip-unknown")


@scenario
def hostile_bomb(world: World) -> None:
    """a YAML bomb of aliases is refused within seconds and little memory"""
    project = world.project()
    levels = "\n".join(f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 10)}]" for level in range(1, 12))
    project.dataset("bomb", f"x0: &x0 [lol, lol]\n{levels}\nversion: 1\ncases: *x11\n")
    done = command(project, "run", "bomb", codes=(2,), timeout=60)
    Finding.latest.figures |= {"seconds": f"{done.seconds:.1f}", "peak": f"{done.peak_mb:.0f} MB"}
    check(done.seconds < 20 and done.peak_mb < 400, f"took {done.seconds:.0f} s and {done.peak_mb:.0f} MB")
    check("Traceback" not in done.err, "a traceback")


@scenario
def hostile_deep(world: World) -> None:
    """thousands of nested brackets are refused without a traceback"""
    project = world.project()
    project.dataset("deep", "version: 1\ncases: " + "[" * 20_000 + "]" * 20_000 + "\n")
    done = command(project, "run", "deep", codes=(2,), timeout=60)
    check("Traceback" not in done.err and done.seconds < 30, f"{done.seconds:.0f} s: {done.err[-200:]!r}")


@scenario
def hostile_huge(world: World) -> None:
    """a file of 300 MB is refused by its size, without being read"""
    project = world.project()
    path = project.folder / "evals" / "huge.yaml"
    with open(path, "wb") as file:
        file.write(b"version: 1\ncases: []\n#")
        file.truncate(300 << 20)
    done = command(project, "run", "huge", codes=(2,), timeout=60)
    check(done.peak_mb < 300 and done.seconds < 20, f"took {done.seconds:.0f} s and {done.peak_mb:.0f} MB")
    check("huge" in done.err and "Traceback" not in done.err, f"message: {done.err[:200]!r}")


@scenario
def hostile_names(world: World) -> None:
    """datasets and files cannot leave the folder: `..`, absolute paths, links; nothing outside is read or written"""
    project = world.project()
    outside = project.folder.parent / f"{project.folder.name}-outside.yaml"
    outside.write_text(FINE)
    for name in (f"../../{outside.stem}", str(outside), "..", "a/../../b", "x y/../z", "-rf"):
        done = command(project, "run", "--", name, codes=(1, 2))
        check("Traceback" not in done.err, f"{name!r}: a traceback")
    equal(len(world.fakes.requests), 0, "model calls")
    os.symlink(outside, project.folder / "evals" / "link.yaml")
    command(project, "run", "link", codes=(2,))
    secret = project.folder.parent / f"{project.folder.name}-secret.txt"
    secret.write_text("the secret text")
    project.dataset("file", [case("c", ask={"text": tell("x", say="ok"), "files": [f"../../{secret.name}"]})])
    command(project, "run", "file", codes=(2,))
    check("the secret text" not in json.dumps([request.body for request in world.fakes.requests]), "a file outside was sent to the model")
    project.dataset("d", FINE)
    done = command(project, "import", "evals/d.yaml", "--into", "../escaped", codes=(1, 2))
    check(not (project.folder / "escaped.yaml").exists(), "a file was written outside")


@scenario
def hostile_tags(world: World) -> None:
    """tags that build Python objects are refused and do nothing"""
    project = world.project()
    project.dataset("tags", f"version: 1\ncases: !!python/object/apply:os.system ['touch {project.folder}/owned']\n")
    done = command(project, "run", "tags", codes=(2,))
    check(not (project.folder / "owned").exists(), "the file's command was run")
    check("Traceback" not in done.err, "a traceback")


@scenario
def hostile_terminal(world: World) -> None:
    """control characters of names and answers do not reach the terminal"""
    project = world.project()
    project.dataset("d", yaml.safe_dump({"version": 1, "cases": [case("bad\x1b]0;owned\x07", "\x1b[2J no", scorers=[{"equals": "yes"}])]}))
    done = command(project, "run", "d", codes=(1, 2))
    check("\x1b" not in done.out and "\x07" not in done.out and "\x1b" not in done.err, "control characters in the table")


@scenario
def two_at_once(world: World) -> None:
    """two evaluations of one project at the same time: both end, both results are whole"""
    project = world.project()
    project.dataset("d", [case(f"c{number}", "yes", scorers=[{"equals": "yes"}], ms=60) for number in range(15)])
    processes = [project.start("eval", "run", "d", "--label", label, "--fresh") for label in ("one", "two")]
    end = time.monotonic() + 90
    codes = [process.wait(max(1, end - time.monotonic())) for process in processes]
    equal(codes, [0, 0], "exit codes")
    results = json.loads(command(project, "list", "--results", "--format", "json").out)["results"]
    equal(sorted((result["label"], result["passed"]) for result in results), [("one", 15), ("two", 15)], "results")
