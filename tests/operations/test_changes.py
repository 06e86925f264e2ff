"""What a server announces of changes, and what it loses and sends again when others cannot be reached."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import RunFailed, RunFinished
from rightseat.operations import changes as module
from rightseat.operations.changes import (
    EVERYONE,
    MAX_MESSAGE_BYTES,
    Change,
    LiveChanges,
    announce_from_command,
    hash_owner,
    pack_changes,
)
from tests.conditions import until

ANNA = hash_owner("anna")


class Outages:
    def __init__(self) -> None:
        self.failures: list[object] = []

    def fail(self, cause: object) -> None:
        self.failures.append(cause)

    def recover(self) -> None: ...


class Bus:
    """Carries messages between the servers of a test."""

    def __init__(self) -> None:
        self.is_down = False
        self.receivers: list[asyncio.Queue[Sequence[bytes] | None]] = []
        self.sent = 0

    async def send(self, messages: Sequence[bytes]) -> None:
        if self.is_down:
            raise OSError("the bus is down")
        self.sent += len(messages)
        for receiver in self.receivers:
            receiver.put_nowait(messages)

    async def receive(self) -> AsyncIterator[Sequence[bytes]]:
        if self.is_down:
            raise OSError("the bus is down")
        queue: asyncio.Queue[Sequence[bytes] | None] = asyncio.Queue()
        self.receivers.append(queue)
        yield ()
        while (messages := await queue.get()) is not None:
            yield messages
        self.receivers.remove(queue)
        raise OSError("the connection was cut")

    def cut(self) -> None:
        for receiver in self.receivers:
            receiver.put_nowait(None)


@pytest.fixture
def bus() -> Bus:
    return Bus()


@pytest.fixture
async def servers(bus: Bus) -> AsyncIterator[tuple[LiveChanges, LiveChanges]]:
    async with LiveChanges(Outages(), bus) as one, LiveChanges(Outages(), bus) as two:
        yield one, two


async def follow(changes: LiveChanges, bus: Bus, owner: str = "anna") -> list[Change]:
    """What the lists of a user receive, once they are sure to receive all."""
    found: list[Change] = []
    listening = len(bus.receivers)
    changes.subscribe(owner, found.append)
    await until(lambda: len(bus.receivers) > listening or changes._listening is None)
    await until(lambda: any(change.topic == "all" for change in found))
    found.clear()
    return found


async def test_both_servers_receive_a_change_once(servers: tuple[LiveChanges, LiveChanges], bus: Bus) -> None:
    one, two = servers
    here, there = await follow(one, bus), await follow(two, bus)

    one.change_thread("t", "anna", "default")
    one.change_memory("m", "anna", is_deleted=True)
    await until(lambda: len(there) == 2)

    assert here == there == [Change(ANNA, "thread", "t"), Change(ANNA, "memory", "m", is_deleted=True)]


async def test_others_receive_only_what_all_share(servers: tuple[LiveChanges, LiveChanges], bus: Bus) -> None:
    one, two = servers
    bens = await follow(two, bus, "ben")

    one.change_memory("m", "anna")
    one.change_memory("shared", None)
    await until(lambda: bens)

    assert bens == [Change(EVERYONE, "memory", "shared")]


async def test_runs_have_the_id_that_their_client_sent(servers: tuple[LiveChanges, LiveChanges], bus: Bus) -> None:
    one, _ = servers
    found = await follow(one, bus)
    ask = Ask(messages=(), thread_id="t", run_id="r", client_run_id="c", principal=Principal("anna"), agent="clerk")

    one.start(ask)
    one.end(ask, None)
    one.end(ask, RunFinished("done"))
    one.end(ask, RunFailed("x", ""))

    runs = [(change.run, change.agent, change.event) for change in found if change.topic == "run"]
    assert runs == [("c", "clerk", "RUN_STARTED"), ("c", "clerk", "RUN_FINISHED"), ("c", "clerk", "RUN_ERROR")]
    assert sum(change.topic == "thread" for change in found) == 3


async def test_a_server_that_was_cut_off_reads_everything_since(
    servers: tuple[LiveChanges, LiveChanges], bus: Bus
) -> None:
    one, two = servers
    there = await follow(two, bus)

    bus.is_down = True
    bus.cut()
    one.change_thread("t", "anna", "default")
    await until(lambda: not bus.receivers)
    bus.is_down = False
    await until(lambda: any(change.topic == "all" for change in there))

    assert all(change.since > 0 for change in there if change.topic == "all")


async def test_changes_wait_for_the_end_of_an_outage_within_a_bound(
    servers: tuple[LiveChanges, LiveChanges], bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_UNSENT", 5)
    one, two = servers
    there = await follow(two, bus)

    real, bus.is_down = bus.send, True
    for number in range(100):
        one.change_thread(f"t{number}", "anna", "default")
        await asyncio.sleep(0)
    unsent = len(one._unsent)
    bus.is_down = False
    await until(lambda: any(change.topic == "all" for change in there))
    await until(lambda: any(change.id == "t99" for change in there))

    assert real is not None
    assert unsent <= 5


async def test_many_changes_are_few_messages_of_a_bounded_size(
    servers: tuple[LiveChanges, LiveChanges], bus: Bus
) -> None:
    changes = [Change(ANNA, "thread", "🙂" * 512) for _ in range(50)]
    messages = pack_changes("s" * 16, changes)
    found = await follow(servers[1], bus)
    for number in range(500):
        servers[0].change_thread(f"t{number}", "anna", "default")
    await until(lambda: len(found) == 500)

    assert all(len(message) <= MAX_MESSAGE_BYTES for message in messages)
    assert bus.sent < 20
    assert pack_changes("s", []) == []


async def test_unsubscribed_lists_and_messages_of_other_versions_change_nothing(
    servers: tuple[LiveChanges, LiveChanges], bus: Bus
) -> None:
    found = await follow(servers[0], bus)
    await bus.send([b"", b"{}", b"[1]", b'["x",[["a","unknown"]]]', b'["x",[["a"]]]'])
    servers[0].unsubscribe("anna", found.append)
    servers[0].unsubscribe("anna", found.append)
    servers[0].change_thread("t", "anna", "default")

    assert found == []
    assert servers[0]._receivers == {}


async def test_a_command_announces_all_of_a_user(servers: tuple[LiveChanges, LiveChanges], bus: Bus) -> None:
    found = await follow(servers[0], bus)
    await announce_from_command(bus, "anna")
    await until(lambda: found)

    assert found == [Change(ANNA, "all")]
