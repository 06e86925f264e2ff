"""Inspects `lib/` without running it: its digest, and the identifiers that could be names of its tools."""

import ast

from rightseat.plugins.loading import files as folder
from rightseat.plugins.loading import yaml_json
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.nodes import DiagnosticReport

PACKAGE = "lib/__init__.py"


def compute_digest(files: Files, report: DiagnosticReport) -> str | None:
    """Return the digest by which the operator allows the code to run; None without `lib`."""
    code = folder.select_folder(files, "lib")
    if not code:
        return None
    if PACKAGE not in code:
        report.add_file("E112", "lib", "lib/ has no __init__.py.", "it exports the tools: exported = [MyTool]")
    return folder.compute_digest(code)


def find_identifiers(files: Files, report: DiagnosticReport) -> frozenset[str]:
    """Return every string in the code that is an identifier; the name of each tool is one of them."""
    found: set[str] = set()
    for path, content in folder.select_folder(files, "lib").items():
        text = yaml_json.decode(path, content, report) if path.endswith(".py") else None
        if text is None:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                found.add(node.value)
    return frozenset(found)
