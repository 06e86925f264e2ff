"""The stable Python API: names and signatures are those of a recorded list, and each has a docstring.

    python -m tests.test_public_names

writes the list again. A name may be added; one that is removed or changed breaks programs of users.
"""

import importlib
import inspect
import json
from pathlib import Path

RECORDED = Path(__file__).parent / "public_names.json"
MODULES = (
    "rightseat",
    "rightseat.models",
    "rightseat.agents",
    "rightseat.toolboxes",
    "rightseat.faces",
    "rightseat.access",
    "rightseat.limits",
    "rightseat.events",
    "rightseat.messages",
    "rightseat.errors",
    "rightseat.testing",
    "rightseat.django",
)


def describe(name: str) -> dict[str, str]:
    module = importlib.import_module(name)
    return {public: describe_one(getattr(module, public)) for public in sorted(module.__all__)}


def describe_one(found: object) -> str:
    """The parameters of a function or a class; the names of the methods of a class are a part of it."""
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return "value"
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return "class"
    shown = ", ".join(f"{one.name}=" if one.default is not one.empty else one.name for one in parameters)
    members = inspect.getmembers(found, inspect.isfunction) if inspect.isclass(found) else []
    methods = [name for name, one in members if not name.startswith("_") and one.__module__.startswith("rightseat")]
    return f"({shown})" + (f" with {', '.join(methods)}" if methods else "")


def test_the_public_names_are_those_that_are_recorded() -> None:
    assert {name: describe(name) for name in MODULES} == json.loads(RECORDED.read_text())


def test_every_error_of_the_core_is_public() -> None:
    core = importlib.import_module("rightseat.core.errors")
    found = {name for name, one in vars(core).items() if inspect.isclass(one) and issubclass(one, core.RightseatError)}

    assert found == set(importlib.import_module("rightseat.errors").__all__)


def test_every_public_name_has_a_docstring() -> None:
    missing = []
    for name in MODULES:
        module = importlib.import_module(name)
        found = [(public, getattr(module, public)) for public in module.__all__]
        missing += [f"{name}.{public}" for public, one in found if is_undocumented(one)]

    assert missing == []


def is_undocumented(found: object) -> bool:
    return (inspect.isclass(found) or inspect.isfunction(found)) and not inspect.getdoc(found)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: describe(name) for name in MODULES}, indent=1) + "\n")
