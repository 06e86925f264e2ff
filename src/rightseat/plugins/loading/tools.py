"""`lib/`, looked at and not run: its digest, and the words that its tools could be named by."""

import ast

from rightseat.plugins.loading import files as folder
from rightseat.plugins.loading import reading
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.notes import Notes

PACKAGE = "lib/__init__.py"


def digest(files: Files, notes: Notes) -> str | None:
    """None where there is no `lib`. What may run is allowed by this, and nothing else of the plugin changes it."""
    code = folder.below(files, "lib")
    if not code:
        return None
    if PACKAGE not in code:
        notes.add_file("E112", "lib", "lib/ has no __init__.py.", "it names the tools: exported = [MyTool]")
    return folder.digest(code)


def words(files: Files, notes: Notes) -> frozenset[str]:
    """Every text of one word in the code. A tool is named by one of them, whichever way its class says it."""
    found: set[str] = set()
    for path, content in folder.below(files, "lib").items():
        text = reading.decode(path, content, notes) if path.endswith(".py") else None
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
