"""Implementations of step calls: one module per call type (see `plugins/call_types.py`), and `lib` for tools."""

from rightseat.plugins.call_types import PreparedStepCall, StepCall, call_types
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.calls import lib

LIB = PreparedStepCall(lib.prepare, lib.perform, lib.check, lib.describe, lib.is_dangerous, lib.has_effect)


def find_call(step: Step) -> StepCall | PreparedStepCall:
    return LIB if step.is_lib else call_types()[step.call].runner
