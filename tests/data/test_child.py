"""A child may crash, hang or run wild: the server goes on."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import UnreadableFile
from rightseat.data.child import MAX_IDLE_CHILDREN, Child, ChildFailed, ChildPool
from tests.conditions import settle
from tests.data.misbehaving import Do

pytestmark = pytest.mark.whole


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    child = Child("tests.data.misbehaving", 512 * 2**20)
    yield child
    await child.aclose()


async def test_a_payload_of_any_size_arrives_whole(child: Child) -> None:
    assert await child.ask(Do("count"), int, 20) == 0
    assert await child.ask(Do("count"), int, 20, "ü€" * 500_000) == 2_500_000
    assert await child.ask(Do("count"), int, 20, b"x" * 5_000_001) == 5_000_001


@pytest.mark.parametrize(
    ("what", "words"), [("crash", r"code -11"), ("hang", r"longer than 0\.2 s"), ("fail", "internal error")]
)
async def test_whatever_happens_to_it_the_next_request_is_answered(child: Child, what: str, words: str) -> None:
    await child.ask(Do("count"), int, 20)

    with pytest.raises(ChildFailed, match=words):
        await child.ask(Do(what), type(None), 0.2)

    assert await child.ask(Do("count"), int, 20, b"abc") == 3


async def test_it_has_a_limit_of_memory(child: Child) -> None:
    with pytest.raises(UnreadableFile, match="more memory"):
        await child.ask(Do("fill the memory"), int, 20)


async def test_it_writes_no_files(child: Child) -> None:
    with pytest.raises(ChildFailed, match="internal error"):
        await child.ask(Do("write a file"), type(None), 20)

    assert not await asyncio.to_thread(lambda: Path("loot.txt").exists() and Path("loot.txt").read_text())


async def test_what_a_library_prints_is_no_answer(child: Child) -> None:
    assert await child.ask(Do("print"), str, 20) == "quiet"


async def test_an_error_of_rightseat_is_raised_unchanged_in_the_parent(child: Child) -> None:
    with pytest.raises(UnreadableFile, match=r"^It cannot be read\.$"):
        await child.ask(Do("refuse"), type(None), 20)


async def test_it_knows_nothing_of_the_servers_environment(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RS_SECRET", "sk-secret")

    found = await child.ask(Do("environment"), dict[str, str], 20)

    assert "sk-secret" not in found.values()
    assert not {name for name in found if name != "LC_CTYPE"}


async def test_it_can_be_closed_in_the_midst_of_an_answer(child: Child) -> None:
    await child.ask(Do("count"), int, 20)
    waiting = asyncio.create_task(child.ask(Do("hang"), type(None), 20))
    await settle()

    async with asyncio.timeout(30):
        await child.aclose()
        with pytest.raises(ChildFailed, match="code -9"):
            await waiting

    assert not child.is_running


async def test_a_request_that_is_given_up_ends_it(child: Child) -> None:
    await child.ask(Do("count"), int, 20)
    waiting = asyncio.create_task(child.ask(Do("hang"), type(None), 20))
    await settle()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert not child.is_running
    assert await child.ask(Do("count"), int, 20, b"x") == 1


async def test_a_request_has_a_limit_of_processor_time() -> None:
    child = Child("tests.data.misbehaving", 512 * 2**20, cpu_seconds=0.3)

    with pytest.raises(ChildFailed, match=r"took more than 0\.3 s of processor time"):
        await child.ask(Do("spin"), type(None), 30)

    for _ in range(3):
        assert await child.ask(Do("count"), int, 20, b"x") == 1
    await child.aclose()


PARENT = """
import asyncio
from rightseat.data.child import Child
from tests.data.misbehaving import Do

async def main() -> None:
    child = Child("tests.data.misbehaving", 512 * 2**20)
    print(await child.ask(Do("pid"), int, 20), flush=True)
    await child.ask(Do("hang"), type(None), 60)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent, whatever the child does")
def test_a_child_that_is_busy_ends_with_its_server() -> None:
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env={**os.environ, **path}) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        ended = os.pidfd_open(pid)
        parent.send_signal(signal.SIGKILL)

    with os.fdopen(ended) as file:
        assert select.select([file], [], [], 10)[0]


async def test_a_slow_request_of_a_pool_delays_no_other() -> None:
    pool = ChildPool("tests.data.misbehaving", 512 * 2**20, size=2)

    async def ask(what: str, within: float) -> int:
        async with pool.child() as child:
            return await child.ask(Do(what), int, within)

    slow = asyncio.create_task(ask("hang", 30))
    await settle()

    assert await ask("count", 20) == 0
    assert not slow.done()

    await pool.aclose()
    with pytest.raises(ChildFailed):
        await slow


async def test_a_pool_has_at_most_its_size_at_work_and_few_idle() -> None:
    pool = ChildPool("tests.data.misbehaving", 512 * 2**20, size=6)

    async def ask() -> int:
        async with pool.child() as child:
            return await child.ask(Do("pid"), int, 60)

    first = set(await asyncio.gather(*(ask() for _ in range(9))))
    later = [await ask() for _ in range(6)]
    await pool.aclose()

    assert len(first) <= 6
    assert len({*later}) <= MAX_IDLE_CHILDREN
    assert {*later} <= first
