"""What users used, and how much of each limit is left: of one's own user, or of all users with the right `usage`.

Only faces whose `routes` have a parameter `usage` receive it.
"""

from collections.abc import Sequence

import msgspec

from rightseat.core.types import JsonValue
from rightseat.limits.meter_context import Metering
from rightseat.limits.report import describe_counters
from rightseat.limits.rules import own_subjects
from rightseat.limits.store import UsageQuery, UsageRow
from rightseat.operations.rights import Operator


class UsageReports:
    def __init__(self, metering: Metering) -> None:
        self._metering = metering
        self._store = metering.ledger.store

    @property
    def zone(self) -> str:
        """The time zone of days and months."""
        return self._store.zone

    @property
    def currency(self) -> str:
        return self._metering.prices.currency

    async def sum(self, operator: Operator, query: UsageQuery) -> Sequence[UsageRow]:
        """The rows of all users only with the right."""
        user = query.user if operator.rights.includes_usage else operator.id
        return await self._store.usage(msgspec.structs.replace(query, user=user))

    async def list_counters(self, operator: Operator) -> Sequence[dict[str, JsonValue]]:
        """The counters of configured limits; without the right only those of the operator's own user and key."""
        now, rows = await self._store.counters()
        own = None if operator.rights.includes_usage else own_subjects(operator.id)
        return [*describe_counters(self._metering.limits, now, rows, self.zone, own)]
