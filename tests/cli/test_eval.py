"""`rightseat eval`: the commands that ask no model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rightseat.cli import main
from rightseat.evals.attempts import Attempt, Score
from rightseat.evals.dataset import read_dataset
from rightseat.evals.result_store import ResultStore
from rightseat.evals.results import EvalResult, Variant, make_attempt_result, make_case_result, make_totals

CASES = "version: 1\ncases:\n" + "".join(
    f"  - name: c{number}\n    ask: Hello\n    scorers: [{{equals: yes it is}}]\n" for number in range(8)
)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "pairs.yaml").write_text(CASES, encoding="utf-8")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["eval", *words])


def store(label: str, passes: list[bool]) -> None:
    dataset = read_dataset(Path("evals"), "pairs").dataset
    cases = [
        make_case_result(
            "pairs",
            dataset,
            case,
            [make_attempt_result(Attempt(case=case.name, number=1, text="no"), [Score("equals", passed, "why")])],
        )
        for case, passed in zip(dataset.cases, passes, strict=True)
    ]
    result = EvalResult(
        id=f"eval_{label}",
        label=label,
        at="2026-11-19T12:00:00+00:00",
        repeat=1,
        complete=True,
        stopped=None,
        variant=Variant(config="rightseat.yaml"),
        totals=make_totals(len(cases), cases, 0.0, 1.0),
        cases=cases,
    )
    with ResultStore(Path(".rightseat", "evals")) as results:
        results.add_result(result)


def test_datasets_are_listed_with_their_latest_result(project: Path) -> None:
    (project / "evals" / "plain.yaml").write_text("version: 1\ncases:\n  - {name: a, ask: b}\n", encoding="utf-8")
    store("main", [True] * 6 + [False] * 2)
    listed = json.loads(run("list", "--format", "json").stdout)["datasets"]
    assert [(row["name"], row["cases"], row["unscored"]) for row in listed] == [("pairs", 8, 0), ("plain", 1, 1)]
    assert listed[0]["latest"]["passed"] == 6
    text = run("list").stdout
    assert "pairs    8              main           6 of 8" in text
    assert "1, 1 unscored" in text
    assert "plain" not in run("list", "pairs").stdout


def test_a_broken_dataset_does_not_hide_the_others(project: Path) -> None:
    (project / "evals" / "bad.yaml").write_text("version: 1\ncases: [\n", encoding="utf-8")
    done = run("list")
    assert (done.exit_code, "pairs" in done.stdout) == (2, True)
    assert done.stderr.startswith("evals/bad.yaml:3:1: this is not YAML")


def test_results_are_listed(project: Path) -> None:
    assert "There are no results yet." in run("list", "--results").stderr
    store("main", [True] * 8)
    (row,) = json.loads(run("list", "--results", "--format", "json").stdout)["results"]
    assert (row["label"], row["passed"], row["complete"], row["datasets"]) == ("main", 8, True, ["pairs"])
    assert "eval_main  main   2026-11-19 12:00:00  pairs     8 of 8" in run("list", "--results").stdout
    assert json.loads(run("list", "other", "--results", "--format", "json").stdout)["results"] == []


def test_compare_fails_only_where_something_is_shown() -> None:
    store("a", [False] * 8)
    store("b", [True] * 8)
    assert run("compare", "a", "b").exit_code == 0
    assert run("compare", "a", "b", "--fail-on", "worse").exit_code == 0
    assert run("compare", "b", "a", "--fail-on", "worse").exit_code == 1
    assert run("compare", "last~1", "last", "--fail-on", "difference").exit_code == 1
    assert run("compare", "a", "a", "--fail-on", "difference").exit_code == 0
    assert json.loads(run("compare", "a", "eval_b", "--format", "json").stdout)["verdict"] == "better"


def test_an_unknown_result_is_one_line() -> None:
    done = run("compare", "a", "nothing")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1


def test_a_dataset_is_exported_and_imported(project: Path) -> None:
    assert run("export", "pairs", "--to", "pydantic-evals", "-o", "x.yaml").exit_code == 0
    done = run("import", "x.yaml", "--into", "back")
    assert done.output == "Imported into evals/back.yaml.\n"
    assert read_dataset(Path("evals"), "back").dataset == read_dataset(Path("evals"), "pairs").dataset
    assert run("export", "pairs", "--to", "pydantic-evals").stdout == Path("x.yaml").read_text(encoding="utf-8")


def test_errors_in_files_exit_with_2_and_reach_no_terminal_as_they_are(project: Path) -> None:
    (project / "x.yaml").write_text('cases: [{name: "a\\e]0;b", inputs: c, evaluators: [Own]}]\n', encoding="utf-8")
    done = run("import", "x.yaml", "--into", "ours")
    assert (done.exit_code, "'Own'" in done.stderr) == (2, True)
    done = run("import", "x.yaml", "--into", "ours", "--skip-unknown")
    assert done.exit_code == 2
    assert "\x1b" not in done.output
    assert run("import", "x.yaml", "--into", "../ours").exit_code == 2


def test_the_schema_is_json() -> None:
    assert json.loads(run("schema").stdout)["title"] == "A dataset of rightseat"
