"""Reads datasets, `evals/DATASET.yaml`, and appends cases to them without changing a line that is there."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from rightseat.config import document as documents
from rightseat.config.document import Place, Problem, UnreadableDocument, YamlLimits
from rightseat.core.types import JsonValue
from rightseat.evals.cases import DATASET_NAME, Case, Dataset, RecordedCall, RecordedRequest, Turn
from rightseat.evals.dataset_errors import DatasetError, find_problems
from rightseat.evals.dataset_schema import write_schema
from rightseat.file_locks import FileLock
from rightseat.parts import hint

MAX_BYTES = 16 << 20
MAX_INLINE_BYTES = 4096
"""A larger result is stored in a file beside the dataset."""
LIMITS = YamlLimits(characters=MAX_BYTES, depth=40, values=400_000, aliases=False)
SCHEMA_LINE = "# yaml-language-server: $schema=../.rightseat/evals.schema.json\n"


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A dataset with the name and the path of its file. `value` is what the file says, before defaults."""

    name: str
    path: Path
    dataset: Dataset
    value: dict[str, Any]


def list_datasets(folder: Path) -> list[str]:
    """The names of the datasets, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml")) if folder.is_dir() else []


def find_path(folder: Path, name: str) -> Path:
    """The path of the dataset, which need not exist. Raises `DatasetError` if the name is none or leads elsewhere."""
    if not re.fullmatch(DATASET_NAME, name):
        message = f"{name!r} is not the name of a dataset: letters, digits, `_`, `-` and `.`, at most 81."
        raise DatasetError(message)
    path = folder / f"{name}.yaml"
    if not _is_inside(path, folder):
        raise DatasetError(f"{path} is a link out of {folder}/. Copy the file into the folder.")
    return path


def read_dataset(folder: Path, name: str) -> DatasetFile:
    """Raises `DatasetError` with every problem of the file."""
    path = find_path(folder, name)
    if not path.is_file():
        raise DatasetError(f"There is no dataset {name!r} in {folder}/.{hint(name, list_datasets(folder))}")
    document = parse_yaml(path)
    problems = find_problems(document, lambda file: _explain_file(folder, file))
    if problems:
        raise DatasetError(*(_line(path, problem) for problem in sorted(problems)))
    dataset = Dataset.model_validate(document.value)
    cases = tuple(_load_results(case, folder) for case in dataset.cases)
    return DatasetFile(name, path, dataset.model_copy(update={"cases": cases}), document.value)


def parse_yaml(path: Path) -> documents.YamlDocument:
    """Raises `DatasetError` if the file is too large, or no YAML. It is not read beyond the largest size."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DatasetError(f"Cannot read {path}: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise DatasetError(f"{path} has more than {MAX_BYTES >> 20} MB. Divide its cases among several datasets.")
    try:
        return documents.load(data.decode(), None, LIMITS)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise DatasetError(_line(path, Problem(place, "this is not UTF-8."))) from None
    except UnreadableDocument as refused:
        raise DatasetError(_line(path, refused.problem)) from None


def append_case(folder: Path, name: str, case: Case, files: Mapping[str, bytes]) -> Path:
    """Append the case to the dataset, which is created if there is none. Returns its path.

    `files` has the content of the paths in the `files` of the case's questions. They, and large results, are written to
    `DATASET.files/` under their hash, and the case names them there. Raises `DatasetError` and changes nothing if the
    dataset has errors or has a case with that name.
    """
    path = find_path(folder, name)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f".{name}.lock")
    lock.acquire()
    try:
        _append_case(folder, path, name, case, files)
    finally:
        lock.delete()
    return path


def _append_case(folder: Path, path: Path, name: str, case: Case, files: Mapping[str, bytes]) -> None:
    if path.exists() and case.name in {other.name for other in read_dataset(folder, name).dataset.cases}:
        raise DatasetError(f"{path} has a case {case.name!r} already. Give this one another name with --name.")
    written: dict[str, bytes] = {}
    value = _format_case(case, name, files, written)
    before = path.read_bytes().decode() if path.exists() else f"{SCHEMA_LINE}version: 1\ncases:\n"
    text = append_item(before, "cases", value, path)
    for file, data in written.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    replace_file(path, text)
    if before.startswith(SCHEMA_LINE):
        write_schema(folder.parent)


def create_dataset(folder: Path, name: str, value: dict[str, Any]) -> Path:
    """Write a new dataset. Raises `DatasetError` if the value is none."""
    path = find_path(folder, name)
    text = SCHEMA_LINE + format_yaml(value)
    problems = find_problems(documents.load(text, None, LIMITS), lambda file: _explain_file(folder, file))
    if problems:
        raise DatasetError(*(f"{path} was not written: {problem.text}" for problem in sorted(problems)))
    replace_file(path, text)
    write_schema(folder.parent)
    return path


