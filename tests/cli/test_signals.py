"""`rightseat serve` as process 1, which it is in a container: what nobody handles there is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ALONE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
SERVE = [*ALONE, sys.executable, "-m", "rightseat", "serve", "--port", "0"]
TOLD_WHILE_IT_STARTS = """
import os, signal
print("process", os.getpid(), flush=True)
os.kill(os.getpid(), signal.SIGTERM)
"""


def can_be_first() -> bool:
    try:
        return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


pytestmark = pytest.mark.skipif(not can_be_first(), reason="nobody may make a process namespace on this machine")


def test_a_signal_during_startup_stops_the_server(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "told.py").write_text(TOLD_WHILE_IT_STARTS)
    (tmp_path / "rightseat.yaml").write_text("models: {default: {type: acme.told}}")

    ended = subprocess.run([*SERVE, "-c", "rightseat.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert ended.stdout == "process 1\n"
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "")


def test_a_server_that_stopped_cleanly_exits_with_0(tmp_path: Path) -> None:
    with subprocess.Popen(SERVE, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            next(line for line in process.stdout if line.startswith("  origins"))
            os.kill(child_of(process.pid), signal.SIGTERM)

            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
