"""The seam to engines: programs that go on with a text, held to a grammar."""

from collections.abc import AsyncIterator, Mapping
from typing import Literal, Protocol

import msgspec

from rightseat.core.events import StopReason
from rightseat.core.values import JsonValue
from rightseat.models.completion.grammar.nodes import Grammar


class Trigger(msgspec.Struct, frozen=True):
    """What switches a lazy grammar on: a word that the model says, or a pattern over all it has said."""

    kind: Literal["word", "pattern"]
    value: str


class Constraint(msgspec.Struct, frozen=True):
    """What the model may say. Without `triggers` from its first token on; with them, once one of them was said.

    `preserved` are control tokens that the engine must not leave out of the text.
    """

    grammar: Grammar
    triggers: tuple[Trigger, ...] = ()
    preserved: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    prompt: str
    constraint: Constraint | None = None
    preserved: tuple[str, ...] = ()
    """Control tokens that must not be left out of the text, where there is no constraint."""
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    thread_id: str | None = None


class Piece(msgspec.Struct, frozen=True):
    """More text. `logprobs` in OpenAI's shape, where they were asked for and the engine has them."""

    text: str
    logprobs: tuple[JsonValue, ...] = ()


class End(msgspec.Struct, frozen=True):
    """`stop` is the stop word that ended the text, where one did and the engine says which."""

    reason: StopReason
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    stop: str | None = None


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine says of its model. `template` is empty where the model has none."""

    model: str = ""
    template: str = ""
    caps: Mapping[str, bool] = msgspec.field(default_factory=dict)
    bos: str = ""
    eos: str = ""
    context: int | None = None
    slots: int = 1


class Engine(Protocol):
    """Goes on with a text.

    It raises a `ModelError` where it fails: `ModelLoading` while it is not ready, `PromptTooLong`, `ModelRefused` with
    the engine's own words, `ModelUnreachable`. When the iterator is closed, the engine stops at once.
    """

    async def describe(self) -> Description:
        """Cheap after the first time; asked again once the engine was restarted."""
        ...

    def generate(self, request: Request) -> AsyncIterator[Piece | End]:
        """Pieces as they come, and `End` last."""
        ...
