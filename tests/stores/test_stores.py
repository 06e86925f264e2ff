"""What every store of threads promises (`core.threads`). A new one is added to the fixture, and held to all of it."""

from collections.abc import AsyncIterator

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, user
from rightseat.core.threads import Thread, Threads
from rightseat.stores.memory import MemoryThreads

ANNA, BEN = Principal("anna"), Principal("ben")


@pytest.fixture(params=["memory"])
async def threads(request: pytest.FixtureRequest) -> AsyncIterator[Threads]:
    match request.param:
        case "memory":
            yield MemoryThreads()


def ask(*messages: Message, principal: Principal = ANNA, run_id: str = "r") -> Ask:
    return Ask(messages=messages, thread_id="t", principal=principal, run_id=run_id)


async def test_a_thread_is_what_was_asked_and_what_was_said_to_it(threads: Threads) -> None:
    asked, said = user("Hi"), assistant("Hello!")

    await threads.finish(ask(asked), (said,), {"mood": "good"})

    assert await threads.load("t", ANNA) == Thread("t", (asked, said), {"mood": "good"})


async def test_every_part_of_a_message_is_kept(threads: Threads) -> None:
    asked = Message("user", (Text("What is this?"), Image("image/png", "aGk=")))
    called = Message("assistant", (Text("Let me see."), Call("c", "look", '{"broken":')))
    returned = Message("tool", (Result("c", "look", "Too dark.", "tool_failed"),))

    await threads.finish(ask(asked), (called, returned), None)

    assert await threads.load("t", ANNA) == Thread("t", (asked, called, returned))


async def test_a_thread_that_never_was_is_not_there(threads: Threads) -> None:
    assert await threads.load("t", ANNA) is None


async def test_a_thread_looks_as_after_its_latest_run(threads: Threads) -> None:
    first, second = user("Hi"), user("Still there?")
    await threads.finish(ask(first), (), {"count": 1})
    await threads.finish(ask(first, second), (), {"count": 2})

    assert await threads.load("t", ANNA) == Thread("t", (first, second), {"count": 2})


async def test_nobody_reads_the_thread_of_another(threads: Threads) -> None:
    await threads.finish(ask(user("A secret"), principal=ANNA), (), None)

    assert await threads.load("t", BEN) is None


async def test_two_may_call_their_threads_the_same(threads: Threads) -> None:
    """Clients choose these ids."""
    annas, bens = user("From Anna"), user("From Ben")
    await threads.finish(ask(annas, principal=ANNA), (), None)
    await threads.finish(ask(bens, principal=BEN), (), None)

    assert await threads.load("t", ANNA) == Thread("t", (annas,))
    assert await threads.load("t", BEN) == Thread("t", (bens,))


async def test_who_claims_a_run_again_gets_a_higher_epoch(threads: Threads) -> None:
    epochs = [await threads.begin(ask()) for _ in range(3)]

    assert epochs[0] >= 1
    assert epochs == sorted(set(epochs))


async def test_claiming_a_run_makes_no_thread(threads: Threads) -> None:
    await threads.begin(ask(user("Hi")))

    assert await threads.load("t", ANNA) is None
