"""Slots: the values that a call takes, found in a question, asked of a person, or left as they stand."""

from rightseat.plugins.slots.filling import Filled, check, complete, fill
from rightseat.plugins.slots.form import uploads

__all__ = ["Filled", "check", "complete", "fill", "uploads"]
