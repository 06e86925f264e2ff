"""The bytes of a YAML or JSON file → a node, with a diagnostic for all that stands in the way."""

import re

from rightseat.config import document as yaml_text
from rightseat.config.document import Bounds, Document, Place, Problem, Refused
from rightseat.plugins.loading import json_text
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import Limits
from rightseat.plugins.loading.notes import Node, Notes, Source, root

METADATA = "plugin.json"
MOST_REPAIRS = 50

_CODES = {
    "syntax": "E229",
    "escape": "E223",
    "depth": "E230",
    "aliases": "E230",
    "key": "E229",
    "twice": "E202",
    "tag": "E203",
    "value": "E229",
}
_JSON_CODES = {**_CODES, "syntax": "E102"}
_METADATA_CODES = {**_JSON_CODES, "twice": "E103"}
_HINTS = {
    "E102": "JSON has no comments and no comma after the last value",
    "E203": "write the value without a tag",
    "E223": r"use single quotes: '[\d]…'",
    "E228": "indent with spaces",
}


def read(file: str, files: Files, limits: Limits, notes: Notes) -> Node | None:
    """None where the file cannot be read at all."""
    content = files[file]
    if len(content) > limits.file_size:
        notes.add_file("E108", file, f"the file has more than {limits.file_size:,} bytes.")
        return None
    text = decode(file, content, notes)
    if text is None:
        return None
    bounds = Bounds(len(text), limits.depth, limits.values)
    codes = _METADATA_CODES if file == METADATA else _JSON_CODES if file.endswith(".json") else _CODES
    try:
        document = json_text.load(text, bounds) if file.endswith(".json") else _load_yaml(file, text, bounds, notes)
    except Refused as error:
        _tell(codes, error.problem, file, text, notes)
        return None
    for problem in document.problems:
        _tell(codes, problem, file, text, notes)
    return root(Source(file, document))


def decode(file: str, content: bytes, notes: Notes) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        notes.add_at("E101", file, Place(line, column), "this is not UTF-8.", "save the file as UTF-8")
        return None


def _load_yaml(file: str, text: str, bounds: Bounds, notes: Notes) -> Document:
    """In compat mode a backslash that YAML does not know in double quotes is doubled, as its author meant it."""
    for _ in range(MOST_REPAIRS if notes.mode == "compat" else 0):
        try:
            return yaml_text.load(text, None, Bounds(len(text), bounds.depth, bounds.values))
        except Refused as error:
            if error.problem.fault != "escape":
                raise
            place = error.problem.place
            text = _doubled(text, place)
            said = "a backslash in double quotes was read as itself."
            notes.add_at("W226", file, place, said, _HINTS["E223"])
    return yaml_text.load(text, None, Bounds(len(text), bounds.depth, bounds.values))


def _doubled(text: str, place: Place) -> str:
    starts = [0, *(match.end() for match in re.finditer("\r\n|[\n\r\x85\u2028\u2029]", text))]
    at = starts[place.line - 1] + place.column - 1
    return f"{text[:at]}\\{text[at:]}"


def _tell(codes: dict[str, str], problem: Problem, file: str, text: str, notes: Notes) -> None:
    code = codes[problem.fault]
    said = problem.text
    if code == "E229" and problem.fault == "syntax" and _has_tab(text, problem.place):
        code, said = "E228", "a tab stands where YAML wants spaces."
    notes.add_at(code, file, problem.place, said, _HINTS.get(code, ""), problem.path)


def _has_tab(text: str, place: Place) -> bool:
    line = next(iter(text.split("\n")[place.line - 1 : place.line]), "")
    return "\t" in line[: len(line) - len(line.lstrip(" \t-"))]
