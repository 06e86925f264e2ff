"""Slots: the arguments of a call, filled from the question, by a model, by a person, or with defaults."""

from rightseat.plugins.slots.filler import FilledSlots, check_arguments, fill_operation, fill_schema
from rightseat.plugins.slots.form import label_uploads

__all__ = ["FilledSlots", "check_arguments", "fill_operation", "fill_schema", "label_uploads"]
