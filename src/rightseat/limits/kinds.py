"""The kinds of limits: what each one counts, and how its numbers are shown.

A new kind is a value here and its keys in `limits.options`; tests name what else it needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

KindName = Literal["requests", "runs", "tokens", "cost"]
"""In the configuration, in the names of rules and in stored reservations: never renamed."""
NANO = 10**9
"""Cost is counted in integers, in billionths of the currency."""


class CallAmounts(Protocol):
    """A model call in numbers: what is reserved for it, or what it used."""

    @property
    def tokens(self) -> int: ...

    @property
    def cost(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitKind:
    name: KindName
    noun: str
    """The plural, in messages."""
    header: Literal["requests", "tokens"] | None
    """The `x-ratelimit-*` headers that show it, and OpenAI's type of its refusals."""
    of_ask: int
    """What an ask counts before it starts; with 0 the limit counts model calls."""
    of_call: Callable[[CallAmounts], int]
    """What to reserve for a model call, and what of the reservation was used."""
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
    name="requests", noun="requests", header="requests", of_ask=1, of_call=lambda call: 0, is_held=False
)
RUNS = LimitKind(name="runs", noun="concurrent runs", header="requests", of_ask=1, of_call=lambda call: 0, is_slot=True)
TOKENS = LimitKind(name="tokens", noun="tokens", header="tokens", of_ask=0, of_call=lambda call: call.tokens)
COST = LimitKind(name="cost", noun="cost", header=None, of_ask=0, of_call=lambda call: call.cost, is_money=True)

KINDS: Mapping[KindName, LimitKind] = {kind.name: kind for kind in (REQUESTS, RUNS, TOKENS, COST)}
