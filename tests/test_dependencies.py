"""Every package that the code imports is declared in pyproject.toml, and every declared one is imported."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "rightseat"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BOUND = re.compile(r"(?:<|==)[\d.*]+")
USED_BY_OTHERS = {
    "httptools": "uvicorn parses requests with it",
    "python-multipart": "Starlette reads forms with it",
    "requests": "google-auth sends its requests with it",
    "uvloop": "uvicorn loads it by name",
    "websockets": "uvicorn speaks WebSockets with it",
}

BROUGHT_BY_THE_HOST = {
    "django": "only an application in Django imports `rightseat.django`",
    "pytest": "it loads `rightseat.pytest_plugin` itself",
}


def test_every_imported_package_is_declared() -> None:
    declared = {name for group in declarations().values() for name in group}
    undeclared = {
        f"{package} ({where})"
        for where, package in all_imports()
        if package not in BROUGHT_BY_THE_HOST and not declared & distributions(package)
    }

    assert undeclared == set()


@pytest.mark.parametrize("group", ["core", *PROJECT["optional-dependencies"]])
def test_every_declared_package_is_imported(group: str) -> None:
    needed = {name for _, package in all_imports() for name in distributions(package)} | USED_BY_OTHERS.keys()

    assert declarations()[group] - needed == set()


def test_the_decision_names_every_upper_bound_with_its_reason() -> None:
    page = (ROOT / "docs" / "decisions" / "0002-libraries.md").read_text()
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    bounds = {(name_of(line), bound) for lines in groups for line in lines for bound in BOUND.findall(line)}

    assert {(name, bound) for name, bound in re.findall(r"^ *\| ([\w-]+) \| `([<=][^`]+)` \|", page, re.M)} == bounds


def test_an_undeclared_import_is_found(tmp_path: Path) -> None:
    file = tmp_path / "part.py"
    file.write_text(
        'import json\nfrom rightseat import core\ndef f():\n    import yarl.x\n    import_module("attrs")\n'
    )

    assert list(imports(file)) == [("yarl", 4), ("attrs", 5)]


def declarations() -> dict[str, set[str]]:
    """The names of the distributions that the core and each extra declare."""
    extras: dict[str, list[str]] = PROJECT["optional-dependencies"]
    return {group: set(map(name_of, lines)) for group, lines in {"core": PROJECT["dependencies"], **extras}.items()}


def name_of(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return normalized(found.group())


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def all_imports() -> list[tuple[str, str]]:
    return [
        (f"{file.relative_to(ROOT)}:{line}", name) for file in SOURCES.rglob("*.py") for name, line in imports(file)
    ]


def imports(file: Path) -> Iterator[tuple[str, int]]:
    """The top-level packages of others that a module imports, each with its line."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                found = [one.name for one in names]
            case ast.ImportFrom(module=str(module), level=0):
                found = [module]
            case ast.Call(
                func=ast.Name("import_module") | ast.Attribute(attr="import_module"), args=[ast.Constant(str(module))]
            ):
                found = [module]
            case _:
                continue
        for package in (name.partition(".")[0] for name in found):
            if package not in sys.stdlib_module_names and package not in ("rightseat", "__main__"):
                yield package, node.lineno


def distributions(package: str) -> set[str]:
    """Those that bring the package; it must be installed here."""
    return {normalized(name) for name in installed().get(package, ())}


installed = cache(packages_distributions)  # takes seconds
