"""The model protocol: an adapter turns a prompt into a stream of chunks."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Literal, Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Parameters
from rightseat.core.events import StopReason
from rightseat.core.messages import Message
from rightseat.core.tools import Tool
from rightseat.core.tracing import AttributeValue, Span, start_span
from rightseat.core.types import JsonValue


class Prompt(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]
    tools: Sequence[Tool] = ()
    parameters: Parameters = Parameters()
    thread_id: str | None = None
    """The id of the conversation, by which a model with a prompt cache finds its entry."""
    run_id: str | None = None
    """The run that needs the response; None outside of a run and for the model calls of a flow's steps."""
    properties: Mapping[str, JsonValue] = {}
    """The `properties` of the ask, for models of your own. Any client can send any property. No adapter sends them."""


class TextChunk(msgspec.Struct, frozen=True, gc=False):
    text: str


class ReasoningChunk(msgspec.Struct, frozen=True, gc=False):
    text: str


class CallChunk(msgspec.Struct, frozen=True, gc=False):
    """A part of a tool call. `index` identifies the call within the response; parts of different calls may alternate.

    `id` and `name` may be in the first chunk only, or in every chunk.
    """

    index: int
    arguments: str = ""
    id: str = ""
    name: str = ""


class UsageChunk(msgspec.Struct, frozen=True, gc=False):
    """`input_tokens` includes the tokens that the provider read from its cache and those it wrote to it.

    `output_tokens` includes the `reasoning_tokens`, which are 0 if the provider does not report them.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    reasoning_tokens: int = 0


def count_output(input_tokens: int, output_tokens: int, total: object) -> int:
    """The output tokens by the provider's total, which wins: some providers leave reasoning out of their output.

    A total that is not a number is ignored.
    """
    return total - input_tokens if isinstance(total, int) and total > input_tokens else output_tokens


class StopChunk(msgspec.Struct, frozen=True, gc=False):
    reason: StopReason


class NoteChunk(msgspec.Struct, frozen=True):
    """Metadata of the response: it becomes the event `Custom("model.<name>", value)`.

    `warning` is a sentence for the user: a tool was left out, or this model does not support a parameter.
    `logprobs` is a list of `{"token", "logprob", "bytes", "top_logprobs"}` for the text that follows.
    `kept` is data that a provider requires back with this response, such as signed reasoning, under the provider's
    name. It comes last, is stored in the `extra` of the response's message, and is never sent to clients.
    """

    name: Literal["warning", "logprobs", "kept"]
    value: JsonValue


Chunk = TextChunk | ReasoningChunk | CallChunk | UsageChunk | StopChunk | NoteChunk


class PartialOutput(msgspec.Struct, frozen=True, gc=False):
    """The output of a response before it was interrupted: reasoning, text, or reasoning followed by text."""

    reasoning: str = ""
    text: str = ""
    is_reasoning: bool = False
    """The reasoning has not ended."""


class CannotContinue(Exception):
    """The model cannot continue a response, so it generates a new one. Clients never receive this error."""


class Vectors(msgspec.Struct, frozen=True):
    """One vector for each text, in order."""

    vectors: list[list[float]]
    input_tokens: int = 0


class Model(Protocol):
    """Turns a prompt into chunks::

        class EchoModel:
            async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
                yield TextChunk(prompt.messages[-1].text)
                yield StopChunk("stop")

    An adapter only translates: `core.stream.framer` adds ids and start/end pairs. One model serves many runs at once.
    `SupportsContinuation` and the protocols below it are optional. `tests/contracts/test_models.py` has the contract.
    """

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        """Call the model once. Closing the iterator closes the connection to the model.

        Raises a `ModelError` if the provider fails, before the first chunk or after it.
        """
        ...


@runtime_checkable
class SupportsContinuation(Protocol):
    """A model that can continue an interrupted response."""

    def continue_stream(self, prompt: Prompt, partial: PartialOutput) -> AsyncIterator[Chunk]:
        """Stream the output after `partial`, exact to the character. Its usage is that of the complete response.

        Raises `CannotContinue` before the first chunk if it cannot continue. Warnings are not repeated.
        """
        ...


@runtime_checkable
class SelectsModel(Protocol):
    """A model in whose place another one may answer, such as a cheaper one beyond a limit."""

    def select_model(self) -> Model:
        """The model that answers the run of this task now; usually this one."""
        ...


@runtime_checkable
class SupportsReadiness(Protocol):
    """A model that has to load before it accepts prompts."""

    async def wait_until_ready(self) -> None:
        """Raises a `ModelError` if loading fails."""
        ...


@runtime_checkable
class SupervisesServer(Protocol):
    """A model whose server this process may start, and start again when it exits."""

    def find_crash_loop(self) -> str | None:
        """Why the model is not available until its server starts again; None while it is, or may soon be."""
        ...


@runtime_checkable
class CountsPrompts(Protocol):
    """A model that can tell how many tokens a prompt has, without an answer."""

    async def count_prompt(self, prompt: Prompt) -> int | None:
        """None if its server cannot count. Raises a `ModelError` if the server fails."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that can also embed texts. It raises a `ModelError` if the provider fails or has no embeddings."""

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors: ...


def select_model(model: Model) -> Model:
    """The model that answers now, for callers that show its name or continue its response."""
    return model.select_model() if isinstance(model, SelectsModel) else model


def model_name(model: object) -> str:
    """The name that the operator configured, never one from a client: clients could create unlimited names."""
    options = getattr(model, "options", None)
    return str(getattr(model, "name", "") or getattr(options, "model", "") or model.__class__.__name__)


def set_model_key(model: Model, key: str) -> None:
    """Record under which name of `models` the configuration has the model."""
    with suppress(AttributeError):  # a class with slots: its spans then have the name of the provider's model
        setattr(model, MODEL_KEY, key)


def start_model_span(model: Model, **attributes: AttributeValue) -> Span:
    """Start the span of a model call. The log names it by the key in the configuration, telemetry by the model."""
    key = str(getattr(model, MODEL_KEY, ""))
    span = start_span("model", model_name(model), **{"model_key": key} if key else {}, **attributes)
    MODEL_SPAN.set(span)
    return span


MODEL_SPAN: ContextVar[Span | None] = ContextVar("rightseat_model_span", default=None)
"""That of the model call of this task, until it ends."""
MODEL_KEY = "rightseat_key"
