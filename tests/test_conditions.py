"""The waits that tests share."""

import asyncio
from itertools import count

import pytest

from tests.conditions import Paced, counting_turns, is_listening, settle, until, wait_until
from tests.services import free_port


async def test_a_condition_returns_its_first_true_value() -> None:
    numbers = count()

    async def double() -> int:
        return 2 * next(numbers)

    assert await until(lambda: next(numbers)) == 1
    assert await until(double) == 4
    assert wait_until(lambda: next(numbers)) == 3


async def test_a_condition_that_does_not_become_true_is_named() -> None:
    left: list[str] = []

    with pytest.raises(TimeoutError, match=r"not so within 0\.01 s, but \[\]: .*until\(lambda: left, within_s=0\.01\)"):
        await until(lambda: left, within_s=0.01)
    with pytest.raises(TimeoutError, match=r"not so within 0 s, but \[\]: .*wait_until\(lambda: left, within_s=0\)"):
        wait_until(lambda: left, within_s=0)


async def test_a_timeout_of_the_condition_itself_is_not_hidden() -> None:
    async def fail() -> bool:
        raise TimeoutError("the server is silent")

    with pytest.raises(TimeoutError, match="the server is silent"):
        await until(fail)


async def test_settling_lets_other_tasks_go_on() -> None:
    async with counting_turns() as counter:
        await settle()

    assert counter.turns >= 100


async def test_paced_items_leave_a_turn_to_others_between_two() -> None:
    seen: list[str] = []

    async def see(name: str) -> None:
        async for number in Paced(range(2)):
            seen.append(f"{name}{number}")  # noqa: PERF401  # one at a time

    await asyncio.gather(see("a"), see("b"))

    assert seen == ["a0", "b0", "a1", "b1"]


async def test_a_port_listens_only_while_a_server_does() -> None:
    port = free_port()
    before = is_listening(port)
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port):
        meanwhile = is_listening(port)

    assert (before, meanwhile) == (False, True)
