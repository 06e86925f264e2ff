"""Finds every problem of a dataset, each with its line, its column and a correction."""

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from rightseat.config import problems
from rightseat.config.document import KeyPath, Place, Problem, YamlDocument
from rightseat.core.errors import RightseatError
from rightseat.evals.cases import Dataset
from rightseat.evals.scorer_options import SCORERS, is_own
from rightseat.parts import hint

VERSION = 1


class DatasetError(RightseatError):
    """Files or options are wrong, and nothing was run. The command exits with 2."""

    code = "dataset_error"

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))


def find_problems(document: YamlDocument, explain_file: Callable[[str], str | None]) -> list[Problem]:
    """`explain_file` returns why a file that the dataset names cannot be used."""
    value = document.value
    if not isinstance(value, dict):
        return [*document.problems, Problem(Place(1, 1), "a dataset is a mapping with `version` and `cases`.")]
    version = value.get("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        text = f"version {version!r} is not known: this release of rightseat reads version {VERSION}."
        return [Problem(problems.nearest(document, ("version",)), text)]
    unreadable = {problem.place for problem in document.problems}
    return [
        *document.problems,
        *(problem for problem in _find_type_errors(document) if problem.place not in unreadable),
        *_find_equal_names(document),
        *_find_scorer_errors(document),
        *_find_file_errors(document, explain_file),
    ]


def _find_type_errors(document: YamlDocument) -> Iterator[Problem]:
    try:
        Dataset.model_validate(document.value)
    except ValidationError as error:
        yield from problems.explain(error, Dataset, document, ())


def _cases(document: YamlDocument) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    cases = document.value.get("cases")
    for number, case in enumerate(cases if isinstance(cases, list) else []):
        if isinstance(case, dict):
            yield ("cases", number), case


def _find_equal_names(document: YamlDocument) -> Iterator[Problem]:
    lines: dict[str, int] = {}
    for path, case in _cases(document):
        name = case.get("name")
        if not isinstance(name, str):
            continue
        place = document.values[(*path, "name")]
        if name in lines:
            yield Problem(place, f"a case is named {name!r} already, on line {lines[name]}.")
        lines.setdefault(name, place.line)


def _find_scorer_errors(document: YamlDocument) -> Iterator[Problem]:
    yield from _check_scorers(document, (), document.value)
    for path, case in _cases(document):
        yield from _check_scorers(document, path, case)


def _check_scorers(document: YamlDocument, above: KeyPath, owner: dict[str, Any]) -> Iterator[Problem]:
    scorers = owner.get("scorers")
    for number, scorer in enumerate(scorers if isinstance(scorers, list) else []):
        path: KeyPath = (*above, "scorers", number)
        if not isinstance(scorer, dict):
            continue  # a type error
        if len(scorer) != 1:
            place = problems.nearest(document, path)
            yield Problem(place, f"{problems.name(path)}: a scorer has one key, its name. Write one a line, with `- `.")
        for name, options in scorer.items():
            yield from _check_options(document, (*path, name), name, options)
            if name == "equals" and options == "expected" and above and owner.get("expected") is None:
                place = document.values[(*path, name)]
                yield Problem(place, f"{problems.name((*path, name))}: the case has no `expected` to compare with.")


def _check_options(document: YamlDocument, path: KeyPath, name: str, options: object) -> Iterator[Problem]:
    if name in SCORERS:
        try:
            SCORERS[name].model_validate(options)
        except ValidationError as error:
            yield from problems.explain(error, SCORERS[name], document, path)
    elif not is_own(name):
        known = f"Known: {', '.join(SCORERS)}, and a function of your own, `module:function`."
        yield Problem(document.keys[path], f"{problems.name(path)}: unknown scorer.{hint(name, SCORERS)} {known}")


def _find_file_errors(document: YamlDocument, explain_file: Callable[[str], str | None]) -> Iterator[Problem]:
    for path, case in _cases(document):
        for place, file in [*_question_files(path, case), *_result_files(path, case)]:
            reason = explain_file(file) if isinstance(file, str) else None  # another type is a type error
            if reason is not None:
                yield Problem(problems.nearest(document, place), f"{problems.name(place)}: {reason}")


def _question_files(path: KeyPath, case: dict[str, Any]) -> Iterator[tuple[KeyPath, object]]:
    ask = case.get("ask")
    asks = [((*path, "ask", number), turn) for number, turn in enumerate(ask)] if isinstance(ask, list) else []
    for above, turn in [*asks, ((*path, "ask"), ask)]:
        files = turn.get("files") if isinstance(turn, dict) else None
        for number, file in enumerate(files if isinstance(files, list) else []):
            yield (*above, "files", number), file


def _result_files(path: KeyPath, case: dict[str, Any]) -> Iterator[tuple[KeyPath, object]]:
    recorded = case.get("recorded")
    for number, call in enumerate(recorded if isinstance(recorded, list) else []):
        if isinstance(call, dict) and "result_file" in call:
            yield (*path, "recorded", number, "result_file"), call["result_file"]
