"""What an evaluation costs: nothing twice, never more than its budget, and what it says when it stops."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from rightseat.cli import main
from rightseat.evals.result_store import FILE, ResultNotFound, ResultStore
from tests.conditions import wait_until
from tests.evals.directed_model import PROMPTS
from tests.evals.replays import MODEL, loop, tell

YES = [{"equals": "yes"}]
PRICES = {"m": {"input": 1000.0, "output": 2000.0}}
"""An answer of the model, with 100 tokens of input and 20 of output, costs 0.14."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PROMPTS.clear()
    write_config(tmp_path)
    return tmp_path


def write_config(folder: Path, **sections: Any) -> None:
    found = {
        "models": {"m": MODEL, "other": MODEL},
        "agents": {"default": loop(tools=["tests.evals.test_replay:tools"])},
        "prices": PRICES | {"other": PRICES["m"]},
        "server": {"state_dir": str(folder / ".rightseat")},
    }
    (folder / "rightseat.yaml").write_text(yaml.safe_dump(found | sections))


def write_dataset(folder: Path, cases: Sequence[dict[str, Any]], name: str = "d") -> None:
    (folder / "evals").mkdir(exist_ok=True)
    (folder / "evals" / f"{name}.yaml").write_text(json.dumps({"version": 1, "cases": list(cases)}))


def case(name: str, say: str = "yes", scorers: Any = YES, **more: Any) -> dict[str, Any]:
    return {"name": name, "ask": tell(say, name=name), "scorers": scorers, **more}


def run(*words: str, code: int = 0) -> Any:
    """What `eval run … --format json` prints."""
    result = invoke("run", *words, "--format", "json", code=code)
    return json.loads(result.stdout)


def invoke(*words: str, code: int) -> Result:
    result = CliRunner().invoke(main, ["eval", *words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def outcomes(result: Any) -> dict[str, str]:
    return {one["name"]: one["outcome"] for one in result["cases"]}


def test_a_second_run_asks_no_model_and_a_fresh_one_asks_again(project: Path) -> None:
    write_dataset(project, [case("a"), case("b")])
    first, second = run("d"), run("d")

    assert len(PROMPTS) == 2
    assert [one["attempts"][0]["cached"] for one in second["cases"]] == [True, True]
    assert (round(first["totals"]["cost"], 9), second["totals"]["cost"]) == (0.28, 0)
    run("d", "--fresh")
    assert len(PROMPTS) == 4
    run("d", "--repeat", "2")
    assert len(PROMPTS) == 6


def test_another_scorer_judges_stored_attempts(project: Path) -> None:
    write_dataset(project, [case("a")])
    run("d")
    write_dataset(project, [case("a", scorers=[{"equals": "no"}])])

    assert outcomes(run("d", code=1)) == {"a": "failed"}
    assert len(PROMPTS) == 1


@pytest.mark.parametrize(
    "words",
    [("--set", "agents.default.instructions=Sing."), ("--model", "other"), ("--missing", "stub")],
)
def test_another_variant_asks_anew(project: Path, words: tuple[str, ...]) -> None:
    write_dataset(project, [case("a")])
    run("d")
    result = run("d", *words)

    assert len(PROMPTS) == 2
    assert words[-1].rpartition("=")[2] in json.dumps(result["variant"]) or words[0] == "--missing"


def test_a_changed_recording_asks_anew(project: Path) -> None:
    write_dataset(project, [case("a")])
    run("d")
    write_dataset(project, [case("a", recorded=[{"tool": "get_order", "arguments": {"id": 7}, "result": "x"}])])
    run("d")

    assert len(PROMPTS) == 2


def test_an_error_is_not_kept(project: Path) -> None:
    write_dataset(project, [case("a"), {"name": "down", "ask": tell(fail="The provider is down."), "scorers": YES}])
    result = run("d", code=3)
    before = len(PROMPTS)
    run("d", code=3)

    assert outcomes(result) == {"a": "passed", "down": "error"}
    assert len(PROMPTS) == before + 1


def test_a_budget_is_not_exceeded_and_a_larger_one_continues(project: Path) -> None:
    write_dataset(project, [case(f"c{number:02}") for number in range(20)])
    result = run("d", "--budget", "1.5", "--concurrency", "2", code=3)
    done = len(PROMPTS)

    assert 0 < done * 0.14 <= 1.5
    assert (result["complete"], result["stopped"]) == (False, "budget")
    assert (result["totals"]["passed"], result["totals"]["not_run"]) == (done, 20 - done)
    again = run("d", "--budget", "5")
    assert (again["complete"], again["totals"]["passed"], len(PROMPTS)) == (True, 20, 20)


def test_a_budget_bounds_the_answers_and_counts_judges(project: Path) -> None:
    scorers = [{"judge": {"rubric": json.dumps({"say": "x"}), "model": "other"}}]
    write_dataset(project, [case(f"c{number}", scorers=scorers) for number in range(9)])
    result = run("d", "--budget", "1", code=3)

    assert result["stopped"] in ("budget", None)
    assert result["totals"]["cost"] <= 1
    assert {prompt.parameters.max_tokens for prompt in PROMPTS} == {20}


def test_each_new_answer_is_judged_and_stored_ones_keep_their_verdicts(project: Path) -> None:
    rubric = json.dumps({"say": json.dumps({"reason": "fine", "verdict": "pass"})})
    write_dataset(project, [case(name, scorers=[{"judge": {"rubric": rubric, "model": "other"}}]) for name in "abc"])

    assert outcomes(run("d")) == dict.fromkeys("abc", "passed")
    assert len(PROMPTS) == 3 + 3
    run("d")
    assert len(PROMPTS) == 3 + 3


def test_datasets_are_in_the_folder_of_the_configuration(project: Path) -> None:
    write_dataset(project, [case("a")])
    (project / "evals").rename(project / "cases")
    write_config(project, evals={"folder": "cases"})

    assert outcomes(run("d")) == {"a": "passed"}
    assert json.loads(invoke("list", "--format", "json", code=0).stdout)["datasets"][0]["name"] == "d"
    invoke("export", "d", "--to", "pydantic-evals", "-o", "other.yaml", code=0)
    invoke("import", "other.yaml", "--into", "again", code=0)
    assert (project / "cases" / "again.yaml").exists()


def test_a_budget_needs_prices(project: Path) -> None:
    write_config(project, prices={"m": PRICES["m"]})
    write_dataset(project, [case("a")])

    assert "other" in invoke("run", "d", "--budget", "1", code=2).stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("nothing",), "nothing"),
        (("d", "--case", "no-*"), "no-*"),
        (("d", "--model", "othr"), "other"),
        (("d", "--set", "agents.default.instrctions=x"), "instrctions"),
        (("d", "--set", "agnts.default.model=x"), "agents"),
        (("d", "--set", "agents"), "KEY=VALUE"),
        (("d", "--threshold", "80"), "80"),
        (("wrong-agent",), "nobody"),
        (("wrong-parameters",), "temperature"),
    ],
)
def test_wrong_files_and_options_end_with_2(project: Path, words: tuple[str, ...], named: str) -> None:
    write_dataset(project, [case("a")])
    write_dataset(project, [case("a", agent="nobody")], "wrong-agent")
    write_dataset(project, [case("a", parameters={"temperature": "hot"})], "wrong-parameters")

    assert named in invoke("run", *words, code=2).stderr
    assert PROMPTS == []


