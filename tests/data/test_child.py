"""A child may crash, hang or run wild: the server goes on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import Unreadable
from rightseat.data.child import Child, Lost
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
    ("what", "words"), [("crash", r"code -11"), ("hang", r"longer than 0\.2 s"), ("fail", "inside")]
)
async def test_whatever_happens_to_it_the_next_request_is_answered(child: Child, what: str, words: str) -> None:
    await child.ask(Do("count"), int, 20)

    with pytest.raises(Lost, match=words):
        await child.ask(Do(what), type(None), 0.2)

    assert await child.ask(Do("count"), int, 20, b"abc") == 3


async def test_it_has_a_limit_of_memory(child: Child) -> None:
    with pytest.raises(Unreadable, match="more memory"):
        await child.ask(Do("fill the memory"), int, 20)


async def test_it_writes_no_files(child: Child) -> None:
    with pytest.raises(Lost, match="inside"):
        await child.ask(Do("write a file"), type(None), 20)

    assert not await asyncio.to_thread(lambda: Path("loot.txt").exists() and Path("loot.txt").read_text())


async def test_what_a_library_prints_is_no_answer(child: Child) -> None:
    assert await child.ask(Do("print"), str, 20) == "quiet"


async def test_an_error_of_ours_comes_out_as_it_was_raised(child: Child) -> None:
    with pytest.raises(Unreadable, match=r"^It cannot be read\.$"):
        await child.ask(Do("refuse"), type(None), 20)


async def test_it_knows_nothing_of_the_servers_environment(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RS_SECRET", "sk-secret")

    found = await child.ask(Do("environment"), dict[str, str], 20)

    assert "sk-secret" not in found.values()
    assert not {name for name in found if name != "LC_CTYPE"}


async def test_it_can_be_closed_in_the_midst_of_an_answer(child: Child) -> None:
    await child.ask(Do("count"), int, 20)
    waiting = asyncio.create_task(child.ask(Do("hang"), type(None), 20))
    await asyncio.sleep(0)

    async with asyncio.timeout(5):
        await child.aclose()
        with pytest.raises(Lost, match="code -9"):
            await waiting

    assert not child.is_running


async def test_a_request_that_is_given_up_ends_it(child: Child) -> None:
    await child.ask(Do("count"), int, 20)
    waiting = asyncio.create_task(child.ask(Do("hang"), type(None), 20))
    await asyncio.sleep(0)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert not child.is_running
    assert await child.ask(Do("count"), int, 20, b"x") == 1
