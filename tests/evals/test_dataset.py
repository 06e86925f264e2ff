"""Datasets: every error with its place and a correction; appending leaves the lines that are there."""

from pathlib import Path

import pytest
import yaml

from rightseat.evals.cases import Case, RecordedCall, Source, Turn
from rightseat.evals.dataset import append_case, read_dataset
from rightseat.evals.dataset_errors import DatasetError

FINE = "version: 1\ncases:\n  - name: one\n    ask: Hello\n    scorers:\n      - outcome: done\n"


def write(folder: Path, text: str, name: str = "d") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def errors(folder: Path, text: str) -> list[str]:
    write(folder, text)
    with pytest.raises(DatasetError) as caught:
        read_dataset(folder, "d")
    return [line.removeprefix(f"{folder}/") for line in caught.value.message.splitlines()]


def scorer_error(folder: Path, scorer: str) -> str:
    (line,) = errors(folder, f"version: 1\ncases:\n  - name: one\n    ask: Hello\n    scorers:\n      - {scorer}\n")
    return line


def test_a_dataset_is_read(tmp_path: Path) -> None:
    write(tmp_path, FINE)
    (case,) = read_dataset(tmp_path, "d").dataset.cases
    assert (case.name, case.turns, case.scorers) == ("one", (Turn(text="Hello"),), ({"outcome": "done"},))


def test_every_error_has_its_place_and_a_correction(tmp_path: Path) -> None:
    text = (
        "version: 1\ncases:\n  - name: one\n    ask: Hello\n    scorrers:\n      - outcome: done\n  - name: one\n"
        "    ask: Again\n    scorers:\n      - contians: x\n  - ask: nameless\n    recorded:\n      - {tol: x}\n"
    )
    unknown, twice, scorer, name, tool, key = errors(tmp_path, text)
    assert unknown.startswith("d.yaml:5:5: cases[0].scorrers: unknown key. Did you mean 'scorers'?")
    assert twice == "d.yaml:7:11: a case is named 'one' already, on line 3."
    assert scorer.startswith("d.yaml:10:9: cases[1].scorers[0].contians: unknown scorer. Did you mean 'contains'?")
    assert name == "d.yaml:11:5: cases[2].name is missing."
    assert tool == "d.yaml:13:9: cases[2].recorded[0].tool is missing."
    assert key.startswith("d.yaml:13:10: cases[2].recorded[0].tol: unknown key. Did you mean 'tool'?")


@pytest.mark.parametrize(
    ("scorer", "place", "reason"),
    [
        ("number: {near: many}", "6:24", "should be a valid number"),
        ("number: {near: 1, at_most: 2}", "6:17", "`near` and `within`, or `at_least` and `at_most`"),
        ("contains: 120", "6:9", "a number needs quotes"),
        ("contains: []", "6:9", "a list of texts"),
        ('regex: "(?=a)"', "6:16", "RE2"),
        ("json_schema: {type: objekt}", "6:22", "JSON Schema cannot be used"),
        ("tool_calls: {expect: [{nam: x, name: y}]}", "6:32", "Did you mean 'name'?"),
        ("tool_calls: {}", "6:21", "`expect` or `deny`"),
        ("equals: expected", "6:17", "the case has no `expected`"),
        ("judge: {rubric: polite, modell: x}", "6:33", "Did you mean 'model'?"),
        ("guard: maybe", "6:9", "'denied' or 'passed'"),
        ("{contains: a, excludes: b}", "6:9", "a scorer has one key"),
    ],
)
def test_the_options_of_scorers_are_checked(tmp_path: Path, scorer: str, place: str, reason: str) -> None:
    line = scorer_error(tmp_path, scorer)
    assert line.startswith(f"d.yaml:{place}: ")
    assert reason in line


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    (line,) = errors(tmp_path, FINE.replace("version: 1", "version: 9") + "later: true\n")
    assert line == "d.yaml:1:1: version 9 is not known: this release of rightseat reads version 1."


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("version: 1\ncases:\n  - name: [one\n    ask: x\n", "d.yaml:4:", "this is not YAML"),
        ("a: &a [x]\nversion: 1\ncases: *a\n", "d.yaml:3:8: ", "aliases are not allowed"),
        ("version: 1\ncases: " + "[" * 20_000 + "]" * 20_000, "d.yaml:2:", "deeper than 40 levels"),
        ("version: 1\ncases: [" + "a, " * 400_000 + "]", "d.yaml:2:", "more than 400,000 values"),
        ("version: 1\ncases: !!python/object/apply:os.getcwd []\n", "d.yaml:2:8: ", "is not supported"),
        ("- a\n", "d.yaml:1:1: ", "a dataset is a mapping"),
        ("", "d.yaml:1:1: ", "a dataset is a mapping"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, text: str, place: str, reason: str) -> None:
    line = errors(tmp_path, text)[0]
    assert line.startswith(place)
    assert reason in line


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with write(tmp_path, FINE).open("ab") as file:
        file.truncate(300 << 20)
    with pytest.raises(DatasetError, match=r"more than 16 MB"):
        read_dataset(tmp_path, "d")


