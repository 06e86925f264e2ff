"""The seam to language models."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Parameters
from rightseat.core.events import StopReason
from rightseat.core.messages import Message
from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue


class Prompt(msgspec.Struct, frozen=True):
    messages: tuple[Message, ...]
    tools: Sequence[Tool] = ()
    parameters: Parameters = Parameters()
    thread_id: str | None = None
    """Which conversation this is: a model that keeps what it has read finds it again by this name."""


class TextChunk(msgspec.Struct, frozen=True, gc=False):
    text: str


class ThoughtChunk(msgspec.Struct, frozen=True, gc=False):
    text: str


class CallChunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of a tool call. `index` says which of the answer's calls it belongs to; pieces may come in any order.

    `id` and `name` may come with the first piece only, or with each.
    """

    index: int
    arguments: str = ""
    id: str = ""
    name: str = ""


class UsageChunk(msgspec.Struct, frozen=True, gc=False):
    """`input_tokens` are all that were read; of them, how many the provider took from its cache or put there."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0


class StopChunk(msgspec.Struct, frozen=True, gc=False):
    reason: StopReason


class NoteChunk(msgspec.Struct, frozen=True):
    """What belongs beside the answer: it becomes the event `Custom("model.<name>", value)`.

    `warning` is a sentence for whoever asked: a tool was left out, a parameter is not known to this model.
    `logprobs` is a list of `{"token", "logprob", "bytes", "top_logprobs"}` of the text that comes next.
    `kept` is what a provider wants to see again with this answer, such as signed thoughts, under the provider's name.
    It comes last, is found in the `extra` of the answer's message, and is for no client.
    """

    name: Literal["warning", "logprobs", "kept"]
    value: JsonValue


Chunk = TextChunk | ThoughtChunk | CallChunk | UsageChunk | StopChunk | NoteChunk


class Begun(msgspec.Struct, frozen=True, gc=False):
    """What was said of an answer before it broke off: a thought, a text, or a thought and then a text."""

    thought: str = ""
    text: str = ""
    is_thinking: bool = False
    """The thought has no end yet."""


class CannotContinue(Exception):
    """Why a model cannot go on with an answer: it is given anew. No client sees this."""


class Vectors(msgspec.Struct, frozen=True):
    """One for each text, in their order."""

    vectors: list[list[float]]
    input_tokens: int = 0


class Model(Protocol):
    """Turns a prompt into chunks.

    An adapter only translates: it opens nothing and closes nothing in the conversation. Ids and start/end pairs are
    added by `core.framing`. It raises a `ModelError` where the model's server fails, before the first chunk or after.
    When its iterator is closed, the connection to the model is closed too.
    """

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]: ...


@runtime_checkable
class Continuing(Protocol):
    """A model that can go on with an answer that it had begun."""

    def go_on(self, prompt: Prompt, begun: Begun) -> AsyncIterator[Chunk]:
        """What comes after `begun`, to the character, as `stream` would have gone on; its usage is the whole answer's.

        Raises `CannotContinue` before the first chunk where that cannot be done. Warnings are not said again.
        """
        ...


@runtime_checkable
class Starting(Protocol):
    """A model that takes its time until it can be asked, and refuses asks before."""

    async def ready(self) -> None:
        """Wait for that. Raises a `ModelError` where it fails."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors as well. It raises a `ModelError` where its server fails, or has none."""

    async def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors: ...
