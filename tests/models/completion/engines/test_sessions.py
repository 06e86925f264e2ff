"""Conversations that an engine need not read again, with a stand-in for the engine that counts what it knew."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.models.completion.engine import End, Piece, Request
from rightseat.models.completion.engines import Spawned
from rightseat.models.completion.engines.options import LlamaCppOptions, SessionOptions
from rightseat.models.completion.engines.sessions import BLOCK, Slot, hash_blocks, shared
from tests.models.completion.engines.test_spawning import options, say, spawned

__all__ = ["options"]

LONG = "".join(f"line {number}\n" for number in range(300))


@asynccontextmanager
async def ready(options: LlamaCppOptions) -> AsyncIterator[Spawned]:
    async with spawned(options) as engine:
        await engine.wait()
        yield engine


def with_sessions(options: LlamaCppOptions, **more: int) -> LlamaCppOptions:
    sessions = SessionOptions(folder=options.sessions.folder, **more)
    return options.model_copy(update={"sessions": sessions})


async def test_a_conversation_goes_on_where_it_was(options: LlamaCppOptions) -> None:
    async with ready(options) as engine:
        first = await say(engine, LONG)
        await say(engine, "something else")
        second = await say(engine, LONG + "!more")

    assert first.cached_tokens == 0
    assert second.cached_tokens == len(LONG) + 1


async def test_a_conversation_of_several_answers_is_known_after_a_restart(options: LlamaCppOptions) -> None:
    async with ready(options) as engine:
        await say(engine, LONG)
        await say(engine, LONG + "!more")
    async with ready(options) as engine:
        again = await say(engine, LONG + "!more!and more")

    assert again.cached_tokens == len(LONG + "!more!")


async def test_a_single_question_is_not_kept(options: LlamaCppOptions) -> None:
    async with ready(options) as engine:
        await say(engine, LONG)

    assert list(options.sessions.folder.glob("*.bin")) == []


async def test_a_branch_of_a_conversation_begins_with_what_they_share_and_both_go_on(options: LlamaCppOptions) -> None:
    async with ready(options) as engine:
        await say(engine, LONG)
        await say(engine, LONG + "!left")
        branch = await say(engine, LONG + "!right")
        first = await say(engine, LONG + "!left!on")
        second = await say(engine, LONG + "!right!on")

    assert branch.cached_tokens == len(LONG + "!")
    assert first.cached_tokens == len(LONG + "!left!")
    assert second.cached_tokens == len(LONG + "!right!")


async def test_a_conversation_that_had_to_give_way_comes_back(options: LlamaCppOptions) -> None:
    one = options.model_copy(update={"slots": 1})
    other = LONG.upper()
    async with ready(one) as engine:
        for text in (LONG, LONG + "!a", other, other + "!b"):
            await say(engine, text)
        back = await say(engine, LONG + "!a!c")

    assert back.cached_tokens == len(LONG + "!a!")


async def test_when_the_engine_died_nothing_is_taken_for_known_that_is_not(options: LlamaCppOptions) -> None:
    async with ready(options) as engine:
        await say(engine, LONG)
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        while engine.ready.is_set():
            with pytest.raises(Exception, match=r"engine|loaded"):
                async for _ in engine.generate(Request(prompt="Hi")):
                    pass
        await engine.ready.wait()
        again = await say(engine, LONG + "!more")

    assert again.cached_tokens == 0


async def test_the_oldest_are_deleted_to_keep_to_the_bounds(options: LlamaCppOptions) -> None:
    few = with_sessions(options.model_copy(update={"slots": 1}), number=2)
    async with ready(with_sessions(few, number=2)) as engine:
        for name in "abcd":
            await say(engine, name * 2000)
            await say(engine, name * 2000 + "!")

    files = sorted(file.suffix for file in options.sessions.folder.iterdir() if not file.name.startswith("."))
    assert files == [".bin", ".bin", ".json", ".json"]


async def test_what_a_conversation_was_before_is_not_kept_beside_it(options: LlamaCppOptions) -> None:
    for more in ("", "!a", "!a!" + "b" * BLOCK):
        async with ready(options) as engine:
            await say(engine, LONG + more)
            await say(engine, LONG + more + "!")

    assert len(list(options.sessions.folder.glob("*.bin"))) <= 2


async def test_where_nothing_can_be_saved_that_is_said_and_answers_go_on(
    options: LlamaCppOptions, caplog: pytest.LogCaptureFixture
) -> None:
    options.sessions.folder.write_text("a file, and no folder")
    async with ready(options) as engine:
        await say(engine, LONG)
        await say(engine, LONG + "!more")

    assert "could not be saved" in caplog.text


async def test_without_sessions_the_engine_chooses(options: LlamaCppOptions, tmp_path: Path) -> None:
    async with ready(with_sessions(options, number=0)) as engine:
        await say(engine, LONG)
        props = await engine._working().client.ask("/props")

    assert "--slot-save-path" not in props["arguments"]
    assert not (tmp_path / "sessions").exists()


async def test_a_file_that_cannot_be_read_is_left_out(
    options: LlamaCppOptions, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(options) as engine:
        await say(engine, LONG)
        await say(engine, LONG + "!more")
    for file in options.sessions.folder.glob("*.json"):
        file.write_text("{")
    async with ready(options) as engine:
        again = await say(engine, LONG + "!more!")

    assert again.cached_tokens == 0
    assert "cannot be read, and is left out" in caplog.text


@pytest.mark.parametrize(("one", "other", "count"), [("", "", 0), ("ab", "ac", 1), ("ab", "abc", 2), ("é", "e", 0)])
def test_what_two_texts_begin_with(one: str, other: str, count: int) -> None:
    assert shared(one, other) == count


def test_blocks_know_all_before_them() -> None:
    one, other = hash_blocks("a" * BLOCK + "c" * BLOCK), hash_blocks("b" * BLOCK + "c" * BLOCK)

    assert len(one) == 2
    assert one[1] != other[1]
    assert hash_blocks("a" * BLOCK + "d") == one[:1]


async def test_files_of_others_in_the_folder_are_left_alone(options: LlamaCppOptions) -> None:
    folder = options.sessions.folder
    folder.mkdir(mode=0o700)
    (folder / "pytorch_model.bin").write_text("not ours")
    async with ready(with_sessions(options.model_copy(update={"slots": 1}), number=1)) as engine:
        for name in "ab":
            await say(engine, name * 2000)
            await say(engine, name * 2000 + "!")

    assert len(list(folder.glob("*-*.bin"))) == 1
    assert (folder / "pytorch_model.bin").read_text() == "not ours"


@pytest.mark.parametrize("changed", ["arguments", "adapter", "binary"])
async def test_what_another_engine_has_read_is_not_given_to_this_one(options: LlamaCppOptions, changed: str) -> None:
    adapter = options.sessions.folder.with_name("adapter.gguf")
    adapter.write_text("one")
    before = options.model_copy(update={"arguments": ("--lora", str(adapter))})
    async with ready(before) as engine:
        await say(engine, LONG)
        await say(engine, LONG + "!more")
    if changed == "adapter":
        adapter.write_text("another")
    if changed == "binary":
        assert options.binary is not None
        options.binary.write_text(options.binary.read_text() + "\n")
    async with ready(options if changed == "arguments" else before) as engine:
        again = await say(engine, LONG + "!more!and more")

    assert again.cached_tokens == 0


async def test_a_slot_is_free_again_where_the_client_left_while_it_was_made_ready(options: LlamaCppOptions) -> None:
    one = options.model_copy(update={"slots": 1})
    async with ready(one) as engine:
        sessions = engine._sessions
        assert sessions is not None
        await say(engine, LONG)
        await say(engine, LONG + "!more")
        begun = asyncio.Event()

        async def never(slot: Slot) -> None:
            begun.set()
            await asyncio.Event().wait()

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sessions, "_save", never)
            asking = asyncio.create_task(say(engine, "something else"))
            await begun.wait()
            asking.cancel()
            await asyncio.wait([asking])
        is_busy = [slot.busy for slot in sessions.slots]

    assert is_busy == [False]


async def test_more_requests_than_slots_wait_for_one_of_ours(options: LlamaCppOptions) -> None:
    async with ready(options) as engine:
        sessions = engine._sessions
        assert sessions is not None
        server = sessions.server
        taken: list[int | None] = []
        generate = server.generate

        def watched(request: Request, slot: int | None = None) -> AsyncIterator[Piece | End]:
            taken.append(slot)
            return generate(request, slot)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(server, "generate", watched)
            await asyncio.gather(*(say(engine, name * 2000) for name in "abcde"))

    assert len(taken) == 5
    assert set(taken) == {0, 1}
