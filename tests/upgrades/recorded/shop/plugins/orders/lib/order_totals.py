"""The totals, which are always the same."""

from typing import Any


class OrderTotals:
    """Plugin tool: ``call_type: lib.order_totals``."""

    name = "order_totals"
    description = "The totals of the orders by month."
    params = {"type": "object", "properties": {}}

    async def run(self, ctx: Any) -> dict[str, Any]:
        """Return a table."""
        return {"output": [{"month": "2026-01", "total": 1200}, {"month": "2026-02", "total": 950}]}
