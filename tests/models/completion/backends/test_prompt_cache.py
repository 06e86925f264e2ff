"""Conversations that a backend need not read again, with a stand-in for the backend that counts what it knew."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.core.errors import ConfigError
from rightseat.models.completion.backend import CompletionRequest, End, TextPiece
from rightseat.models.completion.backends import ServerProcess
from rightseat.models.completion.backends.options import LlamaCppOptions, PromptCacheOptions
from rightseat.models.completion.backends.prompt_cache import BLOCK_CHARS, ServerSlot, count_shared_chars, hash_blocks
from tests.models.completion.backends.test_process import options, say, server_process

__all__ = ["options"]

LONG = "".join(f"line {number}\n" for number in range(300))


@asynccontextmanager
async def ready(options: LlamaCppOptions) -> AsyncIterator[ServerProcess]:
    async with server_process(options) as backend:
        await backend.wait()
        yield backend


def with_prompt_cache(options: LlamaCppOptions, **more: int) -> LlamaCppOptions:
    prompt_cache = PromptCacheOptions(folder=options.prompt_cache.folder, **more)
    return options.model_copy(update={"prompt_cache": prompt_cache})


async def test_a_conversation_reuses_its_cached_prompt(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        first = await say(backend, LONG)
        await say(backend, "something else")
        second = await say(backend, LONG + "!more")

    assert first.cached_tokens == 0
    assert second.cached_tokens == len(LONG) + 1


async def test_a_conversation_of_several_answers_is_known_after_a_restart(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        await say(backend, LONG)
        await say(backend, LONG + "!more")
    async with ready(options) as backend:
        again = await say(backend, LONG + "!more!and more")

    assert again.cached_tokens == len(LONG + "!more!")


async def test_a_single_question_is_not_kept(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        await say(backend, LONG)

    assert list(options.prompt_cache.folder.glob("*.bin")) == []


async def test_a_branch_of_a_conversation_reuses_the_shared_prefix_and_both_continue(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        await say(backend, LONG)
        await say(backend, LONG + "!left")
        branch = await say(backend, LONG + "!right")
        first = await say(backend, LONG + "!left!on")
        second = await say(backend, LONG + "!right!on")

    assert branch.cached_tokens == len(LONG + "!")
    assert first.cached_tokens == len(LONG + "!left!")
    assert second.cached_tokens == len(LONG + "!right!")


async def test_a_conversation_that_had_to_give_way_comes_back(options: LlamaCppOptions) -> None:
    one = options.model_copy(update={"slots": 1})
    other = LONG.upper()
    async with ready(one) as backend:
        for text in (LONG, LONG + "!a", other, other + "!b"):
            await say(backend, text)
        back = await say(backend, LONG + "!a!c")

    assert back.cached_tokens == len(LONG + "!a!")


async def test_when_the_backend_died_nothing_is_taken_for_known_that_is_not(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        await say(backend, LONG)
        assert backend.pid is not None
        os.kill(backend.pid, signal.SIGKILL)
        while backend.ready.is_set():
            with pytest.raises(Exception, match=r"server|loaded"):
                async for _ in backend.generate(CompletionRequest(prompt="Hi")):
                    pass
        await backend.ready.wait()
        again = await say(backend, LONG + "!more")

    assert again.cached_tokens == 0


async def test_the_oldest_are_deleted_to_keep_to_the_bounds(options: LlamaCppOptions) -> None:
    few = with_prompt_cache(options.model_copy(update={"slots": 1}), max_files=2)
    async with ready(with_prompt_cache(few, max_files=2)) as backend:
        for name in "abcd":
            await say(backend, name * 2000)
            await say(backend, name * 2000 + "!")

    files = sorted(file.suffix for file in options.prompt_cache.folder.iterdir() if not file.name.startswith("."))
    assert files == [".bin", ".bin", ".json", ".json"]


async def test_what_a_conversation_was_before_is_not_kept_beside_it(options: LlamaCppOptions) -> None:
    for more in ("", "!a", "!a!" + "b" * BLOCK_CHARS):
        async with ready(options) as backend:
            await say(backend, LONG + more)
            await say(backend, LONG + more + "!")

    assert len(list(options.prompt_cache.folder.glob("*.bin"))) <= 2


async def test_a_cache_that_cannot_be_saved_is_reported_and_responses_continue(
    options: LlamaCppOptions, caplog: pytest.LogCaptureFixture
) -> None:
    options.prompt_cache.folder.write_text("a file, and no folder")
    async with ready(options) as backend:
        await say(backend, LONG)
        await say(backend, LONG + "!more")

    assert "could not be saved" in caplog.text


async def test_without_sessions_the_backend_chooses(options: LlamaCppOptions, tmp_path: Path) -> None:
    async with ready(with_prompt_cache(options, max_files=0)) as backend:
        await say(backend, LONG)
        props = await backend._ready_server().client.fetch_json("/props")

    assert "--slot-save-path" not in props["arguments"]
    assert not (tmp_path / "prompt_cache").exists()


async def test_a_file_that_cannot_be_read_is_left_out(
    options: LlamaCppOptions, caplog: pytest.LogCaptureFixture
) -> None:
    async with ready(options) as backend:
        await say(backend, LONG)
        await say(backend, LONG + "!more")
    for file in options.prompt_cache.folder.glob("*.json"):
        file.write_text("{")
    async with ready(options) as backend:
        again = await say(backend, LONG + "!more!")

    assert again.cached_tokens == 0
    assert "cannot be read and is ignored" in caplog.text


@pytest.mark.parametrize(("one", "other", "count"), [("", "", 0), ("ab", "ac", 1), ("ab", "abc", 2), ("é", "e", 0)])
def test_what_two_texts_begin_with(one: str, other: str, count: int) -> None:
    assert count_shared_chars(one, other) == count


def test_blocks_know_all_before_them() -> None:
    one, other = hash_blocks("a" * BLOCK_CHARS + "c" * BLOCK_CHARS), hash_blocks("b" * BLOCK_CHARS + "c" * BLOCK_CHARS)

    assert len(one) == 2
    assert one[1] != other[1]
    assert hash_blocks("a" * BLOCK_CHARS + "d") == one[:1]


async def test_files_of_others_in_the_folder_are_left_alone(options: LlamaCppOptions) -> None:
    folder = options.prompt_cache.folder
    folder.mkdir(mode=0o700)
    (folder / "pytorch_model.bin").write_text("not ours")
    async with ready(with_prompt_cache(options.model_copy(update={"slots": 1}), max_files=1)) as backend:
        for name in "ab":
            await say(backend, name * 2000)
            await say(backend, name * 2000 + "!")

    assert len(list(folder.glob("*-*.bin"))) == 1
    assert (folder / "pytorch_model.bin").read_text() == "not ours"


@pytest.mark.parametrize("changed", ["arguments", "adapter", "binary"])
async def test_what_another_backend_has_read_is_not_given_to_this_one(options: LlamaCppOptions, changed: str) -> None:
    adapter = options.prompt_cache.folder.with_name("adapter.gguf")
    adapter.write_text("one")
    before = options.model_copy(update={"arguments": ("--lora", str(adapter))})
    async with ready(before) as backend:
        await say(backend, LONG)
        await say(backend, LONG + "!more")
    if changed == "adapter":
        adapter.write_text("another")
    if changed == "binary":
        assert options.binary is not None
        options.binary.write_text(options.binary.read_text() + "\n")
    async with ready(options if changed == "arguments" else before) as backend:
        again = await say(backend, LONG + "!more!and more")

    assert again.cached_tokens == 0


async def test_a_slot_is_free_again_where_the_client_left_while_it_was_made_ready(options: LlamaCppOptions) -> None:
    one = options.model_copy(update={"slots": 1})
    async with ready(one) as backend:
        prompt_cache = backend._prompt_cache
        assert prompt_cache is not None
        await say(backend, LONG)
        await say(backend, LONG + "!more")
        begun = asyncio.Event()

        async def never(slot: ServerSlot) -> None:
            begun.set()
            await asyncio.Event().wait()

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(prompt_cache, "_save", never)
            asking = asyncio.create_task(say(backend, "something else"))
            await begun.wait()
            asking.cancel()
            await asyncio.wait([asking])
        is_busy = [slot.busy for slot in prompt_cache.slots]

    assert is_busy == [False]


async def test_requests_beyond_the_slots_wait_for_a_free_one(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        prompt_cache = backend._prompt_cache
        assert prompt_cache is not None
        server = prompt_cache.server
        taken: list[int | None] = []
        generate = server.generate

        def watched(request: CompletionRequest, slot: int | None = None) -> AsyncIterator[TextPiece | End]:
            taken.append(slot)
            return generate(request, slot)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(server, "generate", watched)
            await asyncio.gather(*(say(backend, name * 2000) for name in "abcde"))

    assert len(taken) == 5
    assert set(taken) == {0, 1}


async def test_the_key_of_a_request_chooses_the_slot_of_that_key(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        await say(backend, LONG, "a")
        await say(backend, "of b", "b")
        await say(backend, LONG[:1200] + "of b", "b")  # without a key it would replace what it begins like
        kept = await say(backend, LONG + "!more", "a")

    assert kept.cached_tokens == len(LONG + "!")


async def test_a_request_without_a_key_replaces_the_slot_of_a_key_last(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        await say(backend, LONG, "a")
        await say(backend, "one question")
        await say(backend, "another question")
        kept = await say(backend, LONG + "!more", "a")

    assert kept.cached_tokens == len(LONG + "!")


async def test_many_keys_cannot_keep_a_slot_from_others(options: LlamaCppOptions) -> None:
    async with asyncio.timeout(20), ready(options) as backend:
        for number in range(20):
            await say(backend, f"question {number}", f"key {number}")
        last = await say(backend, "without a key")

    assert backend.prompt_cache is not None
    assert last.output_tokens == 0
    assert {slot.key for slot in backend.prompt_cache.slots} <= {None, "key 18", "key 19"}


async def test_a_prompt_that_was_warmed_is_found_by_a_running_server_and_stays(options: LlamaCppOptions) -> None:
    async with ready(options) as running:
        await say(running, "something")
        async with ready(options) as other:
            assert other.prompt_cache is not None
            warmed = await other.prompt_cache.warm(LONG)
        first = await say(running, LONG + "one?")
        await say(running, LONG + "one?!two?" + "x" * BLOCK_CHARS)
        await say(running, LONG + "one?!two?" + "x" * BLOCK_CHARS + "!")
    async with ready(options) as again:
        second = await say(again, LONG + "another?")

    assert warmed.tokens == len(LONG)
    assert (options.prompt_cache.folder / warmed.name).exists()  # beside the conversation that began with it
    assert first.cached_tokens == len(LONG)
    assert second.cached_tokens >= len(LONG)


async def test_a_prompt_that_is_too_short_for_a_file_is_refused(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        assert backend.prompt_cache is not None
        with pytest.raises(ConfigError, match="has 5 characters before a question"):
            await backend.prompt_cache.warm("short")


async def test_a_warmed_prompt_that_cannot_be_saved_is_an_error(options: LlamaCppOptions) -> None:
    options.prompt_cache.folder.write_text("a file, and no folder")
    async with ready(options) as backend:
        assert backend.prompt_cache is not None
        with pytest.raises(ConfigError, match="could not be saved"):
            await backend.prompt_cache.warm(LONG)
