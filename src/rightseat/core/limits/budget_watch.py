"""Warns operators about budgets of tokens and cost: once when 80 % are used, and once when a request is refused.

Once means in each window of a counter, and by each process. Replicas do not share what they have reported.
"""

import logging
from collections.abc import Sequence

from rightseat.core.audit import AUDIT_LOGGER, KIND, USER
from rightseat.core.limits.book import Standing
from rightseat.core.limits.refusal import describe_rule
from rightseat.core.limits.rules import CALL_KINDS, CounterKey

logger = logging.getLogger(__name__)
audit = logging.getLogger(AUDIT_LOGGER)

WARNING_SHARE = 0.8
MAX_REPORTED = 10_000
"""Counters whose report is remembered; beyond them the oldest is forgotten, and may be reported again."""


class BudgetWatch:
    def __init__(self) -> None:
        self._warned = ReportedWindows()
        self._refused = ReportedWindows()

    def warn(self, standings: Sequence[Standing], now: float, currency: str) -> list[str]:
        """Log each budget that has just passed 80 %. Returns the names of their limits."""
        found = [one for one in standings if is_nearly_used(one) and self._warned.is_first(one, now)]
        for one in found:
            used = 100 * (one.rule.most - one.left) // one.rule.most
            text = "the budget %r of %s is used to %d %% for %s, with what is reserved"
            logger.warning(text, one.key.limit, describe_rule(one.rule, currency), used, show_subject(one.key))
        return [one.key.limit for one in found]

    def record_refusal(self, standing: Standing, now: float, user: str, currency: str) -> None:
        if standing.rule.is_budget and self._refused.is_first(standing, now):
            text, number = "limits: refused %s: the budget %r of %s is used up", describe_rule(standing.rule, currency)
            extra = {KIND: "limit", USER: user}
            audit.info(text, show_subject(standing.key), standing.key.limit, number, extra=extra)


def is_nearly_used(standing: Standing) -> bool:
    rule = standing.rule
    return rule.kind in CALL_KINDS and rule.most > 0 and standing.left <= (1 - WARNING_SHARE) * rule.most


def show_subject(key: CounterKey) -> str:
    """Clients may choose names: a line break in one must not begin another line."""
    return repr(key.subject)


class ReportedWindows:
    """Which counters were reported in their current window."""

    def __init__(self) -> None:
        self._until: dict[CounterKey, float] = {}  # the oldest first

    def is_first(self, standing: Standing, now: float) -> bool:
        key, window = standing.key, standing.rule.window
        if window is None or now < self._until.get(key, 0.0):
            return False
        self._until.pop(key, None)
        self._until[key] = window.end(window.bucket(now))
        if len(self._until) > MAX_REPORTED:
            del self._until[next(iter(self._until))]
        return True
