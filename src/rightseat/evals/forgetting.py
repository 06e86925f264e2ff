"""Finds the cases of a user, and removes them with their files: for `users forget`."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from rightseat.config import document as documents
from rightseat.erasure import erase_now
from rightseat.evals.cases import Case
from rightseat.evals.dataset import LIMITS, DatasetFile, list_datasets, read_dataset, replace_file
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.recording import mark_user
from rightseat.evals.result_store import FILE, ResultStore


@dataclass(frozen=True, slots=True)
class FoundCase:
    dataset: str
    path: Path
    name: str


@dataclass(frozen=True, slots=True)
class FoundCases:
    """`problems` are the errors of datasets that could not be searched."""

    cases: Sequence[FoundCase]
    problems: Sequence[str]


def find_cases(folder: Path, user: str) -> FoundCases:
    """By the mark of the user, whose key is the id of the case's thread: also after the thread is gone."""
    found, problems = list[FoundCase](), list[str]()
    for name in list_datasets(folder):
        try:
            file = read_dataset(folder, name)
        except DatasetError as error:
            problems.append(error.message)
            continue
        found += (FoundCase(name, file.path, case.name) for case in file.dataset.cases if is_of(case, user))
    return FoundCases(found, problems)


def is_of(case: Case, user: str) -> bool:
    source = case.source
    return bool(source and source.user and source.thread and source.user == mark_user(user, source.thread))


def remove_case(folder: Path, found: FoundCase) -> None:
    """Remove the lines of the case, and the files that no other case names. Other lines stay as they are."""
    before = read_dataset(folder, found.dataset)
    text = found.path.read_bytes().decode()
    place = [case.name for case in before.dataset.cases].index(found.name)
    changed = cut_item(text, place)
    kept = {**before.value, "cases": [case for n, case in enumerate(before.value["cases"]) if n != place]}
    if documents.load(changed, None, LIMITS).value != kept:
        raise DatasetError(f"The case {found.name!r} cannot be cut out of {found.path}: remove it by hand.")
    replace_file(found.path, changed)
    named = {file for name in list_datasets(folder) for file in list_files(read_dataset(folder, name))}
    for file in set(list_files(before)) - named:
        (folder / file).unlink(missing_ok=True)


def cut_item(text: str, place: int) -> str:
    """The text without this item of the list `cases`. Comments between two items belong to the later one."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    items: yaml.Node = next(value for key, value in root.value if key.value == "cases")
    lines = text.splitlines(keepends=True)
    starts = [item.start_mark.line for item in items.value]
    column = len(lines[starts[place]]) - len(lines[starts[place]].lstrip())
    end = [*starts, items.end_mark.line][place + 1]
    while is_comment(lines[end - 1], column):
        end -= 1
    head, tail = lines[: starts[place]], lines[end:]
    if len(starts) == 1:
        key = max(number for number, line in enumerate(head) if line.startswith("cases:"))
        head[key] = "cases: []\n"
    return "".join([*head, *tail])


def is_comment(line: str, column: int) -> bool:
    """Outside of the item that begins in this column. Deeper lines may be of a text of several lines."""
    return not line.strip() or line[: column + 1].lstrip().startswith("#")


def list_files(file: DatasetFile) -> Iterator[str]:
    for case in file.dataset.cases:
        yield from (name for turn in case.turns for name in turn.files)
        yield from (item.result_file for item in case.recorded if item.result_file)


def forget_attempts(folder: Path, cases: Sequence[FoundCase]) -> None:
    """Delete the attempts and results of the cases, and overwrite what the file had of them."""
    if not (folder / FILE).exists():
        return
    with ResultStore(folder) as store:
        for case in cases:
            store.forget_case(case.dataset, case.name)
    asyncio.run(erase_now(folder / FILE))
