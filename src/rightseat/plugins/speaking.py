"""One call of a model from within a plugin: a text, or a value that fits a schema.

The schema is put into the prompt's parameters, so a model whose server can hold its answer to one does so; what comes
back is read as JSON, and checked by whoever asked.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rightseat.core.ask import Parameters
from rightseat.core.closing import closing
from rightseat.core.errors import ModelError
from rightseat.core.messages import Message, system, user
from rightseat.core.model import Chunk, Model, Prompt, TextChunk, UsageChunk
from rightseat.core.observing import begin
from rightseat.core.values import JsonValue
from rightseat.plugins import foreign
from rightseat.plugins.results import StepFailed, Usage


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a model is asked. `name` says for which step, and is how a scripted model finds its reply."""

    name: str
    system: str
    user: str
    schema: Mapping[str, JsonValue] | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    role: str | None = None
    """Which of the operator's models, by the role that the plugin names."""


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    usage: Usage = field(default_factory=Usage)

    def value(self) -> JsonValue:
        """The text as JSON. Raises `ValueError`: the model's server did not hold it to the schema."""
        text = self.text.strip()
        if text.startswith("```"):
            text = text.strip("`").removeprefix("json")
        return foreign.read(text)


class Speaker(Protocol):
    """Raises `StepFailed("llm_failed")` where the model's server fails."""

    async def say(self, wanted: Wanted) -> Said: ...


class Voice(Speaker, Protocol):
    """A speaker that can also be heard while it speaks."""

    def stream(self, wanted: Wanted) -> AsyncIterator[Chunk]:
        """As a model does. Raises `StepFailed` or `ModelError`."""
        ...


class ModelSpeaker:
    """`roles` are the operator's models that a plugin may name."""

    def __init__(self, model: Model, roles: Mapping[str, Model] | None = None) -> None:
        self._model = model
        self._roles = roles or {}

    async def say(self, wanted: Wanted) -> Said:
        pieces: list[str] = []
        usage = Usage()
        try:
            async with closing(self.stream(wanted)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, TextChunk):
                        pieces.append(chunk.text)
                    elif isinstance(chunk, UsageChunk):
                        usage = Usage(chunk.input_tokens, chunk.output_tokens)
        except ModelError as error:
            raise StepFailed("llm_failed", error.message) from error
        return Said("".join(pieces), usage)

    async def stream(self, wanted: Wanted) -> AsyncIterator[Chunk]:
        model = self.choose(wanted)
        span = begin("model", getattr(model, "name", "") or type(model).__name__)
        error: str | None = None
        try:
            async with closing(model.stream(written(wanted))) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, UsageChunk):
                        span.note(input_tokens=chunk.input_tokens, output_tokens=chunk.output_tokens)
                    yield chunk
        except BaseException as failure:
            error = getattr(failure, "code", None) or type(failure).__name__
            raise
        finally:
            span.end(error)

    def choose(self, wanted: Wanted) -> Model:
        if wanted.role is None:
            return self._model
        try:
            return self._roles[wanted.role]
        except KeyError:
            known = ", ".join(sorted(self._roles)) or "none"
            message = f"The plugin asks for a model in the role {wanted.role!r}; the operator has named: {known}."
            raise StepFailed("llm_failed", message) from None


def written(wanted: Wanted) -> Prompt:
    messages: tuple[Message, ...] = (user(wanted.user),)
    if wanted.system:
        messages = (system(wanted.system), *messages)
    parameters = Parameters(
        temperature=wanted.temperature,
        max_tokens=wanted.max_tokens,
        response_schema=wanted.schema,
        response_strict=None if wanted.schema is None else True,
    )
    return Prompt(messages, parameters=parameters)
