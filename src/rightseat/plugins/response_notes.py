"""Summarizes the response descriptions of an OpenAPI document for models that read the data."""

from collections.abc import Iterator, Mapping

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Flow, Operation, Plugin, Schema
from rightseat.plugins.expressions import truncation

MAX_NOTE_BYTES = 3000
MAX_FIELDS = 60
MAX_NODES = 400  # schema nodes visited; bounds recursive schemas
MAX_DEPTH = 8
MAX_ENUM_VALUES = 12


def write_response_notes(plugin: Plugin, flow: Flow, calls: Mapping[str, str]) -> dict[str, str]:
    """By step. `extract` outputs fields of the previous data, so it has the same note."""
    notes: dict[str, str] = {}
    latest = ""
    for name, call in calls.items():
        if call == "api" and name in flow.steps:
            operation = plugin.operation(str(flow.steps[name].params.get("endpoint", "")))
            latest = describe_response(operation) if operation is not None else ""
        elif call != "extract":
            continue
        if latest:
            notes[name] = latest
    return notes


def describe_response(operation: Operation) -> str:
    """The description of the response and of its fields; empty if the document has none."""
    fields = list(_describe_fields(operation.response or {}))
    if not operation.response_description and not fields:
        return ""
    lines = [f"Response of {operation.name}: {operation.response_description}".rstrip(": ")]
    if fields:
        lines += ["Fields:", *fields[:MAX_FIELDS]]
    if len(fields) > MAX_FIELDS:
        lines.append(f"… ({len(fields) - MAX_FIELDS} more fields)")
    return truncation.truncate_text("\n".join(lines), MAX_NOTE_BYTES)[0]


def _describe_fields(schema: Schema) -> Iterator[str]:
    """A line per field, in document order. Breadth and depth are bounded."""
    value = schema.get("$defs")
    defs = value if isinstance(value, dict) else {}
    pending: list[tuple[str, JsonValue, int]] = [("", dict(schema), 0)]
    for _ in range(MAX_NODES):
        if not pending:
            return
        path, node, depth = pending.pop()
        if isinstance(node, dict) and isinstance(reference := node.get("$ref"), str):
            target = defs.get(reference.removeprefix("#/$defs/"))
            node = {**target, **node} if isinstance(target, dict) else node
        if not isinstance(node, dict):
            continue
        if line := _describe_field(path, node):
            yield line
        if depth < MAX_DEPTH:
            pending += reversed([(name, inner, depth + 1) for name, inner in _list_children(path, node)])


def _list_children(path: str, node: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    properties = node.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield (f"{path}.{name}" if path else name), inner
    if "items" in node:
        yield f"{path}[]", node["items"]
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts = node.get(keyword)
        for part in parts if isinstance(parts, list) else ():
            yield path, part


def _describe_field(path: str, node: Mapping[str, JsonValue]) -> str:
    kind = node.get("type")
    types = " or ".join(str(one) for one in kind) if isinstance(kind, list) else str(kind or "")
    description = " ".join(str(node.get("description") or "").split())
    values = node.get("enum")
    if isinstance(values, list) and values:
        more = ", …" if len(values) > MAX_ENUM_VALUES else ""
        listed = ", ".join(truncation.to_json(one)[:60] for one in values[:MAX_ENUM_VALUES])
        description = f"{description} (one of {listed}{more})".strip()
    if not path and not description:
        return ""
    name = f"- {path or 'the whole'}" + (f" ({types})" if types else "")
    return f"{name}: {description}" if description else name
