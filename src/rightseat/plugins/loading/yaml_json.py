"""Parses a YAML or JSON file into a node, and reports what cannot be parsed."""

import re

from rightseat.config import document as yaml_text
from rightseat.config.document import Place, Problem, UnreadableDocument, YamlDocument, YamlLimits
from rightseat.plugins.loading import json_text
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceFile, SourceNode, root

METADATA = "plugin.json"
MAX_REPAIRS = 50

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


def read(file: str, files: Files, limits: PluginLimits, report: DiagnosticReport) -> SourceNode | None:
    """None if the file cannot be parsed, which is reported."""
    content = files[file]
    if len(content) > limits.max_file_bytes:
        report.add_file("E108", file, f"the file has more than {limits.max_file_bytes:,} bytes.")
        return None
    text = decode(file, content, report)
    if text is None:
        return None
    bounds = YamlLimits(len(text), limits.max_depth, limits.max_values)
    codes = _METADATA_CODES if file == METADATA else _JSON_CODES if file.endswith(".json") else _CODES
    try:
        document = json_text.load(text, bounds) if file.endswith(".json") else _load_yaml(file, text, bounds, report)
    except UnreadableDocument as error:
        _report_problem(codes, error.problem, file, text, report)
        return None
    for problem in document.problems:
        _report_problem(codes, problem, file, text, report)
    return root(SourceFile(file, document))


def decode(file: str, content: bytes, report: DiagnosticReport) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        report.add_at("E101", file, Place(line, column), "the file is not UTF-8.", "save the file as UTF-8")
        return None


def _load_yaml(file: str, text: str, bounds: YamlLimits, report: DiagnosticReport) -> YamlDocument:
    """In compat mode, double each backslash in double quotes that is not a YAML escape, as its author meant it."""
    for _ in range(MAX_REPAIRS if report.mode == "compat" else 0):
        try:
            return yaml_text.load(text, None, YamlLimits(len(text), bounds.depth, bounds.values))
        except UnreadableDocument as error:
            if error.problem.fault != "escape":
                raise
            place = error.problem.place
            text = _double_backslash(text, place)
            message = "a backslash in double quotes was read literally."
            report.add_at("W226", file, place, message, _HINTS["E223"])
    return yaml_text.load(text, None, YamlLimits(len(text), bounds.depth, bounds.values))


def _double_backslash(text: str, place: Place) -> str:
    starts = [0, *(match.end() for match in re.finditer("\r\n|[\n\r\x85\u2028\u2029]", text))]
    at = starts[place.line - 1] + place.column - 1
    return f"{text[:at]}\\{text[at:]}"


def _report_problem(codes: dict[str, str], problem: Problem, file: str, text: str, report: DiagnosticReport) -> None:
    code = codes[problem.fault]
    message = problem.text
    if code == "E229" and problem.fault == "syntax" and _has_tab(text, problem.place):
        code, message = "E228", "the line is indented with a tab; YAML needs spaces."
    report.add_at(code, file, problem.place, message, _HINTS.get(code, ""), problem.path)


def _has_tab(text: str, place: Place) -> bool:
    line = next(iter(text.split("\n")[place.line - 1 : place.line]), "")
    return "\t" in line[: len(line) - len(line.lstrip(" \t-"))]
