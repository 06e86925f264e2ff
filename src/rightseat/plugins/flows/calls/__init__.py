"""What runs the calls of steps: one module for each call type, see `plugins/call_types.py`; and `lib` for tools."""

from rightseat.plugins.call_types import Armed, Plain, call_types
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.calls import lib

LIB = Armed(lib.prepare, lib.perform, lib.check, lib.described, lib.is_dangerous, lib.has_effect)


def call_of(step: Step) -> Plain | Armed:
    return LIB if step.is_lib else call_types()[step.call].runner
