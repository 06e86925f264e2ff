"""A run of many messages ends in several transactions: whatever interrupts them, its thread is right in the end."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import StaleWriter
from rightseat.core.events import RunFinished
from rightseat.core.messages import Message, Text
from rightseat.core.threads import Thread
from rightseat.stores import message_pieces
from rightseat.stores.databases import connect
from rightseat.stores.message_pieces import PIECE_MESSAGES
from rightseat.stores.sql import SqlThreads

ANNA = Principal("anna")
DONE = RunFinished("done")
COUNT = 2 * PIECE_MESSAGES + 5


def write_messages(name: str, count: int = COUNT) -> tuple[Message, ...]:
    return tuple(Message("user", (Text(f"{name} {number}"),), id=f"{name}{number}") for number in range(count))


def replace_messages() -> Ask:
    asked = Ask(messages=(*write_messages("kept", 3), *write_messages("new")), thread_id="t", run_id="r2")
    return msgspec.structs.replace(asked, principal=ANNA, truncate_at="old0")


async def store_thread(threads: SqlThreads) -> None:
    asked = Ask(messages=(*write_messages("kept", 3), *write_messages("old")), thread_id="t", run_id="r1")
    asked = msgspec.structs.replace(asked, principal=ANNA)
    await threads.claim(asked)
    await threads.finish(asked, (), None, DONE)


async def load(threads: SqlThreads) -> Thread:
    thread = await threads.load("t", ANNA)
    assert thread is not None
    return thread


def interrupt_after(pieces: int, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    calls = iter(range(pieces))
    holds: Callable[..., Any] = message_pieces._holds_thread

    def check(*args: Any) -> Any:
        if next(calls, None) is None:
            raise error
        return holds(*args)

    monkeypatch.setattr(message_pieces, "_holds_thread", check)


@pytest.mark.parametrize("pieces", [0, 1, 2, 3, 4, 5])
async def test_what_an_interrupted_end_has_begun_is_completed(
    where: Path | str, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    async with SqlThreads(connect(where)) as threads:
        await store_thread(threads)
        await threads.claim(replace_messages())
        with monkeypatch.context() as patched:
            interrupt_after(pieces, patched, LookupError("gone"))
            with pytest.raises(LookupError):
                await threads.finish(replace_messages(), (), None, DONE)
        half = await load(threads)

        await threads.finish(replace_messages(), (), None, DONE)

        assert half.runs[-1].outcome is None
        assert [one.id for one in (await load(threads)).messages] == [one.id for one in replace_messages().messages]


async def test_a_run_that_another_process_has_taken_writes_no_piece(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        await store_thread(threads)
        claim = await threads.claim(replace_messages())
        await threads.advance_epoch(replace_messages(), claim.epoch)
        threads._epochs["r2"] = claim.epoch  # as in the process that was cut off
        before = await load(threads)

        with pytest.raises(StaleWriter):
            await threads.finish(replace_messages(), (), None, DONE)

        assert (await load(threads)).messages == before.messages


async def test_others_write_between_two_pieces(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        await store_thread(threads)
        await threads.claim(replace_messages())
        ended = asyncio.create_task(threads.finish(replace_messages(), (), None, DONE))

        other = Ask(
            messages=(Message("user", (Text("Hi"),)),), thread_id="other", run_id="o", principal=Principal("ben")
        )
        await threads.claim(other)

        assert not ended.done()
        await ended