def test_the_threshold_decides(project: Path) -> None:
    write_dataset(project, [case(f"c{number}", "yes" if number < 8 else "no") for number in range(10)])

    run("d", code=1)
    run("d", "--threshold", "0.8")
    run("d", "--threshold", "0.81", code=1)
    run("d", "--case", "c[0-3]")


def test_results_are_found_by_id_label_and_age(project: Path) -> None:
    write_dataset(project, [case("a")])
    ids = [run("d", *words)["id"] for words in (("--label", "one"), ("--label", "two"), ())]

    with ResultStore(project / ".rightseat" / "evals") as store:
        found = [store.find_result(name).id for name in ("one", ids[1], "last", "last~1", "last~2")]
        with pytest.raises(ResultNotFound, match=r"'tow'.*two"):
            store.find_result("tow")
    assert found == [ids[0], ids[1], ids[2], ids[1], ids[0]]


def test_the_attempts_and_results_of_a_case_are_forgotten(project: Path) -> None:
    write_dataset(project, [case("a")])
    run("d")
    with ResultStore(project / ".rightseat" / "evals") as store:
        store.forget_case("d", "a")

        assert store.list_results() == []
    with closing(sqlite3.connect(project / ".rightseat" / "evals" / FILE)) as database:
        assert database.execute("SELECT count(*) FROM attempts").fetchone() == (0,)


def test_the_usage_report_has_the_calls(project: Path) -> None:
    write_config(project, faces=[{"type": "usage"}])
    write_dataset(project, [case("a"), case("b")])
    run("d")

    shown = CliRunner().invoke(main, ["usage", "--by", "purpose,model", "--json"], catch_exceptions=False)
    (row,) = json.loads(shown.stdout)["rows"]
    assert (row["purpose"], row["model"], row["input_tokens"], row["output_tokens"]) == ("eval", "m", 200, 40)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_run_is_continued(project: Path, number: signal.Signals, code: int) -> None:
    write_config(project, models={"m": MODEL | {"gate": str(project / "gate")}})
    waiting = [{"name": f"w{n}", "ask": tell("yes", name=f"w{n}", waits=True), "scorers": YES} for n in range(3)]
    write_dataset(project, [case("a"), case("b"), case("c"), *waiting])
    words = [sys.executable, "-m", "rightseat", "eval", "run", "d", "--concurrency", "2", "--label", "cut"]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(words, cwd=project, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.DEVNULL)
    wait_until(lambda: count_attempts(project) == 3 and len(list(project.glob("gate.*"))) == 2, 30)
    process.send_signal(number)
    ended = process.wait(30)
    (project / "gate").touch()
    result = run("d")

    assert ended == code
    assert (result["totals"]["passed"], result["complete"]) == (6, True)
    assert len(PROMPTS) == 3
    with ResultStore(project / ".rightseat" / "evals") as store:
        cut = [(one.stopped, one.totals.passed) for one in store.list_results() if one.label == "cut"]
    assert cut == ([("interrupted", 3)] if number is signal.SIGINT else [])


def count_attempts(folder: Path) -> int:
    if not (file := folder / ".rightseat" / "evals" / FILE).exists():
        return 0
    try:
        with closing(sqlite3.connect(file)) as database:
            return int(database.execute("SELECT count(*) FROM attempts").fetchone()[0])
    except sqlite3.OperationalError:  # the table is not there yet
        return 0
