"""Public names of packages that are imported when they are first used.

The command and the tests of your tools should not wait for a web framework.
"""

from collections.abc import Callable, Mapping
from importlib import import_module


def import_lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of the package. `homes` has `module:name` for each of its names."""

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, found = homes[name].partition(":")
        return getattr(import_module(module), found)

    return find
