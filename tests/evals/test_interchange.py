"""Datasets of pydantic-evals, with files that pydantic-evals 2.62 wrote, and the JSON Schema."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from rightseat.evals.dataset import read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.dataset_schema import make_schema
from rightseat.evals.interchange import Importer, export_dataset

WHOLE = """\
version: 1
agent: expert
missing: stub
scorers:
  - equals: expected
  - latency: {at_most_ms: 100}
cases:
  - name: one
    ask: Hello
    recorded:
      - {tool: get_order, arguments: {id: 7}, result: '{"total": 120}'}
    expected: y
    scorers:
      - cost: {at_most: 0.5}
      - contains: x
      - tool_calls: {expect: [get_order], order: any}
      - contains: {text: X, ignore_case: true}
      - equals: {text: expected}
  - name: two
    ask: [first, second]
    history: [{user: a}, {assistant: b}]
    metadata: {by: kim}
    scorers:
      - judge: {rubric: r, model: judge}
  - name: three
    ask: Bye
"""
THEIRS = """\
# yaml-language-server: $schema=theirs_schema.json
name: theirs
cases:
- name: x
  inputs: hi
  metadata:
    by: kim
  expected_output: HELLO
  evaluators:
  - Contains: ELL
  - Contains:
      value: a
      case_sensitive: false
  - Equals: x
  - LLMJudge:
      rubric: r
      model: openai:gpt-4o
      include_input: true
- name: null
  inputs: hey
  metadata: null
  expected_output: null
  evaluators: []
evaluators:
- EqualsExpected
- MaxDuration: 2.0
report_evaluators: []
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def export(folder: Path, text: str = WHOLE) -> str:
    write(folder / "d.yaml", text)
    return export_dataset(read_dataset(folder, "d"))


def test_an_exported_dataset_has_the_words_of_pydantic_evals(tmp_path: Path) -> None:
    exported = yaml.safe_load(export(tmp_path))
    assert (exported["name"], exported["evaluators"]) == ("d", ["EqualsExpected"])
    one, two, _ = exported["cases"]
    assert (one["inputs"], one["expected_output"]) == ("Hello", "y")
    assert one["evaluators"] == [
        {"Contains": "x"},
        {"Contains": {"value": "X", "case_sensitive": False}},
        {"Equals": "expected"},
    ]
    assert two["evaluators"] == [{"LLMJudge": {"rubric": "r"}}]
    assert two["metadata"]["by"] == "kim"


def test_both_ways_give_the_same_dataset(tmp_path: Path) -> None:
    path = write(tmp_path / "x.yaml", export(tmp_path))
    importer = Importer()
    back = importer.import_file(path, tmp_path / "evals", "back")
    assert yaml.safe_load(back.read_text(encoding="utf-8")) == yaml.safe_load(WHOLE)
    assert importer.skipped == []


def test_evaluators_that_were_edited_take_the_place_of_their_scorers(tmp_path: Path) -> None:
    text = export(tmp_path).replace("Contains: x", "Contains: z")
    Importer().import_file(write(tmp_path / "x.yaml", text), tmp_path, "back")
    one = read_dataset(tmp_path, "back").dataset.cases[0]
    assert one.scorers[0] == {"contains": "z"}
    assert {"cost": {"at_most": 0.5}} in one.scorers


def test_a_dataset_of_others_is_imported(tmp_path: Path) -> None:
    importer = Importer()
    importer.import_file(write(tmp_path / "theirs.yaml", THEIRS), tmp_path / "evals", "ours")
    dataset = read_dataset(tmp_path / "evals", "ours").dataset
    assert (dataset.name, dataset.scorers) == ("theirs", ({"equals": "expected"}, {"latency": {"at_most_ms": 2000.0}}))
    x, unnamed = dataset.cases
    assert (x.name, x.expected, x.metadata, unnamed.name) == ("x", "HELLO", {"by": "kim"}, "case-2")
    assert [next(iter(scorer)) for scorer in x.scorers] == ["contains", "contains", "equals", "judge"]
    assert importer.skipped == ["LLMJudge: model", "LLMJudge: include_input"]
    assert (tmp_path / ".rightseat" / "evals.schema.json").exists()


def test_an_unknown_evaluator_is_refused_by_name(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.yaml", "cases:\n- name: x\n  inputs: hi\nevaluators:\n- TheirOwn: {a: 1}\n- Contains: a\n"
    )
    with pytest.raises(DatasetError, match="the evaluator 'TheirOwn': there is no scorer for it"):
        Importer().import_file(path, tmp_path, "ours")
    assert not (tmp_path / "ours.yaml").exists()
    importer = Importer(skip_unknown=True)
    importer.import_file(path, tmp_path, "ours")
    assert importer.skipped == ["TheirOwn"]
    assert read_dataset(tmp_path, "ours").dataset.scorers == ({"contains": "a"},)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "no list `cases`"),
        ("cases: [1]", "case 1 is no mapping"),
        ("cases: [{inputs: {a: 1}}]", "should be a text, or a list"),
        ("cases: [{inputs: a, expected_output: 1}]", "`expected_output` of 'case-1' should be a text"),
        ("cases: [{inputs: a, metadata: b}]", "`metadata` of 'case-1' should be a mapping"),
        ("cases: [{inputs: a, evaluators: [[]]}]", "is no evaluator"),
        ("cases: [{inputs: a, evaluators: [Contains: {value: 1}]}]", "the evaluator 'Contains'"),
        ("cases: [{inputs: a, metadata: {rightseat: {scorrers: []}}}]", "was not written: cases\\[0\\].scorrers"),
        ("report_evaluators: [ROCAUC]\ncases: [{inputs: a}]", "no scorer for whole reports"),
        ("cases: &a [*a]", "aliases are not allowed"),
    ],
)
def test_what_cannot_be_imported_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(DatasetError, match=reason):
        Importer().import_file(write(tmp_path / "x.yaml", text), tmp_path, "ours")
    assert not (tmp_path / "ours.yaml").exists()


def test_a_dataset_is_never_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "x.yaml", THEIRS)
    write(tmp_path / "ours.yaml", WHOLE)
    with pytest.raises(DatasetError, match="exists"):
        Importer().import_file(path, tmp_path, "ours")
    with pytest.raises(DatasetError, match="is not the name of a dataset"):
        Importer().import_file(path, tmp_path, "../ours")


SCORERS = yaml.safe_load("""
- contains: x
- contains: [x, y]
- contains: {text: x, ignore_case: true}
- regex: x
- equals: expected
- json_schema: {type: object}
- number: {near: 1}
- tool_calls: {expect: [x, {name: y, arguments: {}}]}
- citation: true
- guard: denied
- guard: {denied_by: x}
- outcome: done
- latency: {at_most_ms: 1}
- cost: {at_most: 1}
- judge: {rubric: x}
- own:score: [1]
""")


def test_the_json_schema_accepts_what_is_read_and_rejects_misspelt_keys() -> None:
    schema = jsonschema_rs.validator_for(json.loads(json.dumps(make_schema())))
    whole = yaml.safe_load(WHOLE)
    whole["cases"][0]["scorers"] += SCORERS
    schema.validate(whole)
    cases: list[dict[str, object]] = [
        {"scorrers": []},
        {"scorers": [{"contians": "x"}]},
        {"scorers": [{"judge": {"rubrik": "x"}}]},
    ]
    for wrong in cases:
        assert not schema.is_valid({"version": 1, "cases": [{"name": "c", "ask": "x", **wrong}]})
    assert not schema.is_valid({"version": 2, "cases": []})
