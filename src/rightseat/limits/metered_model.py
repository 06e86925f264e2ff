"""A configured model whose calls are counted, whoever makes them: agents, guards, toolboxes and flows get no other.

Each call is reserved before it is sent, settled after it, and refused if a budget is used up. It counts for the run or
the request in whose context it is made. A call outside of any (a background task of a toolbox) counts with the purpose
`server`, without a user.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

from rightseat.concurrency import iterate_in_context
from rightseat.core.ask import Ask, Principal
from rightseat.core.call_labels import LABELS
from rightseat.core.caller import CALLER
from rightseat.core.model import MODEL_KEY, CannotContinue, Chunk, Model, PartialOutput, Prompt, Vectors
from rightseat.limits.estimate import estimate_tokens
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.meter import ANSWER_PURPOSES, METER, CallMeter, OpenStream, RunMeter
from rightseat.limits.meter_context import OUTER_CALL, Metering
from rightseat.limits.model_charge import key_of, provider_name
from rightseat.limits.model_doubles import ModelDoubles, check_forbidden, find_double
from rightseat.limits.sent_prompts import PROMPT_RECORDER
from rightseat.limits.single_call import TokenCounts, reserve_call

SERVER = "server"
"""The purpose of calls outside of runs and requests. They have no user, so limits of users do not count them."""

COUNTED_METHODS = {"continue_stream": "_continue_stream", "embed": "_embed"}
"""Methods of optional protocols that call the provider, each with the method here that counts it. They are not methods
of the wrapper, which would then support protocols that its model does not."""
UNCOUNTED_METHODS = frozenset({"wait_until_ready", "find_crash_loop", "count_prompt"})
"""Those that do not. A test finds a method of a new protocol that is in neither."""


class CallCounter:
    """Finds the meter of a call. `metering` is set when it is built, after the models; None if nothing is counted.

    `doubles` are those of tests, for all models that share the counter.
    """

    def __init__(self, metering: Metering | None = None, doubles: ModelDoubles | None = None) -> None:
        self.metering = metering
        self.doubles = doubles or ModelDoubles()

    def find_meter(self) -> CallMeter | None:
        meter = METER.get()
        if meter is not None or self.metering is None:
            return meter
        ask = Ask(messages=(), agent="", principal=Principal(""), caller=CALLER.get(), purpose=SERVER)
        return RunMeter(self.metering, ask)


class MeteredModel:
    """Every other attribute is that of the wrapped model, and so is the class that `isinstance` sees: an optional
    protocol is supported exactly if the wrapped model supports it.

    A model that is composed of others (`is_composed`) is not counted itself: each of these is. One that `has_models`
    of others and does not say so is counted for what it uses beyond their calls.
    """

    def __init__(self, model: Model, counter: CallCounter, key: str = "", *, has_models: bool = False) -> None:
        self._model = model
        self._counter = counter
        self._has_models = has_models
        self._is_composed = bool(getattr(model, "is_composed", False))
        self._is_open = False
        setattr(self, MODEL_KEY, key or key_of(model))

    def __getattr__(self, name: str) -> Any:
        """Raises `AttributeError` for a counted method that the model does not have."""
        found = getattr(self._model, name)
        return getattr(self, COUNTED_METHODS[name]) if name in COUNTED_METHODS else found

    async def __aenter__(self) -> Self:
        """A model that is replaced is not opened: it may need a key, or a server that a test does not have."""
        if isinstance(self._model, AbstractAsyncContextManager) and find_double(self._counter.doubles) is None:
            await self._model.__aenter__()
            self._is_open = True
        return self

    async def __aexit__(self, *raised: Any) -> None:
        if self._is_open and isinstance(self._model, AbstractAsyncContextManager):
            self._is_open = False
            await self._model.__aexit__(*raised)

    def _choose(self) -> Model:
        """The model that answers now. Raises `ModelForbidden`."""
        double = find_double(self._counter.doubles)
        if double is None:
            check_forbidden(self._counter.doubles, self._model, key_of(self))
        return double or self._model

    @property  # type: ignore[misc]  # as proxies do: `isinstance` asks the object for it
    def __class__(self) -> type[Any]:
        return type(self._model)

    def select_model(self) -> Model:
        """Another one if a limit has downgraded the run."""
        meter = METER.get()
        return self if meter is None else meter.select(self)

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        return self._open(prompt, self._choose().stream)

    def _continue_stream(self, prompt: Prompt, partial: PartialOutput) -> AsyncIterator[Chunk]:
        """Never with another model, which does not know the beginning."""
        if self._choose() is not self._model:
            raise CannotContinue
        model: Any = self._model
        return self._open(prompt, lambda bounded: model.continue_stream(bounded, partial), is_selected=True)

    def _open(self, prompt: Prompt, open_stream: OpenStream, *, is_selected: bool = False) -> AsyncIterator[Chunk]:
        meter, labels, outer = self._counter.find_meter(), LABELS.get(), OUTER_CALL.get()
        recorder = PROMPT_RECORDER.get()
        if recorder is not None and not self._is_composed:
            open_stream = recorder.wrap(key_of(self), provider_name(self), labels, open_stream)
        if meter is None:
            return open_stream(prompt)
        if not (is_selected or outer.is_selected) and labels.purpose in ANSWER_PURPOSES:
            other = meter.select(self)
            if other is not self:
                return other.stream(prompt)
        if self._is_composed:
            is_selected = outer.is_selected or meter.downgrade is not None
            outer = outer._replace(is_selected=is_selected)
            return iterate_in_context(open_stream(prompt), (LABELS, labels), (OUTER_CALL, outer))
        if self._has_models:
            nested: list[UsageCounts] = []
            values = (LABELS, labels), (OUTER_CALL, outer._replace(nested=nested))
            opened: OpenStream = lambda bounded: iterate_in_context(open_stream(bounded), *values)  # noqa: E731
            return meter.stream(self, prompt, labels, outer, opened, nested)
        return meter.stream(self, prompt, labels, outer, open_stream)

    async def _embed(self, texts: Sequence[str], dimensions: int | None = None) -> Vectors:
        model: Any = self._choose()
        size = TokenCounts(sum(map(estimate_tokens, texts)))
        meter = self._counter.find_meter()
        async with reserve_call(key_of(self), provider_name(self), size, size, "embeddings", meter=meter) as call:
            made: Vectors = await model.embed(texts, dimensions)
            call.reported = TokenCounts(made.input_tokens) if made.input_tokens else None
        return made


def meter_model(model: Model, counter: CallCounter, key: str = "", *, has_models: bool = False) -> Model:
    """`key` is its name under `models`. A model that is metered already stays as it is."""
    return model if type(model) is MeteredModel else MeteredModel(model, counter, key, has_models=has_models)
