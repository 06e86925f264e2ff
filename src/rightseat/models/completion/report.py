"""The lines that `rightseat check` prints about a model: its backend, its style and why."""

import asyncio
from collections.abc import AsyncIterator

from rightseat.core.errors import ConfigError, RightseatError
from rightseat.models.completion import gguf
from rightseat.models.completion.backend import Description
from rightseat.models.completion.backends import AnyBackend, ServerProcess, binaries
from rightseat.models.completion.backends.options import EmbeddingOptions
from rightseat.models.completion.styles import select
from rightseat.models.completion.styles.style import Style, prints_tools

DESCRIBE_TIMEOUT_S = 5.0
WARNING = "warning: "
"""The beginning of a line about a setting that probably is a mistake."""


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
    described, style, why = select(description, wanted)
    yield f"style: {style.name}, because {why}"
    if warning := find_style_warning(described, style, wanted):
        yield f"{WARNING}{warning}"


def find_style_warning(description: Description, style: Style, wanted: str) -> str | None:
    """A configured style was chosen for a family that was trained in it, and only a template with tools shows that."""
    if wanted == "auto" or not style.template_markers or prints_tools(description):
        return None
    template = "its chat template does not print tools" if description.template else "it has no chat template"
    return (
        f"`style: {style.name}` is for models that were trained to call tools in this form, and nothing shows that "
        f"this one was: {template}. The tools are described in a system turn, but not the form of a call, which with "
        "`tool_choice: auto` nothing enforces until a call begins. Leave `style` out, or set `forced-hermes`."
    )


def check_embeddings(options: EmbeddingOptions) -> None:
    if options.model is not None:
        gguf.read(options.model)
        binaries.find(options.binary)


async def _describe(backend: AnyBackend) -> Description:
    if isinstance(backend, ServerProcess):
        return await backend.preview()
    async with backend:
        return await backend.describe()
