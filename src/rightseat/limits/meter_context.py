"""What surrounds a metered call: what the meters of all runs share, and the call that it is a part of."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from rightseat.core.model import Model
from rightseat.limits.budget_watch import BudgetWatch, Notify
from rightseat.limits.first_call import FirstCalls
from rightseat.limits.kinds import UsageCounts
from rightseat.limits.ledger import Ledger
from rightseat.limits.observer import NO_LIMIT_OBSERVER, LimitObserver
from rightseat.limits.prices import Prices
from rightseat.limits.queue import AskQueue
from rightseat.limits.rules import Limits


@dataclass(frozen=True, slots=True)
class Metering:
    """What the meters of all runs share. `models` are those that a limit can downgrade to."""

    limits: Limits
    ledger: Ledger
    prices: Prices
    observer: LimitObserver = NO_LIMIT_OBSERVER
    notify: Notify | None = None
    """Sends the warnings of budgets."""
    reserve: Mapping[str, int] = field(default_factory=dict)
    """By the name of a model: the output tokens that are reserved for a call whose ask has no bound."""
    models: Mapping[str, Model] = field(default_factory=dict)
    first_calls: FirstCalls = field(default_factory=FirstCalls)
    queue: AskQueue = field(init=False)
    watch: BudgetWatch = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "queue", AskQueue(self.ledger, self.observer))
        object.__setattr__(self, "watch", BudgetWatch(self.ledger.store, self.observer, self.notify))


class OuterCall(NamedTuple):
    """What a call takes over from that of a model which calls other models. With `is_selected` no limit chooses another
    model again. `nested` collects what is counted for the inner calls."""

    is_selected: bool = False
    nested: list[UsageCounts] | None = None


OUTER_CALL: ContextVar[OuterCall] = ContextVar("rightseat_outer_call", default=OuterCall())  # noqa: B039  # immutable