@pytest.mark.parametrize("name", ["../d", "..", "a/b", "-rf", "", "a b", "d\n"])
def test_a_dataset_is_a_name_and_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match="is not the name of a dataset"):
        read_dataset(tmp_path, name)


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "evals"
    folder.mkdir()
    write(tmp_path, FINE, "outside")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    with pytest.raises(DatasetError, match="is a link out of"):
        read_dataset(folder, "link")
    (folder / "image.png").symlink_to(tmp_path / "outside.yaml")
    (line,) = errors(folder, "version: 1\ncases:\n  - name: x\n    ask: {text: a, files: [image.png]}\n")
    assert line.endswith(f"'image.png' is outside of {folder}/.")


def test_a_missing_dataset_is_named_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path, FINE, "refunds")
    with pytest.raises(DatasetError, match="Did you mean 'refunds'"):
        read_dataset(tmp_path, "refund")


def pinned(name: str = "pinned") -> Case:
    return Case(
        name=name,
        source=Source(run="run_1", thread="thread_1"),
        ask=("What is in\nthe picture?", Turn(text="And here?", files=("a.png",))),
        recorded=(
            RecordedCall(tool="read", arguments={"id": 7}, result="x" * 5000),
            RecordedCall(tool="y", result=[1]),
        ),
        scorers=({"contains": "yes"},),
    )


def test_a_case_is_appended_without_a_change_of_other_lines(tmp_path: Path) -> None:
    before = f"# a comment\n{FINE}    # the end of one\n# of all\nscorers:   [{{excludes: none}}]  # why\n"
    path = write(tmp_path, before)
    append_case(tmp_path, "d", pinned(), {"a.png": b"image"})
    after = path.read_text(encoding="utf-8")
    assert after.startswith(before[: before.index("# of all")])
    assert after.endswith(before[before.index("# of all") :])
    assert "      - |-\n        What is in\n        the picture?\n" in after
    dataset = read_dataset(tmp_path, "d").dataset
    assert [case.name for case in dataset.cases] == ["one", "pinned"]
    assert dataset.scorers == ({"excludes": "none"},)


def test_images_and_large_results_are_files_by_their_hash(tmp_path: Path) -> None:
    append_case(tmp_path, "new", pinned(), {"a.png": b"image"})
    text = (tmp_path / "new.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=../.rightseat/evals.schema.json\nversion: 1\n")
    assert "x" * 100 not in text
    (case,) = read_dataset(tmp_path, "new").dataset.cases
    assert [getattr(call, "result", None) for call in case.recorded] == ["x" * 5000, [1]]
    (file,) = case.turns[1].files
    assert file.startswith("new.files/")
    assert file.endswith(".png")
    assert (tmp_path / file).read_bytes() == b"image"


def test_an_appended_case_is_the_same_when_read(tmp_path: Path) -> None:
    case = Case(
        name="x",
        ask="a: b # c\n\ttab \n",
        expected="yes",
        history=({"user": "2026-01-01"},),
        scorers=({"number": {"near": 1}},),
    )
    append_case(tmp_path, "d", case, {})
    append_case(tmp_path, "d", case.model_copy(update={"name": "y"}), {})
    assert read_dataset(tmp_path, "d").dataset.cases == (case, case.model_copy(update={"name": "y"}))


def test_nothing_is_written_if_the_case_cannot_be_appended(tmp_path: Path) -> None:
    image = {"a.png": b"image"}
    append_case(tmp_path, "d", pinned(), image)
    before = (tmp_path / "d.yaml").read_bytes()
    with pytest.raises(DatasetError, match="has a case 'pinned' already"):
        append_case(tmp_path, "d", pinned(), image)
    with pytest.raises(DatasetError, match=r"The content of a.png is missing"):
        append_case(tmp_path, "d", pinned("other"), {})
    assert (tmp_path / "d.yaml").read_bytes() == before
    write(tmp_path, "version: 1\ncases: [{name: a, ask: b}]\n", "flow")
    with pytest.raises(DatasetError, match="a line for each"):
        append_case(tmp_path, "flow", pinned(), image)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.files", "d.yaml", "flow.yaml"]


def test_files_of_others_are_valid_yaml_after_an_append(tmp_path: Path) -> None:
    path = write(tmp_path, FINE.rstrip("\n"))
    append_case(tmp_path, "d", pinned(), {"a.png": b"image"})
    assert len(yaml.safe_load(path.read_text(encoding="utf-8"))["cases"]) == 2
