"""Limits and budgets: rules, windows, exact counting, and the meter of model calls (docs/decisions/0017)."""
