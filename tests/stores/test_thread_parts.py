"""Parts of threads, in every store and in one that cannot read parts."""

from typing import Any

import pytest

from rightseat.access.threads import ScopedThreads
from rightseat.core.ask import Ask, Principal
from rightseat.core.events import RunFinished
from rightseat.core.messages import assistant, user
from rightseat.core.thread_parts import SupportsThreadParts, outline_of, read_messages, read_outline
from rightseat.core.threads import Threads

ANNA, BEN = Principal("anna"), Principal("ben")


class Whole:
    """A store that was written before parts of threads could be read."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        if name in ("outline", "read_messages"):
            raise AttributeError(name)
        return getattr(self._threads, name)


@pytest.fixture(params=["itself", "scoped", "whole", "scoped and whole"])
def read_from(request: pytest.FixtureRequest, threads: Threads) -> Threads:
    base: Any = Whole(threads) if "whole" in request.param else threads
    return ScopedThreads(base) if "scoped" in request.param else base


async def fill(threads: Threads) -> None:
    said = tuple(user(f"{number}") for number in range(5))
    asked = Ask(messages=said, thread_id="t", principal=ANNA, agent="clerk", run_id="run_1")
    await threads.claim(asked)
    await threads.finish(asked, (assistant("5"),), {"a": 1}, RunFinished("done"))


async def test_an_outline_has_all_but_messages_and_state(threads: Threads, read_from: Threads) -> None:
    await fill(threads)

    outline = await read_outline(read_from, "t", ANNA)

    whole = await threads.load("t", ANNA)
    assert whole is not None
    assert outline == outline_of(whole)
    assert outline.message_count == 6
    assert [run.id for run in outline.runs] == ["run_1"]


async def test_messages_are_read_by_their_numbers(threads: Threads, read_from: Threads) -> None:
    await fill(threads)

    async def texts(start: int, stop: int) -> list[str]:
        return [message.text for message in await read_messages(read_from, "t", ANNA, start, stop)]

    assert await texts(0, 2) == ["0", "1"]
    assert await texts(4, 99) == ["4", "5"]
    assert await texts(-3, 1) == ["0"]
    assert await texts(3, 3) == await texts(6, 9) == await texts(2, 0) == []


async def test_a_thread_without_messages_has_none(threads: Threads, read_from: Threads) -> None:
    await threads.append_messages(Ask(messages=(), thread_id="empty", principal=ANNA, agent="clerk"))

    outline = await read_outline(read_from, "empty", ANNA)

    assert outline is not None
    assert outline.message_count == 0


@pytest.mark.parametrize("thread_id", ["t", "none", "nul\0"])
async def test_of_a_thread_of_another_user_nothing_is_read(
    threads: Threads, read_from: Threads, thread_id: str
) -> None:
    await fill(threads)

    assert await read_outline(read_from, thread_id, BEN) is None
    assert list(await read_messages(read_from, thread_id, BEN, 0, 9)) == []


async def test_a_principal_without_the_agent_of_a_thread_reads_no_part_of_it(threads: Threads) -> None:
    await fill(threads)
    scoped, narrow = ScopedThreads(threads), Principal("anna", ("other",))

    assert await scoped.outline("t", narrow) is None
    assert list(await scoped.read_messages("t", narrow, 0, 9)) == []


async def test_our_stores_read_parts(threads: Threads) -> None:
    assert isinstance(threads, SupportsThreadParts)
