"""What only the store in memory promises: how much it keeps."""

from pydantic import JsonValue

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import RunFinished
from rightseat.core.messages import Call, Image, Message, Part, Result, Text, user
from rightseat.core.threads import Threads
from rightseat.stores.memory import MemoryThreads, Options, build

ANNA = Principal("anna")
MEGABYTE = 2**20


async def keep(threads: Threads, thread_id: str, *parts: Part, state: JsonValue = None) -> None:
    ask = Ask(messages=(Message("user", parts or (Text("Hi"),)),), thread_id=thread_id, principal=ANNA)
    await threads.claim(ask)
    await threads.finish(ask, (), state, RunFinished("done"))


async def kept(threads: Threads, *thread_ids: str) -> list[str]:
    return [thread_id for thread_id in thread_ids if await threads.load(thread_id, ANNA)]


async def test_the_thread_that_was_not_used_for_longest_is_forgotten_first() -> None:
    threads = build(Options(max_threads=2))
    for thread_id in ("a", "b", "c"):
        await keep(threads, thread_id)

    assert await kept(threads, "a", "b", "c") == ["b", "c"]


async def test_a_new_message_counts_as_use_of_the_thread() -> None:
    threads = build(Options(max_threads=2))
    for thread_id in ("a", "b", "a", "c"):
        await keep(threads, thread_id)

    assert await kept(threads, "a", "b", "c") == ["a", "c"]


async def test_a_thread_is_used_when_it_is_read() -> None:
    threads = build(Options(max_threads=2))
    await keep(threads, "a")
    await keep(threads, "b")
    await threads.load("a", ANNA)
    await keep(threads, "c")

    assert await kept(threads, "a", "b", "c") == ["a", "c"]


async def test_threads_are_forgotten_when_together_they_are_too_big() -> None:
    threads = build(Options(max_mb=1))
    for thread_id in ("a", "b", "c"):
        await keep(threads, thread_id, Text("x" * (MEGABYTE * 2 // 5)))

    assert await kept(threads, "a", "b", "c") == ["b", "c"]


async def test_every_kind_of_part_and_the_state_weigh_something() -> None:
    half = "x" * (MEGABYTE * 3 // 5)
    heavy: list[tuple[Part, JsonValue]] = [
        (Text(half), None),
        (Image("image/png", half), None),
        (Call("c", "n", half), None),
        (Result("c", "n", half), None),
        (Text("small"), {"deep": [{"inside": half}]}),
    ]
    for part, state in heavy:
        threads = MemoryThreads(max_mb=1)
        await keep(threads, "a", part, state=state)
        await keep(threads, "b", part, state=state)

        assert await kept(threads, "a", "b") == ["b"], part


async def test_a_thread_that_shrinks_frees_memory_for_others() -> None:
    threads = MemoryThreads(max_mb=1)
    for _ in range(10):
        await keep(threads, "a", Text("x" * (MEGABYTE * 3 // 5)))
    await keep(threads, "a", Text("small"))
    await keep(threads, "b", Text("x" * (MEGABYTE * 3 // 5)))

    assert await kept(threads, "a", "b") == ["a", "b"]


async def test_a_thread_that_is_too_big_alone_is_not_kept_and_does_no_harm() -> None:
    threads = MemoryThreads(max_mb=1)
    await keep(threads, "before")
    await keep(threads, "huge", Text("x" * (MEGABYTE * 2)))
    await keep(threads, "after")

    assert await kept(threads, "before", "huge", "after") == ["before", "after"]


async def test_the_size_of_messages_counts_too() -> None:
    threads = MemoryThreads(max_mb=1)
    for thread_id in ("a", "b"):
        said = Message("assistant", (Text("x" * (MEGABYTE * 3 // 5)),))
        ask = Ask(messages=(user("Hi"),), thread_id=thread_id, principal=ANNA)
        await threads.claim(ask)
        await threads.finish(ask, (said,), None, RunFinished("done"))

    assert await kept(threads, "a", "b") == ["b"]
