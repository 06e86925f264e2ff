"""Announcements between servers: what every log that carries them promises."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from rightseat.concurrency import cancel_and_wait
from rightseat.logs import postgres, redis
from rightseat.logs.postgres import changes as postgres_changes
from rightseat.logs.redis import changes as redis_changes
from rightseat.logs.shared.backend import BackendUnavailable
from rightseat.operations.changes import CarriesChanges, ChangeBus
from tests.conditions import until
from tests.databases import migrated_database
from tests.services import REDIS, keys, own_redis, proxy


class Received:
    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.is_listening = False


@asynccontextmanager
async def receiving(bus: ChangeBus) -> AsyncIterator[Received]:
    found = Received()

    async def receive() -> None:
        async for messages in bus.receive():
            found.messages += messages
            found.is_listening = True

    task = asyncio.create_task(receive())
    await until(lambda: found.is_listening or task.done())
    try:
        yield found
    finally:
        await cancel_and_wait(task)


@pytest.fixture(params=["postgres", "redis"])
async def buses(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Sequence[ChangeBus]]:
    """Those of two processes."""
    async with AsyncExitStack() as stack:
        found = []
        build = await builder(request.param, tmp_path, stack)
        for _ in range(2):
            log = await stack.enter_async_context(build())
            assert isinstance(log, CarriesChanges)
            bus = log.changes()
            assert bus is not None
            found.append(bus)
        yield found


async def builder(kind: str, folder: Path, stack: AsyncExitStack) -> Callable[[], Any]:
    if kind == "postgres":
        url = SecretStr(await stack.enter_async_context(migrated_database()))
        return lambda: postgres.build(postgres.Options(url=url))
    prefix = await stack.enter_async_context(keys())
    return lambda: redis.build(redis.Options(url=SecretStr(REDIS), prefix=prefix))


async def test_both_processes_receive_messages_in_order(buses: Sequence[ChangeBus]) -> None:
    async with receiving(buses[0]) as here, receiving(buses[1]) as there:
        await buses[0].send([b'"one"', '"zwölf 🙂"'.encode()])
        await buses[1].send([b'"three"'])
        await until(lambda: len(here.messages) == len(there.messages) == 3)

    assert there.messages == here.messages == [b'"one"', '"zwölf 🙂"'.encode(), b'"three"']


async def test_a_message_as_long_as_allowed_arrives_and_what_came_before_does_not(buses: Sequence[ChangeBus]) -> None:
    await buses[0].send([b'"before"'])
    async with receiving(buses[1]) as there:
        sent = [letter * 7000 for letter in (b"x", b"y", b"z")]
        await buses[0].send(sent)
        await until(lambda: len(there.messages) == 3)

    assert there.messages == sent


async def test_a_connection_to_redis_that_is_cut_or_mute_ends_the_subscription(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_changes, "CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(redis_changes, "RESPONSE_TIMEOUT_S", 0.5)
    async with own_redis(tmp_path) as server, proxy(server.port) as between:
        options = redis.Options(url=SecretStr(f"redis://127.0.0.1:{between.port}/0"))
        built: Any = redis.build(options)
        async with built as log:
            bus = log.changes()
            for fail in (between.cut, lambda: setattr(between, "is_mute", True)):
                async with aclosing(bus.receive()) as receiving:
                    assert await anext(receiving) == ()
                    fail()
                    with pytest.raises(BackendUnavailable):
                        await asyncio.wait_for(anext(receiving), 30)
                between.mend()


async def test_a_connection_to_postgresql_that_is_cut_ends_the_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_changes, "CHECK_INTERVAL_S", 60.0)
    async with migrated_database() as url:
        database, _, query = url.partition("?")
        host = database.split("@")[-1].split("/")[0]
        port = int(host.partition(":")[2] or 5432)
        async with proxy(port) as between:
            cut = database.replace(host, f"127.0.0.1:{between.port}") + (f"?{query}" if query else "")
            built: Any = postgres.build(postgres.Options(url=SecretStr(cut)))
            async with built as log:
                async with aclosing(log.changes().receive()) as receiving:
                    assert await anext(receiving) == ()
                    between.cut()
                    with pytest.raises(BackendUnavailable):
                        await asyncio.wait_for(anext(receiving), 30)
                between.mend()
