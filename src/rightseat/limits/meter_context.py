"""What the meters of all runs share: the limits, the ledger, prices, and models that a limit can downgrade to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rightseat.core.model import Model
from rightseat.limits.budget_watch import BudgetWatch, Notify
from rightseat.limits.first_call import FirstCalls
from rightseat.limits.ledger import Ledger
from rightseat.limits.observer import NO_LIMIT_OBSERVER, LimitObserver
from rightseat.limits.prices import Prices
from rightseat.limits.queue import AskQueue
from rightseat.limits.rules import Limits


@dataclass(frozen=True, slots=True)
class Metering:
    """What all meters share. `models` are those that a limit can downgrade to."""

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
