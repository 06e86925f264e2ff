"""Checks `params` of a step, by the call that it is for."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.parts import hint
from rightseat.plugins import conditions, paths
from rightseat.plugins.charts.kinds import KINDS, SCALES
from rightseat.plugins.definition import Database, Operation, find_operation
from rightseat.plugins.loading import placeholders
from rightseat.plugins.loading.fields import Fields, kind
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.wire.json_schema import check_schema

KNOWN: dict[str, tuple[str, ...]] = {
    "api": ("endpoint", "raw"),
    "llm": ("system_prompt", "user_prompt", "temperature", "max_tokens", "output_schema", "model", "raw"),
    "choice": ("instruction", "choices", "votes", "default", "raw"),
    "sql": ("database", "max_rows", "timeout", "raw"),
    "render": ("type", "x", "y", "stack", "ring", "scale", "title", "raw"),
    "extract": ("keys", "missing"),
    "none": (),
}
CHOICES = (2, 20)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step can refer to. `lib_words` are the words that a tool of `lib` could be named by."""

    operations: Mapping[str, Operation] = field(default_factory=dict)
    databases: Mapping[str, Database] = field(default_factory=dict)
    lib_words: Collection[str] = ()
    steps: Collection[str] = ()
    is_on_error: bool = False


def check(
    step: Node,
    name: str,
    call: str,
    params: Node | None,
    args: Node | None,
    around: Surroundings,
    notes: Notes,
    *,
    is_lib: bool,
) -> None:
    node = params or Node(step.source, (*step.path, "params"), {})
    fields = Fields(node, notes, "E407")
    if not is_lib:
        fields.refuse_others("W303", KNOWN[call], f"parameter of {call}")
        fields.flag("raw")
        if call in _CHECKS:
            _CHECKS[call](fields, name, around, notes)
    texts = [] if call == "choice" else list(_texts(params)) if params and (is_lib or call == "llm") else []
    for text in (*texts, *(_texts(args) if args else ())):
        placeholders.check(text, around.steps, notes, is_on_error=around.is_on_error)


def _check_api(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    endpoint = fields.text("endpoint", required=True)
    node = fields.node.get("endpoint")
    if not endpoint or node is None or find_operation(endpoint, around.operations):
        return
    known = [*around.operations, *(one.id for one in around.operations.values() if one.id)]
    said = f"there is no operation {endpoint!r}.{hint(' '.join(endpoint.split()), known)}"
    notes.add("E401", node, said, "METHOD /path as in openapi.yaml, or an operationId")


def _check_llm(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    for key in ("system_prompt", "user_prompt", "model"):
        fields.text(key)
    fields.number("temperature", 0, 2)
    fields.number("max_tokens", 1, 1_000_000, whole=True)
    schema = fields.mapping("output_schema")
    if schema is not None:
        try:
            check_schema(schema.value)
        except (ValueError, RecursionError) as error:
            said = getattr(error, "message", str(error))
            fields.wrong(schema, f"`output_schema` is no JSON Schema: {said[:300]}.")


def _check_choice(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    fields.text("instruction", required=True)
    fields.choice("votes", (1, 3, 5))
    choices = fields.sequence("choices", required=True)
    low, high = CHOICES
    if choices is not None and not low <= len(choices.value) <= high:
        fields.wrong(choices, f"there are {len(choices.value)} choices; {low} to {high} are allowed.")
    for node in choices.elements() if choices else ():
        if not isinstance(node.value, dict):
            fields.wrong(node, f"a choice should be a mapping, not {kind(node.value)}.")
            continue
        inner = Fields(node, notes, "E407")
        inner.refuse_others("W303", ("step", "description", "when"))
        inner.text("description", required=True)
        _check_target(inner, "step", name, around, notes, required=True)
        if when := inner.text("when"):
            try:
                conditions.parse(when)
            except conditions.BadCondition as error:
                notes.add("E408", node.get("when") or node, f"the condition cannot be read: {error}")
    _check_target(fields, "default", name, around, notes)


def _check_target(
    fields: Fields, key: str, name: str, around: Surroundings, notes: Notes, *, required: bool = False
) -> None:
    step = fields.text(key, required=required)
    node = fields.node.get(key)
    if not step or node is None:
        return
    if step == name:
        notes.add("E404", node, f"the choice leads to itself, {step!r}.")
    elif step not in around.steps:
        notes.add("E403", node, f"the choice leads to {step!r}, which is no step.{hint(step, around.steps)}")


def _check_extract(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    keys = fields.node.get("keys")
    if keys is None or not isinstance(keys.value, list) or not keys.value:
        notes.add("E406", keys or fields.node, "`extract` needs `keys`, a list with at least one path.")
    for node in keys.elements() if keys else ():
        try:
            paths.parse(str(node.value))
        except paths.BadPath as error:
            notes.add("E409", node, f"the path {str(node.value)[:100]!r} cannot be read: {error}")
    missing = fields.node.get("missing")
    if missing is not None and missing.value not in (None, "null", "skip", "error"):
        fields.wrong(missing, "`missing` should be one of: null, skip, error.")


def _check_sql(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    """Without databases of its own a plugin has the one that the operator binds to it, which is not known here."""
    database = fields.text("database")
    fields.number("max_rows", 1, 100_000, whole=True)
    fields.number("timeout", 0.001, 3600)
    if database and database not in around.databases:
        node = fields.node.get("database") or fields.node
        notes.add("E601", node, f"plugin.json has no database {database!r}.{hint(database, around.databases)}")
    elif not database and len(around.databases) > 1:
        known = ", ".join(around.databases)
        notes.add("E601", fields.node, "`database` is missing, and there are several.", f"one of: {known}")


def _check_render(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    fields.choice("type", tuple(KINDS))
    fields.choice("scale", SCALES)
    fields.text("x")
    fields.texts("y", or_one=True)
    fields.text("title")


_CHECKS: dict[str, Callable[[Fields, str, Surroundings, Notes], None]] = {
    "api": _check_api,
    "llm": _check_llm,
    "choice": _check_choice,
    "extract": _check_extract,
    "sql": _check_sql,
    "render": _check_render,
}


def _texts(node: Node) -> Iterator[Node]:
    """Every text inside, except in a schema, which is no template."""
    if isinstance(node.value, str):
        yield node
    children: list[tuple[Any, Node]] = [*node.items(), *((None, one) for one in node.elements())]
    for key, child in children:
        if key != "output_schema":
            yield from _texts(child)
