"""Processes that the server starts end with it, also where it is killed."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from rightseat import parent_death
from tests.conditions import until

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent"),
]

ROOT = Path(__file__).parents[1]
DATA = """
import asyncio
from rightseat.data.child import Child
from tests.data.misbehaving import Do

async def main():
    child = Child("tests.data.misbehaving", 512 * 2**20)
    await child.ask(Do("count"), int, 20)
    print(child._process.pid, flush=True)
    await child.ask(Do("hang"), type(None), 60)

asyncio.run(main())
"""
TEMPLATES = """
import asyncio
from rightseat.models.completion.templates import Renderer

async def main():
    renderer = Renderer()
    await renderer.render("{{ 1 }}", {})
    print(renderer._process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
LAUNCHED = """
import subprocess, sys
from rightseat import parent_death
command = [*parent_death.launcher(), sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
child = subprocess.Popen(command, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.parametrize("server", [DATA, TEMPLATES, LAUNCHED], ids=["data", "templates", "programs"])
async def test_when_the_server_is_killed_its_child_ends_too(server: str) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", server, stdout=subprocess.PIPE, cwd=ROOT)
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert is_running(child)

    parent.kill()
    await parent.wait()

    await until(lambda: not is_running(child))


def test_a_program_whose_parent_is_gone_already_is_not_started() -> None:
    command = [sys.executable, parent_death.__file__, "1", sys.executable, "-c", "print('here')"]

    done = subprocess.run(command, capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (1, b"")


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
