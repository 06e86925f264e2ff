"""The lines that `rightseat check` prints about a model: its backend, its style and why."""

import asyncio
from collections.abc import AsyncIterator

from rightseat.core.errors import ConfigError, RightseatError
from rightseat.models.completion import gguf
from rightseat.models.completion.backend import Description
from rightseat.models.completion.backends import AnyBackend, ServerProcess, binaries
from rightseat.models.completion.backends.options import EmbeddingOptions
from rightseat.models.completion.styles import select

DESCRIBE_TIMEOUT_S = 5.0


async def explain(backend: AnyBackend, wanted: str, embeddings: EmbeddingOptions | None = None) -> AsyncIterator[str]:
    """Yield lines without starting a backend; one line reports a backend that does not respond.

    Raises `ConfigError` if a backend that rightseat starts could not be started.
    """
    yield f"backend: {backend.place}"
    if embeddings is not None:
        await asyncio.to_thread(check_embeddings, embeddings)
        yield f"embeddings: a llama-server {embeddings.place}"
    try:
        async with asyncio.timeout(DESCRIBE_TIMEOUT_S):
            description = await _describe(backend)
    except TimeoutError:
        yield f"style: not known yet, because the backend sent no response within {DESCRIBE_TIMEOUT_S:g} s"
        return
    except ConfigError:
        raise
    except RightseatError as error:
        yield f"style: not known yet. {error.message}"
        return
    _, style, why = select(description, wanted)
    yield f"style: {style.name}, because {why}"


def check_embeddings(options: EmbeddingOptions) -> None:
    if options.model is not None:
        gguf.read(options.model)
        binaries.find(options.binary)


async def _describe(backend: AnyBackend) -> Description:
    if isinstance(backend, ServerProcess):
        return await backend.preview()
    async with backend:
        return await backend.describe()
