"""The llama.cpp servers and the models that the acceptance suite tool-calls downloads, for tests and measurements."""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SUITE = Path(__file__).parent / "acceptance" / "tool-calls"


@cache
def load_parts() -> Any:
    """The suite's module `parts`. Its folder is no package, so that it is loaded by its path."""
    spec = importlib.util.spec_from_file_location("tool_calls_parts", SUITE / "lib" / "parts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def require_llama_server() -> Any:
    """`load_parts`, for tests that run llama-server: they are skipped where the processor cannot."""
    parts = load_parts()
    if reason := parts.explain_unusable():
        pytest.skip(reason)
    return parts