def replace_file(path: Path, text: str) -> None:
    """Write the whole file or nothing of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(text.encode())
    temporary.replace(path)


def append_item(text: str, key: str, item: Mapping[str, JsonValue], path: Path) -> str:
    """The text with the item at the end of the list `key`, whose lines stay as they are."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    place = next((place for place, (name, _) in enumerate(pairs) if name.value == key), None)
    items = yaml.ScalarNode("", "?") if place is None else pairs[place][1]
    is_empty = isinstance(items, yaml.ScalarNode) and not items.value
    if place is None or not (is_empty or (isinstance(items, yaml.SequenceNode) and not items.flow_style)):
        raise DatasetError(f"{path} cannot be appended to: `{key}` should be a list with a line for each `- `.")
    lines = text.splitlines(keepends=True)
    end = pairs[place + 1][0].start_mark.line if place + 1 < len(pairs) else len(lines)
    while place + 1 < len(pairs) and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1  # the comment above the next key stays there
    if lines and not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    indent = " " * (2 if is_empty else items.start_mark.column)
    added = (
        f"{indent}{line}" if line.strip() else line for line in format_yaml([dict(item)]).splitlines(keepends=True)
    )
    changed = "".join([*lines[:end], *added, *lines[end:]])
    before, after = (documents.load(whole, None, LIMITS).value for whole in (text, changed))
    if after != {**before, key: [*(before[key] or []), item]}:
        raise DatasetError(f"{path} cannot be appended to: what follows `{key}` changes its meaning.")
    return changed


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def format_yaml(value: JsonValue) -> str:
    """In block style, with `|` for a text of several lines."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100))


def _format_case(
    case: Case, dataset: str, files: Mapping[str, bytes], written: dict[str, bytes]
) -> dict[str, JsonValue]:
    """The case as the file has it, without defaults. `written` receives the files that it names."""

    def store(data: bytes, suffix: str) -> str:
        file = f"{dataset}.files/{sha256(data).hexdigest()[:16]}{suffix}"
        written[file] = data
        return file

    def store_files(turn: Turn) -> Turn:
        if missing := [file for file in turn.files if file not in files]:
            raise DatasetError(f"The content of {', '.join(missing)} is missing, which case {case.name!r} names.")
        stored = (store(files[file], PurePosixPath(file).suffix) for file in turn.files)
        return turn.model_copy(update={"files": tuple(stored)})

    def store_result(call: RecordedCall | RecordedRequest) -> RecordedCall | RecordedRequest:
        data, suffix = _encode_result(call.result)
        if len(data) <= MAX_INLINE_BYTES:
            return call
        return call.model_copy(update={"result": None, "result_file": store(data, suffix)})

    asks = [store_files(turn) for turn in case.turns]
    plain = [turn if turn.files else turn.text for turn in asks]
    update = {
        "ask": plain[0] if len(plain) == 1 else tuple(plain),
        "recorded": tuple(map(store_result, case.recorded)),
    }
    changed = case.model_copy(update=update)
    dumped: dict[str, JsonValue] = changed.model_dump(mode="json", exclude_defaults=True)
    if case.source is not None:
        dumped["source"] = case.source.model_dump(mode="json", exclude_none=True)
    return dumped


def _encode_result(result: JsonValue) -> tuple[bytes, str]:
    if isinstance(result, str):
        return result.encode(), ".txt"
    return json.dumps(result, ensure_ascii=False, indent=1).encode(), ".json"


def _load_results(case: Case, folder: Path) -> Case:
    """The case with the results that are in files."""
    if not any(call.result_file for call in case.recorded):
        return case
    recorded = []
    for call in case.recorded:
        if call.result_file:
            text = (folder / call.result_file).read_text(encoding="utf-8")
            result = json.loads(text) if call.result_file.endswith(".json") else text
            call = call.model_copy(update={"result": result})
        recorded.append(call)
    return case.model_copy(update={"recorded": tuple(recorded)})


def _explain_file(folder: Path, file: str) -> str | None:
    """Why the file cannot be used; None if it can."""
    path = folder / file
    if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts or not _is_inside(path, folder):
        return f"{file!r} is outside of {folder}/."
    if not path.is_file():
        return f"there is no file {path}."
    if path.stat().st_size > MAX_BYTES:
        return f"{path} has more than {MAX_BYTES >> 20} MB."
    if path.suffix not in (".json", ".txt"):
        return None
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"{path} cannot be read: {error}."
    return None


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


def _line(path: Path, problem: Problem) -> str:
    return f"{path}:{problem.place.line}:{problem.place.column}: {problem.text}"
