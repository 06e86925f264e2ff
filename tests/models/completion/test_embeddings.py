"""Vectors from a second llama-server. The program is a stand-in (`backends/stand_in.py`), and once a real one."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rightseat.core.errors import ConfigError, ContextTooLong, ModelRefused
from rightseat.core.model import Embedder
from rightseat.models import completion
from rightseat.models.completion.backends.options import EmbeddingOptions, LlamaCppOptions
from rightseat.models.completion.embeddings import EmbeddingCompletion, EmbeddingServer
from tests.conditions import wait_until
from tests.local_models import SUITE, load_parts
from tests.measure.tool_calls import is_ready
from tests.models.completion.backends.test_process import command_of, is_running, options
from tests.models.completion.test_gguf import WHOLE, head

__all__ = ["options"]


def embedding_options(options: LlamaCppOptions, **more: Any) -> EmbeddingOptions:
    return EmbeddingOptions(**{"model": options.model, "binary": options.binary, **more})


@asynccontextmanager
async def opened(options: LlamaCppOptions, **more: Any) -> AsyncIterator[EmbeddingServer]:
    async with asyncio.timeout(20), EmbeddingServer(embedding_options(options, **more)) as server:
        await server.wait_until_ready()
        yield server


def arguments_of(server: EmbeddingServer) -> list[str]:
    process: Any = server._server
    return command_of(process.pid)


async def test_texts_become_vectors_in_their_order_in_requests_of_thirty_two(options: LlamaCppOptions) -> None:
    texts = ["x" * length for length in range(1, 41)]

    async with opened(options) as server:
        made = await server.embed(texts)

    assert [vector[0] for vector in made.vectors] == list(range(1, 41))
    assert {vector[1] for vector in made.vectors} == {32, 8}
    assert made.input_tokens == sum(map(len, texts))


async def test_the_server_reads_a_text_at_once_and_averages_if_the_file_does_not_say_how(
    options: LlamaCppOptions,
) -> None:
    assert options.model is not None
    async with opened(options, context_window=512) as server:
        plain = arguments_of(server)
    async with opened(options, arguments=("--pooling", "cls")) as server:
        told = arguments_of(server)
    options.model.write_bytes(head(WHOLE | {"general.architecture": "bert", "bert.pooling_type": 2}))
    async with opened(options) as server:
        own = arguments_of(server)

    assert plain[plain.index("--embeddings") :][:7] == ["--embeddings", "-b", "512", "-ub", "512", "--pooling", "mean"]
    assert told.count("--pooling") == 1
    assert "--pooling" not in own
    assert "--slot-save-path" not in plain


async def test_a_text_that_is_too_long_is_refused_with_the_option(options: LlamaCppOptions) -> None:
    async with opened(options, context_window=64) as server:
        with pytest.raises(ContextTooLong, match=r"longer than 64 tokens.*`embeddings.context_window`"):
            await server.embed(["fits", "x" * 65])


async def test_dimensions_that_the_model_does_not_have_are_refused(options: LlamaCppOptions) -> None:
    async with opened(options) as server:
        assert len((await server.embed(["a"], 3)).vectors) == 1
        with pytest.raises(ModelRefused, match="have 3 numbers: leave out `dimensions`"):
            await server.embed(["a"], 2)


async def test_a_model_has_embeddings_only_with_a_server_for_them(options: LlamaCppOptions) -> None:
    without = completion.build(completion.Options(backend=options))
    model = completion.build(completion.Options(backend=options, embeddings=embedding_options(options)))

    assert not isinstance(without, Embedder)
    assert isinstance(model, EmbeddingCompletion)
    async with asyncio.timeout(20), model:
        await model.wait_until_ready()
        made = await model.embed(["four"])
    assert made.vectors[0][0] == 4


async def test_where_the_second_server_cannot_start_the_first_one_is_stopped(
    options: LlamaCppOptions, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no GGUF")
    given = completion.Options(backend=options, embeddings=embedding_options(options, model=broken))
    model = completion.build(given)
    assert isinstance(model, EmbeddingCompletion)

    with pytest.raises(ConfigError, match="not a supported GGUF file"):
        async with model:
            pass
    with pytest.raises(ConfigError, match="not a supported GGUF file"):
        _ = [line async for line in completion.explain(given)]
    first: Any = model._backend
    assert first.pid is None or not is_running(first.pid)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "either `url`"),
        ({"url": "http://localhost:1", "model": "m.gguf"}, "either `url`"),
        ({"url": "http://localhost:1", "threads": 2}, "threads beside `url`"),
        ({"model": "m.gguf", "arguments": ["--port=1"]}, "--port in `arguments`"),
    ],
)
def test_options_that_contradict_each_other_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        EmbeddingOptions(**given)


@pytest.fixture
def real_url() -> Iterator[str]:
    parts = load_parts()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(SUITE / "lib" / "xserve.py"), str(parts.model("smollm2")), str(port), "embeddings"]
    process = subprocess.Popen(command, env={"PYTHONPATH": str(parts.library())}, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_ready(port, process), 60)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.backends
async def test_a_real_llama_server_tells_near_texts_from_far_ones(real_url: str) -> None:
    async with EmbeddingServer(EmbeddingOptions(url=real_url)) as server:
        made = await server.embed(["The cat sleeps on the sofa.", "A cat sleeps on a couch.", "def f(x): return x"])
        with pytest.raises(ContextTooLong, match="longer than its server accepts"):
            await server.embed(["word " * 800])

    one, near, far = made.vectors
    assert len(one) == 576
    assert dot(one, near) > dot(one, far)
    assert made.input_tokens > 10


def dot(one: list[float], other: list[float]) -> float:
    return sum(left * right for left, right in zip(one, other, strict=True))
