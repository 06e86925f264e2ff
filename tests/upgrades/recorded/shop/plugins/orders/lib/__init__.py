"""The tools of this plugin."""

from .order_totals import OrderTotals

exported = [OrderTotals]
