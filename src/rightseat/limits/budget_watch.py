"""Warns operators about budgets of tokens and cost: once when 80 % are used, and once when a request is refused.

Once means in each window of a counter. Warnings are shared by all processes of a store; refusals are reported by each
process.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from rightseat.core.audit import AUDIT_LOGGER, KIND, USER
from rightseat.core.errors import StoreUnreachable
from rightseat.core.ids import new_id
from rightseat.limits.book import Standing
from rightseat.limits.observer import NO_LIMIT_OBSERVER, LimitObserver
from rightseat.limits.refusal import describe_rule
from rightseat.limits.report import format_time, scale
from rightseat.limits.rules import CALL_KINDS, CounterKey
from rightseat.limits.store import LimitStore

logger = logging.getLogger(__name__)
audit = logging.getLogger(AUDIT_LOGGER)

WARNING_SHARE = 0.8
MAX_REPORTED = 10_000
"""Counters whose report is remembered; beyond them the oldest is forgotten, and may be reported again."""


class BudgetWarning(msgspec.Struct, frozen=True):
    """80 % of a budget are used. `used` includes what is reserved; cost is in the currency."""

    id: str
    text: str
    limit: str
    subject: str
    kind: str
    window: str
    most: float
    used: float
    currency: str
    resets_at: str


Notify = Callable[[BudgetWarning], None]
"""Sends a warning, and returns at once."""


class BudgetWatch:
    def __init__(
        self, store: LimitStore, observer: LimitObserver = NO_LIMIT_OBSERVER, notify: Notify | None = None
    ) -> None:
        self._store = store
        self._observer = observer
        self._notify = notify
        self._warned = ReportedWindows()
        self._refused = ReportedWindows()
        self._tasks: set[asyncio.Task[None]] = set()

    def warn(self, standings: Sequence[Standing], now: float, currency: str) -> None:
        """Warn of each budget that has just passed 80 %, without delaying the caller."""
        for one in standings:
            if is_nearly_used(one) and (until := self._warned.begin(one, now)) is not None:
                task = asyncio.create_task(self._warn(one, now, until, currency))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _warn(self, standing: Standing, now: float, until: float, currency: str) -> None:
        try:
            if not await self._store.claim_warning(standing.key, now, until):
                return  # another process has warned
        except StoreUnreachable:
            self._warned.forget(standing.key)  # the next request tries again
            return
        found = describe_warning(standing, until, currency, self._store.zone)
        logger.warning("%s", found.text)
        self._observer.warn(found.limit)
        if self._notify is not None:
            self._notify(found)

    def record_refusal(self, standing: Standing, now: float, user: str, currency: str) -> None:
        if standing.rule.is_budget and self._refused.begin(standing, now) is not None:
            text, number = "limits: refused %s: the budget %r of %s is used up", describe_rule(standing.rule, currency)
            extra = {KIND: "limit", USER: user}
            audit.info(text, show_subject(standing.key), standing.key.limit, number, extra=extra)


def is_nearly_used(standing: Standing) -> bool:
    rule = standing.rule
    return rule.kind in CALL_KINDS and rule.most > 0 and standing.left <= (1 - WARNING_SHARE) * rule.most


def describe_warning(standing: Standing, until: float, currency: str, zone: str) -> BudgetWarning:
    key, rule = standing.key, standing.rule
    used = rule.most - standing.left
    share = f"{100 * used // rule.most} % for {show_subject(key)}"
    return BudgetWarning(
        id=new_id("warning"),
        text=f"the budget {key.limit!r} of {describe_rule(rule, currency)} is used to {share}, with what is reserved",
        limit=key.limit,
        subject=key.subject,
        kind=rule.kind,
        window=rule.window.name if rule.window else "",
        most=scale(rule, rule.most),
        used=scale(rule, used),
        currency=currency,
        resets_at=format_time(until, zone),
    )


def show_subject(key: CounterKey) -> str:
    """Clients may choose names: a line break in one must not begin another line."""
    return repr(key.subject)


class ReportedWindows:
    """Which counters were reported in their current window."""

    def __init__(self) -> None:
        self._until: dict[CounterKey, float] = {}  # the oldest first

    def begin(self, standing: Standing, now: float) -> float | None:
        """The end of the window; None if the counter was reported in it."""
        key, window = standing.key, standing.rule.window
        if window is None or now < self._until.get(key, 0.0):
            return None
        self.forget(key)
        self._until[key] = until = window.end(window.bucket(now))
        if len(self._until) > MAX_REPORTED:
            self.forget(next(iter(self._until)))
        return until

    def forget(self, key: CounterKey) -> None:
        self._until.pop(key, None)
