"""One model call as limits count it: how much to reserve for it, and what it used."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import msgspec

from rightseat.core.model import (
    MODEL_KEY,
    CallChunk,
    Chunk,
    Model,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
    model_name,
)
from rightseat.limits.estimate import (
    DEFAULT_RESERVE_TOKENS,
    PromptSize,
    count_tokens,
    measure_prompt,
    output_bound,
    weigh_text,
)
from rightseat.limits.kinds import NANO, UsageCounts
from rightseat.limits.prices import TOKENS_PER_PRICE, Price, Prices

WEIGHED_CHARS = 4096


class CountedCall(Protocol):
    """A model call as limits count it. `model_key` is a name under `models`."""

    model_key: str
    has_failed: bool

    @property
    def reserved(self) -> UsageCounts:
        """The most that it may use."""
        ...

    def estimate(self, output_weight: int) -> UsageCounts:
        """What it used, if nothing is known but its input and so much output."""
        ...

    def counts(self, *, is_reserved: bool) -> UsageCounts:
        """What it used, once it has ended. What was not reported is estimated, with a reservation at most as high."""
        ...


class ModelCharge:
    """One model call: how much to reserve for it, and what it used."""

    def __init__(
        self,
        prices: Prices,
        reserve: Mapping[str, int],
        model: Model,
        prompt: Prompt,
        added_weight: int = 0,
        weights: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """`reserve` has the bounds of answers, by the name of the model. `added_weight` is not in the prompt yet.
        `weights` are those of messages that were measured before, see `estimate.weigh_messages`."""
        self.model_key = key_of(model)
        self._price = prices.find(self.model_key, provider_name(model))
        asked = measure_prompt(prompt, weights)
        self.ask_weight = asked.weight
        self.prompt_weight = max(0, asked.weight + added_weight)
        self._size = PromptSize(self.prompt_weight, asked.images)
        self._bound = output_bound(prompt, model, reserve.get(self.model_key, DEFAULT_RESERVE_TOKENS))
        self._is_own_bound = prompt.parameters.max_tokens != self._bound
        self.reserved = self._count(self._size.tokens, 0, self._bound)
        self._prompt = prompt
        self._usage: UsageChunk | None = None
        self._output_weight = 0
        self._unweighed = ""
        self._has_content = False
        self.is_complete = False
        self.has_failed = False

    @property
    def bounded_prompt(self) -> Prompt:
        parameters = msgspec.structs.replace(self._prompt.parameters, max_tokens=self._bound)
        return msgspec.structs.replace(self._prompt, parameters=parameters)

    def read(self, chunk: Chunk) -> str | None:
        """Returns a warning if the answer ended because of a bound that the ask did not have."""
        kind = type(chunk)
        if kind is TextChunk or kind is ReasoningChunk:
            self._has_content = True
            self._add_output(chunk.text)  # type: ignore[union-attr]  # isinstance takes longer
        elif kind is CallChunk:
            self._has_content = True
            self._add_output(chunk.arguments + chunk.name)  # type: ignore[union-attr]
        elif isinstance(chunk, UsageChunk):
            self._usage = chunk
        elif isinstance(chunk, StopChunk):
            self.is_complete = True
            return self._explain_cut() if chunk.reason == "length" and self._is_own_bound else None
        return None

    def _explain_cut(self) -> str:
        return (
            f"The answer was cut at {self._bound:,} tokens, because a budget applies. `max_tokens` of the request "
            "sets the bound, or `limits_reserve` in the configuration."
        )

    def _add_output(self, text: str) -> None:
        """Long pieces are weighed much faster than many tokens."""
        self._unweighed += text
        if len(self._unweighed) > WEIGHED_CHARS:
            self._weigh_output()

    def _weigh_output(self) -> int:
        self._output_weight += weigh_text(self._unweighed)
        self._unweighed = ""
        return self._output_weight

    def counts(self, *, is_reserved: bool) -> UsageCounts:
        if self._usage is not None and self.is_complete:
            return self._reported(self._usage)
        if not self._has_content and self.has_failed and self._usage is None:
            return UsageCounts()  # the provider refused, or failed before its first token
        found = self.estimate(self._weigh_output())
        if self._usage is not None:  # reported with the first token, of an answer that was cut off later
            output = max(self._usage.output_tokens, min(count_tokens(self._output_weight), self._bound))
            return self._reported(msgspec.structs.replace(self._usage, output_tokens=output))
        return found.at_most(self.reserved) if is_reserved else found

    def estimate(self, output_weight: int) -> UsageCounts:
        output = count_tokens(output_weight)
        cost = self._cost(self._size.tokens, 0, output)
        return UsageCounts(estimated_tokens=self._size.tokens + output, cost=cost)

    def _reported(self, usage: UsageChunk) -> UsageCounts:
        cached = min(usage.cache_read_tokens, usage.input_tokens)
        return self._count(usage.input_tokens, cached, usage.output_tokens)

    def _count(self, input: int, cached: int, output: int) -> UsageCounts:
        cost = self._cost(input - cached, cached, output)
        return UsageCounts(input_tokens=input, cached_tokens=cached, output_tokens=output, cost=cost)

    def _cost(self, fresh: int, cached: int, output: int) -> int:
        return cost_in_nanos(self._price, fresh, cached, output) if self._price else 0


def cost_in_nanos(price: Price, fresh: int, cached: int, output: int) -> int:
    cached_price = price.input if price.cached_input is None else price.cached_input
    return round((fresh * price.input + cached * cached_price + output * price.output) * (NANO // TOKENS_PER_PRICE))


def key_of(model: object) -> str:
    """The name of the model under `models`, or that of the provider."""
    return str(getattr(model, MODEL_KEY, "") or model_name(model))


def provider_name(model: object) -> str:
    return str(getattr(getattr(model, "options", None), "model", ""))
