"""What a scenario is, and how it says that something is wrong."""

import os
from collections.abc import Callable
from typing import Any

from tests.acceptance._lib.scenarios import Scenarios

SLACK = float(os.environ.get("RS_SLACK") or 1)
"""Multiplies every bound of time, for a busy machine. Sizes and counts are never stretched."""

HEALTH = 0.25  # seconds: the 99th percentile of /health while something hostile is worked on


class Failed(Exception):
    """What was expected, and what came."""


SCENARIOS = Scenarios()


def scenario(name: str, *, alone: bool = False, spare: str = "") -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """`alone` ones measure time or end their server.

    `spare` is the kind of server that it will want for itself: such are started early, while others wait.
    """
    return SCENARIOS.add(name, alone=alone, needs=spare)


def check(condition: Any, message: str) -> None:
    if not condition:
        raise Failed(message)


def all_of(problems: list[str], most: int = 4) -> None:
    """Fails with the first few of what was found."""
    if problems:
        more = f"; and {len(problems) - most} more" if len(problems) > most else ""
        raise Failed("; ".join(problems[:most]) + more)


def short(value: Any, most: int = 160) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most] + "…"
