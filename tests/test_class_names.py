import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
SHARED_NAMES = {"Options"}
"""Every part defines these."""


def test_a_class_name_has_one_meaning() -> None:
    files = defaultdict[str, list[str]](list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(str(path.relative_to(SOURCE)))

    assert {name: found for name, found in files.items() if len(found) > 1 and name not in SHARED_NAMES} == {}
