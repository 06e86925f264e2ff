"""The order in which pytest's processes take the files: the longest first, so that none of them ends long after others.

`costs.json` has the seconds of the files that take longest. `python -m tests.measure.durations COSTS --record` writes
those that it measured. A file that is not in it comes after all that are, in the order of names.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "costs.json"
MIN_RECORDED_S = 4.0
"""A file that takes less leaves little to wait for at the end of the run."""


def read_costs(path: Path = RECORDED) -> dict[str, float]:
    """Return the seconds that each file took."""
    costs: dict[str, float] = json.loads(path.read_text())
    return costs


def record_costs(measured: Mapping[str, float], root: Path, path: Path = RECORDED) -> None:
    """Replace the costs of the files that were measured; keep those of others that still exist."""
    costs = {**read_costs(path), **measured}
    kept = {file: round(cost, 1) for file, cost in costs.items() if cost >= MIN_RECORDED_S and (root / file).exists()}
    path.write_text(json.dumps(dict(sorted(kept.items(), key=lambda item: -item[1])), indent=2) + "\n")


def sort_longest_first(items: list[pytest.Item], costs: Mapping[str, float]) -> None:
    """Sort the tests by the cost of their file. Tests of one file stay together, in their order."""
    items.sort(key=lambda item: -costs.get(item.nodeid.partition("::")[0], 0.0))
