"""Any model behind a raw completion endpoint, with tool calls that always parse.

`plan` writes a prompt and a grammar in the model's own style (`styles`), a backend (`backends`) completes the prompt,
and `parsing` turns its text into chunks.
"""

from collections.abc import AsyncIterator
from functools import partial
from importlib.util import find_spec
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.errors import ConfigError
from rightseat.core.model import Model
from rightseat.egress.deadlines import Timeouts
from rightseat.installation import install_command
from rightseat.models.completion import backends, report
from rightseat.models.completion.backends.options import EmbeddingOptions
from rightseat.models.completion.embeddings import EmbeddingCompletion, EmbeddingServer
from rightseat.models.completion.model import Completion

TEMPLATE_LIBRARIES = ("minijinja", "jinja2")  # of the extra `local`; imported only in the process that renders

StyleName = Literal[
    "auto",
    "command-r7b",
    "deepseek-r1",
    "deepseek-v3.1",
    "deepseek-v3.2",
    "forced-hermes",
    "functionary-v2",
    "functionary-v3.1",
    "functionary-v3.2",
    "generic",
    "glm",
    "granite",
    "harmony",
    "hermes",
    "kimi-k2",
    "llama-3.1",
    "llama-3.1-functions",
    "mistral-3",
    "mistral-nemo",
    "phi-4",
    "qwen3-coder",
]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    backend: backends.BackendOptions
    """The server that runs the model: one at a `url`, or one that rightseat starts with a `model` file."""
    embeddings: EmbeddingOptions | None = None
    """A second llama-server, for `/v1/embeddings` and the search among many flows: one at a `url`, or one that
    rightseat starts with a `model` file. Unset: this model has no embeddings."""
    style: StyleName = "auto"
    """How the model calls tools. `auto` derives it from the chat template; `rightseat check` prints the result."""
    tool_signature_format: Literal["json_schema", "typescript"] | None = None
    """How tools are described where the chat template does not print them: TypeScript takes fewer tokens."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Used unless the request sets it. Unset: the backend's own default."""
    max_tokens: int | None = Field(default=None, gt=0)
    """The longest response in tokens, unless the request sets it."""


def build(options: Options) -> Model:
    check_installed()
    embeddings = None if options.embeddings is None else EmbeddingServer(options.embeddings)
    make = Completion if embeddings is None else partial(EmbeddingCompletion, embeddings)
    return make(
        backends.build(options.backend),
        style=options.style,
        tool_signature_format=options.tool_signature_format,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        timeouts=Timeouts(options.backend.timeout, options.backend.total_timeout),
    )


def check_installed() -> None:
    missing = [name for name in TEMPLATE_LIBRARIES if find_spec(name) is None]
    if missing:
        raise ConfigError(
            "A model of the type 'completion' needs packages that are not installed, to render its chat template "
            f"({', '.join(missing)}): {install_command('local')}"
        )


def explain(options: Options) -> AsyncIterator[str]:
    """What runs the model, and which style was chosen for it."""
    return report.explain(backends.build(options.backend), options.style, options.embeddings)
