"""The places of a user among the reads of a process."""

import asyncio
import weakref
from contextlib import suppress

import pytest

from rightseat.core.ask import ANYONE
from rightseat.limits.body_pace import MAX_BODY_BYTES_PER_USER, TooManyBodies
from rightseat.limits.read_limits import MAX_WAITING_READS, ReadLimits, TooManyReads, TooManyStreams
from tests.conditions import settle


async def test_a_read_waits_for_one_of_its_user_and_other_users_do_not() -> None:
    limits = ReadLimits(max_reads=1)
    first, second, other = (limits.open_request(user) for user in ("bob", "bob", "alice"))
    await first.hold()
    waiting = asyncio.create_task(second.hold())
    await other.hold()
    await settle()
    assert not waiting.done()

    first.release()
    await waiting

    assert second.is_holding


async def test_a_read_that_waited_too_long_is_refused_and_names_the_option() -> None:
    limits = ReadLimits(max_reads=1, wait_seconds=0.01)
    first, second = limits.open_request("bob"), limits.open_request("bob")
    await first.hold()

    with pytest.raises(TooManyReads, match=r"server\.max_concurrent_reads_per_user") as told:
        await second.hold()
    assert second.retry_after == told.value.retry_after > 0


async def test_where_many_reads_of_a_user_wait_further_ones_are_refused_at_once() -> None:
    limits = ReadLimits(max_reads=1, wait_seconds=1000)
    await limits.open_request("bob").hold()
    waiting = [asyncio.create_task(limits.open_request("bob").hold()) for _ in range(MAX_WAITING_READS)]
    await settle()

    with pytest.raises(TooManyReads):
        await limits.open_request("bob").hold()
    for task in waiting:
        task.cancel()


async def test_a_request_that_starts_a_run_gives_its_place_back_and_takes_none_again() -> None:
    limits = ReadLimits(max_reads=1, max_streams=1)
    asking, reading = limits.open_request("bob"), limits.open_request("bob")
    await asking.hold()

    asking.leave()
    await asking.hold()
    asking.open_stream()
    await reading.hold()
    reading.open_stream()

    assert (asking.is_holding, reading.is_holding) == (False, True)


async def test_a_stream_beyond_the_limit_is_refused_until_another_is_closed() -> None:
    limits = ReadLimits(max_streams=1)
    first, second = limits.open_request("bob"), limits.open_request("bob")
    first.open_stream()

    with pytest.raises(TooManyStreams, match=r"server\.max_concurrent_streams_per_user"):
        second.open_stream()
    first.close()
    second.open_stream()


async def test_a_place_is_given_back_once_however_often_a_request_is_closed() -> None:
    limits = ReadLimits(max_reads=1, wait_seconds=0.01)
    first, second, third = (limits.open_request("bob") for _ in range(3))
    await first.hold()
    first.release()
    first.close()
    first.close()
    await second.hold()

    with pytest.raises(TooManyReads):
        await third.hold()


async def test_a_read_that_is_cancelled_while_it_waits_takes_no_place() -> None:
    limits = ReadLimits(max_reads=1, wait_seconds=0.01)
    first, second, third = (limits.open_request("bob") for _ in range(3))
    await first.hold()
    waiting = asyncio.create_task(second.hold())
    await settle()
    waiting.cancel()
    await asyncio.wait((waiting,))

    first.close()
    await third.hold()


@pytest.mark.parametrize("user", ["bob", ANYONE.id])
async def test_without_a_limit_and_without_a_key_nothing_waits(user: str) -> None:
    limits = ReadLimits(0, None, 0.01) if user == "bob" else ReadLimits(1, 1, 0.01)
    for _ in range(3):
        reads = limits.open_request(user)
        await reads.hold()
        reads.open_stream()


def test_the_bodies_of_a_user_that_are_received_at_once_have_a_bound() -> None:
    limits = ReadLimits()
    first, second, other = (limits.open_request(user) for user in ("bob", "bob", "alice"))
    first.receive(MAX_BODY_BYTES_PER_USER)
    other.receive(MAX_BODY_BYTES_PER_USER)

    with pytest.raises(TooManyBodies):
        second.receive(1)
    second.close()
    first.leave()

    limits.open_request("bob").receive(MAX_BODY_BYTES_PER_USER)
    assert second.retry_after


def test_a_body_that_was_refused_is_freed_while_its_response_is_sent() -> None:
    reads = ReadLimits().open_request("bob")
    bodies: list[weakref.ref[set[str]]] = []

    def receive() -> None:
        body: set[str] = set()
        bodies.append(weakref.ref(body))
        reads.receive(MAX_BODY_BYTES_PER_USER + 1)

    with suppress(TooManyBodies):
        receive()

    assert [body() for body in bodies] == [None]
    reads.close()
