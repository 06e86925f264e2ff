"""What a shared log promises while the way to its server fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack

import pytest

from rightseat.core.errors import RunExists, StaleWriter
from rightseat.core.events import (
    TextDelta,
)
from rightseat.core.log import Log
from tests.conditions import Paced
from tests.contracts.logs import (
    deltas,
    read,
    sharing,
    write_on,
)
from tests.services import Proxy, proxy


@pytest.fixture(params=["redis", "postgres"])
async def network(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Proxy, Log, Log]]:
    """Two processes that share a log: the way of the first to the server can fail."""
    async with proxy(6379 if request.param == "redis" else 5432) as way, sharing(request.param, way.port) as behind:
        yield way, await behind(), await behind(direct=True)


async def test_what_was_kept_though_the_answer_was_lost_is_not_kept_twice(network: tuple[Proxy, Log, Log]) -> None:
    way, here, there = network
    await here.create("r")

    async with asyncio.timeout(60):
        near = asyncio.create_task(read(here, "r"))
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            await here.read("r")
            way.is_mute = True
            await writer.append(TextDelta("m", "two"))
            await way.swallowed.wait()
            way.cut()
            kept = await there.read("r")
            way.mend()
            await writer.append(TextDelta("m", "three"))
        heard = await near

    assert [entry.id for entry in kept] == ["1-1", "1-2"]
    assert [entry.id for entry in heard] == ["1-1", "1-2", "1-3"]
    assert await there.read("r") == heard


async def test_a_run_is_created_and_opened_though_the_answers_are_lost(network: tuple[Proxy, Log, Log]) -> None:
    """The server did it the first time. That it is there already must not be taken for somebody else's doing."""
    way, here, there = network

    async def losing_the_answer(asking: Awaitable[object]) -> None:
        way.mute_after = (b"XADD", b"COMMIT")
        way.swallowed.clear()
        task = asyncio.ensure_future(asking)
        await way.swallowed.wait()
        way.cut()
        way.mend()
        await task

    async with asyncio.timeout(60), AsyncExitStack() as left:
        await losing_the_answer(here.create("r"))
        opening = here.open("r", 1)
        left.push_async_exit(opening)
        await losing_the_answer(opening.__aenter__())
        with pytest.raises(RunExists):
            await there.create("r")
        with pytest.raises(StaleWriter):
            async with there.open("r", 1):
                pass


async def test_a_process_that_was_disconnected_during_a_takeover_detects_it_and_continues_reading(
    network: tuple[Proxy, Log, Log],
) -> None:
    way, here, there = network
    await here.create("r")

    async with asyncio.timeout(60):
        near = asyncio.create_task(read(here, "r"))
        async with here.open("r", 1) as sleeper:
            await sleeper.append(TextDelta("m", "one"))
            await here.read("r")
            way.cut()
            await sleeper.append(TextDelta("m", "too late"))
            async with there.open("r", 2) as owner:
                await owner.append(TextDelta("m", "two"))
                way.mend()
                with pytest.raises(StaleWriter):
                    await write_on(sleeper)
                await owner.append(TextDelta("m", "three"))
        heard = await near

    assert [(entry.id, entry.event) for entry in heard] == [
        ("1-1", TextDelta("m", "one")),
        ("2-2", TextDelta("m", "two")),
        ("2-3", TextDelta("m", "three")),
    ]


@pytest.mark.parametrize("is_reader", [True, False], ids=["reader", "writer"])
async def test_where_a_connection_fails_again_and_again_each_entry_is_written_and_read_once(
    network: tuple[Proxy, Log, Log], is_reader: bool
) -> None:
    way, here, there = network
    reader, writer = (here, there) if is_reader else (there, here)
    await writer.create("r")

    async with asyncio.timeout(30):
        reading = asyncio.create_task(read(reader, "r"))
        async with writer.open("r", 1) as run:
            async for number, event in Paced(enumerate(deltas(300)), 0.002):
                await run.append(event)
                if number % 60 == 20:
                    way.is_mute = True
                if number % 60 == 30:
                    way.cut()
                if number % 60 == 40:
                    way.mend()
        heard = await reading

    assert [(entry.id, entry.event) for entry in heard] == [
        (f"1-{number}", event) for number, event in enumerate(deltas(300), 1)
    ]
