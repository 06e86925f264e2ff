"""Record what every test and every fixture costs: `pytest -p tests.measure.durations --costs=FOLDER`.

Each process of pytest-xdist writes a file of its own. `python -m tests.measure.durations FOLDER` prints the sums by
file and by fixture, which docs/explanation/testing.md has. `.ci/run` prints them after its tests. With `--record` the
seconds of each file go into `tests/gate/costs.json`, by which the gate takes the longest files first.
"""

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pytest

from tests.gate.order import record_costs

FixtureDef = pytest.FixtureDef[Any]

SHOWN = 10
"""How many files and fixtures are printed."""


def read_cpu_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    usages = [resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Recorder:
    """Writes a line of JSON for each phase of a test, and for the set-up of each fixture."""

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def write(self, values: list[str | float]) -> None:
        self._output.write(json.dumps(values) + "\n")

    @contextmanager
    def measure(self, kind: str, name: str, file: str) -> Iterator[None]:
        wall, cpu = time.monotonic(), read_cpu_s()
        try:
            yield
        finally:
            self.write([kind, name, file, time.monotonic() - wall, read_cpu_s() - cpu])

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: FixtureDef, request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
        name = f"{fixturedef.baseid}::{fixturedef.argname}"
        with self.measure("fixture", name, request.node.nodeid.split("::")[0]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self.measure("setup", item.nodeid, item.nodeid.split("::")[0]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self.measure("call", item.nodeid, item.nodeid.split("::")[0]):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self.measure("teardown", item.nodeid, item.nodeid.split("::")[0]):
            return (yield)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", type=Path, help="record the cost of every test and fixture in this folder")


def pytest_configure(config: pytest.Config) -> None:
    folder: Path | None = config.getoption("--costs")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        output = (folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.jsonl").open("w", buffering=1 << 16)
        config.add_cleanup(output.close)
        config.pluginmanager.register(Recorder(output))


def print_sums(folder: Path) -> None:
    """Print the most expensive files, fixtures and tests, and how long each process of pytest had tests to run."""
    by_file: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    by_folder: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    by_fixture: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    by_test: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    by_process: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            kind, name, file, wall, cpu = json.loads(line)
            tables = [(by_fixture, name)] if kind == "fixture" else [(by_file, file), (by_test, name)]
            if kind != "fixture":
                tables += [(by_folder, "/".join(file.split("/")[:2])), (by_process, path.stem)]
            for table, key in tables:
                row = table[key]
                row[0] += wall
                row[1] += cpu
                row[2] += kind in ("fixture", "call")
    tables_shown = {"process": by_process, "folder": by_folder, "file": by_file, "fixture": by_fixture, "test": by_test}
    for title, table in tables_shown.items():
        total, cpu_total = (sum(row[column] for row in table.values()) for column in (0, 1))
        print(f"\n| {title} | s | CPU s | times |\n|---|---|---|---|")
        for key, row in sorted(table.items(), key=lambda item: -item[1][0])[: SHOWN if title != "folder" else 40]:
            print(f"| {key} | {row[0]:.1f} | {row[1]:.1f} | {row[2]:.0f} |")
        print(f"| all {len(table)} | {total:.1f} | {cpu_total:.1f} | |")


def sum_files(folder: Path) -> dict[str, float]:
    """Return the seconds that the tests of each file took."""
    sums: dict[str, float] = defaultdict(float)
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            kind, _, file, wall, _ = json.loads(line)
            sums[file] += wall if kind != "fixture" else 0  # the set-up of a test includes its fixtures
    return sums


if __name__ == "__main__":
    print_sums(Path(sys.argv[1]))
    if "--record" in sys.argv[2:]:
        record_costs(sum_files(Path(sys.argv[1])), Path.cwd())
