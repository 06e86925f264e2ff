"""Vectors of texts from a llama-server: a second one, because an older one with `--embeddings` completes nothing."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from rightseat.core.errors import ContextTooLong, ModelRefused
from rightseat.core.model import Vectors
from rightseat.models.completion import gguf
from rightseat.models.completion.backends import LlamaCpp, ServerProcess
from rightseat.models.completion.backends.options import EmbeddingOptions, LlamaCppOptions, PromptCacheOptions
from rightseat.models.completion.model import Completion, OpenableBackend

BATCH_TEXTS = 32  # in one request: their vectors, as JSON, are at most a few megabytes


class EmbeddingServer:
    """Opening raises `ConfigError` if the file or the program cannot work."""

    def __init__(self, options: EmbeddingOptions) -> None:
        self.options = options
        self._server: LlamaCpp | ServerProcess | None = None

    async def __aenter__(self) -> Self:
        self._server = await make_server(self.options)
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await self._server.__aexit__(kind, error, trace)

    async def wait_until_ready(self) -> None:
        if isinstance(self._server, ServerProcess):
            await self._server.wait()

    def find_crash_loop(self) -> str | None:
        return self._server.find_crash_loop() if isinstance(self._server, ServerProcess) else None

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        assert self._server is not None  # noqa: S101  # it is open
        vectors, tokens = list[list[float]](), 0
        for begin in range(0, len(texts), BATCH_TEXTS):
            try:
                made = await self._server.embed(texts[begin : begin + BATCH_TEXTS])
            except ContextTooLong as error:
                raise explain_too_long(error, self.options) from None
            if dimensions is not None and (wrong := next((v for v in made.vectors if len(v) != dimensions), None)):
                text = f"The vectors of this model have {len(wrong)} numbers: leave out `dimensions`."
                raise ModelRefused(text, 400)
            vectors += made.vectors
            tokens += made.input_tokens
        return Vectors(vectors, tokens)


def explain_too_long(error: ContextTooLong, options: EmbeddingOptions) -> ContextTooLong:
    """Without the server's text: a client has no use for its advice to change the batch size."""
    if options.model is None:
        return ContextTooLong("A text is longer than its server accepts. Split it.", error.upstream_status)
    text = f"A text is longer than {options.context_window} tokens. Split it, or raise `embeddings.context_window`."
    return ContextTooLong(text, error.upstream_status)


async def make_server(options: EmbeddingOptions) -> LlamaCpp | ServerProcess:
    if options.model is None:
        url = options.url or ""
        return LlamaCpp(url, api_key=options.api_key, timeout=options.timeout, network=options)
    header = await asyncio.to_thread(gguf.read, options.model)
    size = str(options.context_window)
    pooling = () if header.has_pooling or "--pooling" in options.arguments else ("--pooling", "mean")
    settings = LlamaCppOptions(
        model=options.model,
        api_key=options.api_key,
        timeout=options.timeout,
        binary=options.binary,
        threads=options.threads,
        context_window=max(options.context_window, 256),
        slots=1,
        arguments=("--embeddings", "-b", size, "-ub", size, *pooling, *options.arguments),
        prompt_cache=PromptCacheOptions(max_files=0),
    )
    return ServerProcess(settings, options.model)


class EmbeddingCompletion(Completion):
    """A model that embeds texts, too, with another server."""

    def __init__(self, embedding_server: EmbeddingServer, backend: OpenableBackend, **more: Any) -> None:
        super().__init__(backend, **more)
        self.embedding_server = embedding_server

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        try:
            await self.embedding_server.__aenter__()
        except BaseException:
            await super().__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.embedding_server.__aexit__(kind, error, trace)
        await super().__aexit__(kind, error, trace)

    async def wait_until_ready(self) -> None:
        await super().wait_until_ready()
        await self.embedding_server.wait_until_ready()

    def find_crash_loop(self) -> str | None:
        return super().find_crash_loop() or self.embedding_server.find_crash_loop()

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        return await self.embedding_server.embed(texts, dimensions)
