"""A model call without a stream, as limits count it: embeddings, and the transcription of a recording."""

from typing import NamedTuple

import msgspec

from rightseat.limits.book import UsageCounts
from rightseat.limits.model_charge import cost_in_nanos
from rightseat.limits.prices import Prices
from rightseat.limits.rules import LimitRule


class TokenCounts(NamedTuple):
    input: int
    output: int = 0


class SingleCall:
    """`model` is a name under `models`, `provider_model` that of the provider.

    `reserved` is the most that the call may use. `estimated` is counted if its usage is not reported; the caller sets
    it, and `reported`.
    """

    def __init__(self, model: str, provider_model: str, reserved: TokenCounts, estimated: TokenCounts) -> None:
        self.model_key = model
        self._provider_model = provider_model
        self._reserved = reserved
        self.estimated = estimated
        self.reported: TokenCounts | None = None
        self.has_failed = False
        self.prices = Prices()
        """Set by the meter."""

    @property
    def tokens(self) -> int:
        return sum(self._reserved)

    @property
    def cost(self) -> int:
        return self._cost(self._reserved)

    def amount(self, rule: LimitRule) -> int:
        """How much to reserve for this rule."""
        return self.tokens if rule.kind == "tokens" else self.cost

    def counts(self, *, is_reserved: bool) -> UsageCounts:
        if self.has_failed:
            return UsageCounts()
        if self.reported is not None:
            input, output = self.reported
            return UsageCounts(input_tokens=input, output_tokens=output, cost=self._cost(self.reported))
        found = self.estimate(0)
        if not is_reserved:
            return found
        tokens, cost = min(found.estimated_tokens, self.tokens), min(found.cost, self.cost)
        return msgspec.structs.replace(found, estimated_tokens=tokens, cost=cost)

    def estimate(self, output_weight: int) -> UsageCounts:
        return UsageCounts(estimated_tokens=max(1, sum(self.estimated)), cost=self._cost(self.estimated))

    def _cost(self, tokens: TokenCounts) -> int:
        price = self.prices.find(self.model_key, self._provider_model)
        return cost_in_nanos(price, tokens.input, 0, tokens.output) if price else 0
