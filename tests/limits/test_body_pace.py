"""The turns of one user's large requests."""

import asyncio

import pytest

from rightseat.core.ask import ANYONE
from rightseat.limits.body_pace import CONTAINERS_PER_S, FREE_CONTAINERS, MAX_WAIT_S, BodyPace, TooManyLargeRequests
from tests.conditions import settle


async def test_a_large_request_waits_for_the_one_before_it_and_other_users_do_not() -> None:
    pace = BodyPace()
    await pace.wait("bob", CONTAINERS_PER_S)

    waiting = asyncio.create_task(pace.wait("bob", FREE_CONTAINERS + 1))
    await pace.wait("alice", CONTAINERS_PER_S)
    await pace.wait("bob", FREE_CONTAINERS)
    await settle()

    assert not waiting.done()
    waiting.cancel()


async def test_the_next_large_request_goes_on_when_the_time_of_the_first_is_over() -> None:
    pace, clock = BodyPace(), asyncio.get_running_loop().time
    began = clock()

    await pace.wait("bob", CONTAINERS_PER_S // 5)
    await pace.wait("bob", CONTAINERS_PER_S // 5)

    assert clock() - began >= 0.19


async def test_a_request_that_would_wait_too_long_is_refused_and_says_when_to_retry() -> None:
    pace = BodyPace()
    await pace.wait("bob", int(CONTAINERS_PER_S * (MAX_WAIT_S + 5)))

    with pytest.raises(TooManyLargeRequests) as told:
        await pace.wait("bob", FREE_CONTAINERS + 1)

    assert told.value.retry_after == MAX_WAIT_S + 5


async def test_clients_without_a_user_do_not_wait_for_each_other() -> None:
    pace = BodyPace()

    async with asyncio.timeout(1):
        for _ in range(50):
            await pace.wait(ANYONE.id, CONTAINERS_PER_S)
