"""The stable Python API: every error is in it, and each name has a docstring. `tests/stability` compares its names."""

import importlib
import inspect

from tests.stability.interfaces import MODULES


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
