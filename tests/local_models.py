"""The llama.cpp servers and the models that the acceptance suite tool-calls downloads, for tests and measurements."""

import importlib.util
from pathlib import Path
from typing import Any

SUITE = Path(__file__).parent / "acceptance" / "tool-calls"


def load_parts() -> Any:
    """The suite's module `parts`. Its folder is no package, so that it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("tool_calls_parts", SUITE / "lib" / "parts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
