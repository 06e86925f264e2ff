"""The protocol of backends: servers that complete a text under a grammar."""

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

import msgspec

from rightseat.core.events import StopReason
from rightseat.core.types import JsonValue
from rightseat.models.completion.grammar.nodes import Grammar


class Trigger(msgspec.Struct, frozen=True):
    """Activates a lazy grammar: a word in the model's output, or a pattern over all of it."""

    kind: Literal["word", "pattern"]
    value: str


class Constraint(msgspec.Struct, frozen=True):
    """Constrains the output: from the first token on, or, with `triggers`, once one of them occurred.

    `preserved` are control tokens that the backend must keep in the text.
    """

    grammar: Grammar
    triggers: tuple[Trigger, ...] = ()
    preserved: tuple[str, ...] = ()


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    prompt: str
    constraint: Constraint | None = None
    preserved: tuple[str, ...] = ()
    """Control tokens that the backend must keep in the text, if there is no constraint."""
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    thread_id: str | None = None
    cache_key: str | None = None
    """The client's name for requests that begin alike."""


class TextPiece(msgspec.Struct, frozen=True):
    """More text; an empty one shows that the backend is still reading the prompt.

    `logprobs` are in OpenAI's format, if they were requested and the backend has them.
    """

    text: str
    logprobs: tuple[JsonValue, ...] = ()


class End(msgspec.Struct, frozen=True):
    """`stop` is the stop word that ended the text, if the backend reports it."""

    reason: StopReason
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    stop: str | None = None


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A backend's description of its model. `template` is empty if the model has none.

    `tool_template` is a second template for requests with tools; empty if one template serves all requests. `caps`
    belong to `template`.
    """

    model: str = ""
    template: str = ""
    tool_template: str = ""
    caps: Mapping[str, bool] = msgspec.field(default_factory=dict)
    bos: str = ""
    eos: str = ""
    context_window: int | None = None
    slots: int = 1

    def for_tools(self) -> "Description":
        """Return the description for requests with tools."""
        if not self.tool_template:
            return self
        return msgspec.structs.replace(self, template=self.tool_template, caps={})

    def for_text(self) -> "Description":
        """Return the description for requests without tools. A model may have a template for tools alone."""
        if not self.tool_template:
            return self
        return self.for_tools() if not self.template else msgspec.structs.replace(self, tool_template="")


class Backend(Protocol):
    """Completes a text.

    Raises a `ModelError` on failure: `ModelLoading` while it is not ready, `ContextTooLong`, `ModelRefused` with the
    backend's own text, `ModelUnreachable`. Closing the iterator stops the generation at once.
    """

    async def describe(self) -> Description:
        """Cached after the first call; fetched again after a restart of the backend."""
        ...

    def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        """Yield pieces as they arrive, and `End` last."""
        ...
