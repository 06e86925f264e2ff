"""Model calls of plugins: one request, answered with a text or a value that fits a schema.

The schema is a parameter of the prompt, so that backends with constrained decoding enforce it; the caller parses and
validates the response in any case.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.ask import Parameters
from rightseat.core.call_labels import label_calls
from rightseat.core.errors import ModelError
from rightseat.core.events import Usage
from rightseat.core.messages import Message, system, user
from rightseat.core.model import (
    MODEL_SPAN,
    CallChunk,
    Chunk,
    Model,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
    select_model,
    start_model_span,
)
from rightseat.core.tracing import error_name
from rightseat.core.types import JsonValue
from rightseat.core.usage import count_usage
from rightseat.plugins import external_json
from rightseat.plugins.results import StepFailed, StepUsage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`name` is the step; a scripted model finds its response by it."""

    name: str
    system: str
    user: str
    schema: Mapping[str, JsonValue] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    role: str | None = None
    """The role that the operator maps to a model; None for the default model."""
    purpose: str = "answer"
    """What the usage report has: `schema` if a response is requested again because it did not fit."""


@dataclass(frozen=True, slots=True)
class ModelResponse:
    text: str
    usage: StepUsage = field(default_factory=StepUsage)

    def value(self) -> JsonValue:
        """The text as JSON, without a Markdown fence. Raises `ValueError`."""
        text = self.text.strip()
        if text.startswith("```"):
            text = text.strip("`").removeprefix("json")
        return external_json.parse(text)


class ModelCaller(Protocol):
    """Raises `StepFailed("llm_failed")` if the model call fails."""

    async def call(self, request: ModelRequest) -> ModelResponse: ...


class StreamingModelCaller(ModelCaller, Protocol):
    """A model caller that can also stream."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Raises `StepFailed` or `ModelError`."""
        ...


class RoleModelCaller:
    """Selects the model by the role of the request; `roles` are those that the operator configured."""

    def __init__(self, model: Model, roles: Mapping[str, Model] | None = None) -> None:
        self._model = model
        self._roles = roles or {}

    async def call(self, request: ModelRequest) -> ModelResponse:
        pieces: list[str] = []
        usage = StepUsage()
        try:
            async with aclosing(self.stream(request)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextChunk):
                        pieces.append(chunk.text)
                    elif isinstance(chunk, UsageChunk):
                        usage = StepUsage(chunk.input_tokens, chunk.output_tokens)
        except ModelError as error:
            raise StepFailed("llm_failed", error.message) from error
        return ModelResponse("".join(pieces), usage)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        model = select_model(self._select(request))
        span = start_model_span(model)
        error: str | None = None
        has_begun = False
        try:
            with label_calls(request.purpose):
                response = model.stream(build_prompt(request))
            async with aclosing(response) as chunks:
                async for chunk in chunks:
                    if not has_begun and isinstance(chunk, TextChunk | ReasoningChunk | CallChunk):
                        has_begun = True
                        span.mark_first_chunk()
                    if isinstance(chunk, UsageChunk):
                        count_usage(Usage(*msgspec.structs.astuple(chunk)), span)
                    elif isinstance(chunk, StopChunk):
                        span.note(reason=chunk.reason)
                    yield chunk
        except BaseException as failure:
            error = error_name(failure)
            raise
        finally:
            MODEL_SPAN.set(None)
            span.end(error)

    def _select(self, request: ModelRequest) -> Model:
        if request.role is None:
            return self._model
        try:
            return self._roles[request.role]
        except KeyError:
            roles = ", ".join(sorted(self._roles)) or "none"
            message = f"The plugin needs a model for the role {request.role!r}. Configured roles: {roles}."
            raise StepFailed("llm_failed", message) from None


def build_prompt(request: ModelRequest) -> Prompt:
    messages: tuple[Message, ...] = (user(request.user),)
    if request.system:
        messages = (system(request.system), *messages)
    parameters = Parameters(
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        response_schema=request.schema,
        response_strict=None if request.schema is None else True,
    )
    return Prompt(messages, parameters=parameters)
