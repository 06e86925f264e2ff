"""Datasets of pydantic-evals, which is not imported.

`inputs` is the question, `expected_output` what was said. `contains`, `equals` and `judge` are `Contains`, `Equals`,
`EqualsExpected` and `LLMJudge`; all else is in the case's `metadata.rightseat`. Both ways give the same file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightseat.core.types import JsonValue
from rightseat.evals.dataset import DatasetFile, create_dataset, find_path, format_yaml, parse_yaml
from rightseat.evals.dataset_errors import DatasetError

OURS = "rightseat"
HEAD = "dataset"
"""In `metadata.rightseat`: what the dataset says beside its cases."""


def export_dataset(file: DatasetFile) -> str:
    """The dataset as YAML for pydantic-evals."""
    head = {key: value for key, value in file.value.items() if key not in ("version", "cases")}
    cases = [_export_case(case, head) for case in file.value["cases"]]
    evaluators = list(_export_scorers(head.get("scorers") or []))
    return format_yaml({"name": head.get("name") or file.name, "cases": cases, "evaluators": evaluators})


def _export_case(case: Mapping[str, Any], head: dict[str, Any]) -> JsonValue:
    rest = {key: value for key, value in case.items() if key not in ("name", "ask", "expected", "metadata")}
    exported: dict[str, JsonValue] = {"name": case["name"], "inputs": case["ask"]}
    exported["metadata"] = {**(case.get("metadata") or {}), OURS: rest | ({HEAD: head} if head else {})}
    if "expected" in case:
        exported["expected_output"] = case["expected"]
    return exported | {"evaluators": list(_export_scorers(case.get("scorers") or []))}


def _export_scorers(scorers: Sequence[Mapping[str, Any]]) -> Iterator[JsonValue]:
    for scorer in scorers:
        ((name, options),) = scorer.items()
        match name, options:
            case "contains", str():
                yield {"Contains": options}
            case "contains", {"text": str(text), "ignore_case": True}:
                yield {"Contains": {"value": text, "case_sensitive": False}}
            case "equals", "expected":
                yield "EqualsExpected"
            case ("equals", str(text)) | ("equals", {"text": str(text)}) if not _ignores_case(options):
                yield {"Equals": text}
            case "judge", {"rubric": rubric}:
                yield {"LLMJudge": {"rubric": rubric}}


def _ignores_case(options: object) -> bool:
    return isinstance(options, dict) and bool(options.get("ignore_case"))


@dataclass(slots=True)
class Importer:
    """`skipped` has what has no counterpart here. Without `skip_unknown`, an evaluator of this kind is an error."""

    skip_unknown: bool = False
    skipped: list[str] = field(default_factory=list)

    def import_file(self, path: Path, folder: Path, name: str) -> Path:
        """Write the file of pydantic-evals as a new dataset, and return its path. Raises `DatasetError`."""
        target = find_path(folder, name)
        if target.exists():
            raise DatasetError(f"{target} exists. Import into another dataset, and move the cases.")
        value = parse_yaml(path).value
        if not isinstance(value, dict) or not isinstance(value.get("cases"), list):
            raise DatasetError(f"{path} is no dataset of pydantic-evals: it has no list `cases`.")
        try:
            cases = [self._import_case(case, number) for number, case in enumerate(value["cases"], 1)]
            head = self._import_head(value)
        except DatasetError as error:
            raise DatasetError(f"{path}: {error.message}") from None
        return create_dataset(folder, name, {"version": 1, **head, "cases": cases})

    def _import_head(self, value: Mapping[str, Any]) -> dict[str, Any]:
        for evaluator in value.get("report_evaluators") or []:
            self._refuse(evaluator, "there is no scorer for whole reports")
        head: dict[str, Any] = next((ours[HEAD] for case in value["cases"] if HEAD in (ours := _find_ours(case))), {})
        if not any(map(_find_ours, value["cases"])) and isinstance(value.get("name"), str):
            head = {"name": value["name"]}
        scorers = self._merge(value.get("evaluators") or [], head.get("scorers") or [])
        return {**head, **({"scorers": scorers} if scorers or "scorers" in head else {})}

    def _import_case(self, case: Any, number: int) -> dict[str, Any]:
        if not isinstance(case, dict) or "inputs" not in case:
            raise DatasetError(f"case {number} is no mapping with `inputs`.")
        name, asked, expected = case.get("name") or f"case-{number}", case["inputs"], case.get("expected_output")
        if not isinstance(asked, str | list) and not (isinstance(asked, dict) and "text" in asked):
            raise DatasetError(f"the `inputs` of {name!r} should be a text, or a list with one for each turn.")
        if expected is not None and not isinstance(expected, str):
            raise DatasetError(f"the `expected_output` of {name!r} should be a text.")
        metadata = case.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise DatasetError(f"the `metadata` of {name!r} should be a mapping.")
        others = {key: value for key, value in metadata.items() if key != OURS}
        ours = {key: value for key, value in _find_ours(case).items() if key != HEAD}
        made = {"name": name, "ask": asked, **({} if expected is None else {"expected": expected})}
        made |= {"metadata": others} if others else {}
        scorers = self._merge(case.get("evaluators") or [], ours.get("scorers") or [])
        return made | ours | ({"scorers": scorers} if scorers or "scorers" in ours else {})

    def _merge(self, evaluators: Sequence[Any], kept: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The kept scorers if the evaluators are still theirs; else the evaluators, and the kept that have none."""
        scorers = list(map(self._import_evaluator, evaluators))
        known = [scorer for scorer in scorers if scorer is not None]
        if known == list(map(self._import_evaluator, _export_scorers(kept))):
            return list(kept)
        return [*known, *(scorer for scorer in kept if not list(_export_scorers([scorer])))]

    def _import_evaluator(self, evaluator: Any) -> dict[str, JsonValue] | None:
        name, value = (evaluator, None) if isinstance(evaluator, str) else _split(evaluator)
        match name, value:
            case "EqualsExpected", None:
                return {"equals": "expected"}
            case ("Equals", str(text)) | ("Equals", {"value": str(text)}):
                return {"equals": {"text": text}} if text == "expected" else {"equals": text}
            case "Contains", {"value": str(text), "case_sensitive": False}:
                return {"contains": {"text": text, "ignore_case": True}}
            case ("Contains", str(text)) | ("Contains", {"value": str(text)}):
                return {"contains": text}
            case ("LLMJudge", str(rubric)) | ("LLMJudge", {"rubric": str(rubric)}):
                others = [key for key in value if key != "rubric"] if isinstance(value, dict) else []
                self.skipped += [f"LLMJudge: {key}" for key in others]
                return {"judge": {"rubric": rubric}}
            case ("MaxDuration", int() | float() as seconds) | ("MaxDuration", {"seconds": int() | float() as seconds}):
                return {"latency": {"at_most_ms": round(seconds * 1000, 3)}}
        self._refuse(evaluator, "there is no scorer for it")
        return None

    def _refuse(self, evaluator: Any, reason: str) -> None:
        name = evaluator if isinstance(evaluator, str) else _split(evaluator)[0]
        if not self.skip_unknown:
            raise DatasetError(f"the evaluator {name!r}: {reason}. Import without it by --skip-unknown.")
        self.skipped.append(name)


def _split(evaluator: Any) -> tuple[str, Any]:
    if isinstance(evaluator, dict) and len(evaluator) == 1:
        return next(iter(evaluator.items()))
    raise DatasetError(f"{evaluator!r} is no evaluator.")


def _find_ours(case: Any) -> dict[str, Any]:
    metadata = case.get("metadata") if isinstance(case, dict) else None
    ours = metadata.get(OURS) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}
