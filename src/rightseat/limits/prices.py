"""Computes what the model calls of a run cost, from the operator's prices."""

from collections.abc import Mapping, Sequence

import msgspec

from rightseat.core.events import Usage
from rightseat.core.usage import ModelUsage

TOKENS_PER_PRICE = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """For a million tokens. Without `cached_input`, input from the provider's cache costs as much as other input."""

    input: float
    output: float
    cached_input: float | None = None

    def cost(self, usage: Usage) -> float:
        cached_price = self.input if self.cached_input is None else self.cached_input
        cached = min(usage.cache_read_tokens, usage.input_tokens)
        input_cost = (usage.input_tokens - cached) * self.input + cached * cached_price
        return (input_cost + usage.output_tokens * self.output) / TOKENS_PER_PRICE


class Prices(msgspec.Struct, frozen=True):
    """By the name of a model in the configuration, or by the provider's name for it. `currency` is a label."""

    by_model: Mapping[str, Price] = {}
    currency: str = "USD"

    def cost(self, models: Sequence[ModelUsage]) -> float | None:
        """None if no model has reported its usage, or if one that has reported it has no price."""
        reported = [(self.find(one.name, one.model or ""), one.usage) for one in models if one.usage is not None]
        known = [price.cost(usage) for price, usage in reported if price is not None]
        return sum(known) if known and len(known) == len(reported) else None

    def find(self, name: str, provider_model: str) -> Price | None:
        """`name` is the model's name in the configuration."""
        return self.by_model.get(name) or self.by_model.get(provider_model)
