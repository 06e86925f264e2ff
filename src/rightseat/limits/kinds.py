"""The kinds of limits: what each one counts, and how its numbers are shown.

A new kind is a name and a value here, keys in `limits.options`, which mypy then names, and a word in each language of
the console, which a test names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

KindName = Literal["requests", "runs", "tokens", "cost"]
"""In the configuration, in the names of rules and in stored reservations: never renamed."""
NANO = 10**9
"""Cost is counted in integers, in billionths of the currency."""


class UsageCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What calls use, or what is reserved for one: it is added to a row of the usage report.

    `cost` is in billionths of the currency. Tokens that no provider has reported are in `estimated_tokens`.
    """

    requests: int = 0
    refused: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    estimated_tokens: int = 0
    cost: int = 0

    def add(self, other: "UsageCounts") -> "UsageCounts":
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return UsageCounts(*(one + two for one, two in zip(mine, theirs, strict=True)))

    def without(self, part: "UsageCounts") -> "UsageCounts":
        """What is left if `part` is counted elsewhere. One of them may be estimated and the other one reported."""
        if self.tokens <= part.tokens:
            return UsageCounts()
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(part)
        return UsageCounts(*(max(0, one - two) for one, two in zip(mine, theirs, strict=True)))

    def at_most(self, reserved: "UsageCounts") -> "UsageCounts":
        """An estimate, of a call for which so much was reserved."""
        tokens, cost = min(self.estimated_tokens, reserved.tokens), min(self.cost, reserved.cost)
        return msgspec.structs.replace(self, estimated_tokens=tokens, cost=cost)

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.estimated_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKind:
    name: KindName
    noun: str
    """The plural, in messages."""
    header: Literal["requests", "tokens"] | None
    """The `x-ratelimit-*` headers that show it, and OpenAI's type of its refusals."""
    of_ask: int
    """What an ask counts before it starts; with 0 the limit counts model calls."""
    of_call: Callable[[UsageCounts], int]
    """The amount of a model call, of what is reserved for it and of what it used."""
    is_held: bool = True
    """An amount is reserved, and replaced by what was used in the end; otherwise it is used at once."""
    is_slot: bool = False
    """A run has it while it runs, so the limit has no window."""
    is_money: bool = False
    """Amounts are billionths of the currency. It is a budget, however short its window is."""

    @property
    def counts_calls(self) -> bool:
        return not self.of_ask

    def scale(self, amount: int) -> float:
        """The amount as reports and metrics have it."""
        return amount / NANO if self.is_money else amount

    def parse(self, amount: float) -> int:
        """The amount that a configured number means."""
        return round(amount * NANO) if self.is_money else int(amount)

    def format(self, amount: int, currency: str) -> str:
        if self.is_money:
            return f"{self.scale(amount):,.10g} {currency}"
        return f"{amount:,} {self.noun.removesuffix('s') if amount == 1 else self.noun}"


REQUESTS = LimitKind(
    name="requests", noun="requests", header="requests", of_ask=1, of_call=lambda counts: 0, is_held=False
)
RUNS = LimitKind(
    name="runs", noun="concurrent runs", header="requests", of_ask=1, of_call=lambda counts: 0, is_slot=True
)
TOKENS = LimitKind(name="tokens", noun="tokens", header="tokens", of_ask=0, of_call=lambda counts: counts.tokens)
COST = LimitKind(name="cost", noun="cost", header=None, of_ask=0, of_call=lambda counts: counts.cost, is_money=True)

KINDS: Mapping[KindName, LimitKind] = {kind.name: kind for kind in (REQUESTS, RUNS, TOKENS, COST)}
