"""How a process receives the records of other processes' runs."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from rightseat.core.events import TextDelta
from rightseat.core.log import Position
from rightseat.core.stream import codec
from rightseat.logs.shared.backend import LogBackend
from rightseat.logs.shared.records import Cursor, Record, RecordPage
from rightseat.logs.shared.run import SharedRun
from rightseat.logs.shared.subscriber import MAX_RECEIVE_INTERVAL_S, Subscriber
from tests.conditions import settle

RECEPTIONS = 10


class BusyServer:
    """A server on which another process writes a record as soon as the last one was read."""

    max_runs_per_subscription = 10

    def __init__(self) -> None:
        self.receptions = 0
        self.is_done = asyncio.Event()

    def subscribe(self) -> "BusyServer":
        return self

    async def receive(self, positions: Mapping[str, Position]) -> Mapping[str, Sequence[Record]]:
        assert positions, "Redis refuses XREAD without keys"
        self.receptions += 1
        if self.receptions == RECEPTIONS:
            self.is_done.set()
        content = b"[%b]" % codec.encode(TextDelta("m", "Hi"))
        return {"r": [Record(Position(1, self.receptions), "events", content)]}

    def wake(self) -> None: ...

    async def close(self) -> None: ...


async def read_nothing(cursor: Cursor) -> RecordPage:
    return RecordPage((), is_last=True)


async def test_records_that_follow_each_other_fast_are_received_together() -> None:
    server = BusyServer()
    subscriber = Subscriber(cast(LogBackend, server))
    run = SharedRun(Cursor("r"), read_nothing)
    clock = asyncio.get_running_loop().time

    began = clock()
    subscriber.add(run)
    async with asyncio.timeout(60):
        await server.is_done.wait()
    took = clock() - began
    await subscriber.close()

    assert run.visible_seq >= RECEPTIONS - 1
    assert took >= (RECEPTIONS - 2) * MAX_RECEIVE_INTERVAL_S * 0.9  # the first two are not known to be fast yet


async def test_a_run_that_is_removed_at_once_is_not_received(caplog: pytest.LogCaptureFixture) -> None:
    server = BusyServer()
    subscriber = Subscriber(cast(LogBackend, server))
    run = SharedRun(Cursor("r"), read_nothing)

    subscriber.add(run)
    subscriber.remove("r")
    await settle()
    too_early = server.receptions
    subscriber.add(run)
    async with asyncio.timeout(60):
        await server.is_done.wait()
    await subscriber.close()

    assert too_early == 0
    assert not caplog.records
