"""Which files pytest's processes take first."""

import os
import subprocess
import sys
from pathlib import Path

from tests.gate.order import MIN_RECORDED_S, read_costs, record_costs

ROOT = Path(__file__).parents[2]


def test_processes_take_the_longest_file_first_though_another_one_has_more_tests(tmp_path: Path) -> None:
    conftest = """
from tests.gate import order, plugin

def pytest_configure(config):
    plugin.read_costs = lambda: order.read_costs(config.rootpath / "costs.json")
    config.pluginmanager.register(plugin)
    plugin.take_files_in_order(config)
"""
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "costs.json").write_text('{"test_long.py": 9}')
    (tmp_path / "test_a_many.py").write_text("\n".join(f"def test_{n}(): pass" for n in range(9)))
    (tmp_path / "test_long.py").write_text("def test_long(): pass")

    command = [sys.executable, "-m", "pytest", "-n1", "--dist=loadfile", "-v"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False).stdout

    passed = [line for line in printed.splitlines() if "PASSED" in line]
    assert len(passed) == 10, printed
    assert "test_long.py::test_long" in passed[0]


def test_recorded_costs_name_files_that_exist() -> None:
    missing = [file for file in read_costs() if not (ROOT / file).exists()]

    assert missing == []


def test_a_new_record_keeps_what_it_did_not_measure_and_drops_what_is_gone_or_cheap(tmp_path: Path) -> None:
    record = tmp_path / "costs.json"
    for name in ("kept.py", "measured.py", "cheap.py"):
        (tmp_path / name).touch()
    record.write_text('{"gone.py": 50.0, "cheap.py": 20.0, "kept.py": 10.0}')

    record_costs({"measured.py": 30.04, "cheap.py": MIN_RECORDED_S / 2}, tmp_path, record)

    assert read_costs(record) == {"measured.py": 30.0, "kept.py": 10.0}
