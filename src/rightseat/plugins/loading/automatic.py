"""Generates one flow per API operation, for plugins with `automatic_flow`."""

import re
from collections.abc import Mapping

from rightseat.plugins.definition import Flow, Operation, Step

MANY_FLOWS = 20


def build_flows(operations: Mapping[str, Operation]) -> dict[str, Flow]:
    found: dict[str, Flow] = {}
    for operation in operations.values():
        flow = _build_flow(operation, {name.casefold() for name in found})
        found[flow.name] = flow
    return found


def _build_flow(operation: Operation, taken: set[str]) -> Flow:
    base = re.sub(r"[^A-Za-z0-9_-]+", "_", operation.id or f"{operation.method.lower()}_{operation.path}")
    base = re.sub(r"_{2,}", "_", base) if operation.id is None else base
    base = base.strip("_-")[:60] or operation.method.lower()
    name = next(one for one in (base, *(f"{base}_{n}" for n in range(2, 1000))) if one.casefold() not in taken)
    is_dangerous = not operation.is_safe if operation.dangerous is None else operation.dangerous
    steps = {
        "start": Step("start", "api", {"endpoint": operation.name}, "end", is_dangerous),
        "end": Step("end", "none"),
    }
    aliases = [operation.name, *([operation.id] if operation.id and operation.id != name else [])]
    return Flow(name, operation.description or operation.name, steps, aliases=tuple(aliases))
