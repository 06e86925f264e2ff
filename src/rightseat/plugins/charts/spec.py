"""Builds the chart specification from the step's parameters; a model chooses the ones that are not set."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.types import JsonValue
from rightseat.plugins.charts.kinds import KINDS, SCALES, ChartKind
from rightseat.plugins.charts.table import ChartTable
from rightseat.plugins.definition import Step
from rightseat.plugins.expressions import templates
from rightseat.plugins.model_calls import ModelCaller, ModelRequest
from rightseat.plugins.results import StepFailed, StepUsage
from rightseat.plugins.scope import Scope

COUNT_COLUMN = "count"
"""The generated column for tables without numbers: how often each value occurs."""

NUMERIC_KINDS = [name for name, kind in KINDS.items() if kind.shape == "numbers"]
SYSTEM_PROMPT = f"""\
You choose how a table is drawn. type: {", ".join(f"{name} for {kind.purpose}" for name, kind in KINDS.items())}. \
x is the column of categories or of time (of {", ".join(NUMERIC_KINDS)}: a number), y are the columns of numbers. \
Give a short title in the language of the question. Answer with JSON."""


@dataclass(frozen=True, slots=True)
class ChartSpec:
    type: str
    x: str
    y: tuple[str, ...]
    stack: bool = False
    ring: bool = False
    scale: str = "linear"
    title: str = ""

    @property
    def kind(self) -> ChartKind:
        return KINDS[self.type]


async def build_spec(step: Step, scope: Scope, table: ChartTable, model: ModelCaller) -> tuple[ChartSpec, StepUsage]:
    """Needs at most one model call. Raises `StepFailed("render_input")` if the step names unknown columns."""
    given: dict[str, JsonValue] = {
        name: value for name, value in step.params.items() if value is not None and name in FIELDS
    }
    if len(table.kinds) == 1:
        given = {"x": next(iter(table.kinds)), "y": [COUNT_COLUMN], **given}
    elif not table.numbers:
        given = {"y": [COUNT_COLUMN], **given}
    usage = StepUsage()
    if not given.keys() >= {"type", "x", "y"}:
        chosen, usage = await choose_fields(step, scope, table, model, given)
        given = {**chosen, **given}
    return check_fields(given, table), usage


FIELDS = ("type", "x", "y", "stack", "ring", "scale", "title")


async def choose_fields(
    step: Step, scope: Scope, table: ChartTable, model: ModelCaller, given: Mapping[str, JsonValue]
) -> tuple[dict[str, JsonValue], StepUsage]:
    """Let the model choose the fields that the step does not set; invalid replies fall back to `build_fallback`."""
    wanted = build_schema(table, given)
    columns = [f"{column} ({kind})" for column, kind in table.kinds.items()]
    sample = json.dumps(list(table.rows[:5]), ensure_ascii=False)
    lines = [
        f"Question: {scope.question}",
        f"Columns: {', '.join(columns)}",
        f"{len(table.rows)} rows, of which the first are: {templates.mark_untrusted(sample, 'rows')}",
    ]
    if given:
        lines.append(f"Decided already: {json.dumps(dict(given), ensure_ascii=False)}")
    response = await model.call(
        ModelRequest(
            step.name or "on_error",
            f"{SYSTEM_PROMPT}\n\n{templates.UNTRUSTED_NOTICE}",
            "\n".join(lines),
            wanted,
            temperature=0,
        )
    )
    try:
        value = response.value()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return build_fallback(table), response.usage
    properties: Any = wanted["properties"]
    return {**build_fallback(table), **{name: one for name, one in value.items() if name in properties}}, response.usage


def build_schema(table: ChartTable, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Cover only the fields that the step does not set, and only existing columns."""
    numbers: list[JsonValue] = [*(table.numbers or [COUNT_COLUMN])]
    every: dict[str, JsonValue] = {
        "type": {"type": "string", "enum": [*KINDS]},
        "x": {"type": "string", "enum": [*table.kinds]},
        "y": {"type": "array", "items": {"type": "string", "enum": numbers}, "minItems": 1, "maxItems": 8},
        "stack": {"type": "boolean"},
        "ring": {"type": "boolean"},
        "scale": {"type": "string", "enum": [*SCALES]},
        "title": {"type": "string"},
    }
    properties: dict[str, JsonValue] = {name: one for name, one in every.items() if name not in given}
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def build_fallback(table: ChartTable) -> dict[str, JsonValue]:
    """Return fields for a model whose reply is not usable."""
    x = next((column for column, kind in table.kinds.items() if kind == "text"), next(iter(table.kinds)))
    y: list[JsonValue] = [column for column in table.numbers if column != x] or [*table.numbers[:1]]
    return {"type": "bar", "x": x, "y": y}


def check_fields(given: Mapping[str, JsonValue], table: ChartTable) -> ChartSpec:
    kind, x, scale = given.get("type"), given.get("x"), given.get("scale", "linear")
    ys = given.get("y")
    ys = [ys] if isinstance(ys, str) else ys
    if not isinstance(kind, str) or kind not in KINDS:
        raise StepFailed("render_input", f"Unknown chart type {kind!r}. Known types: {', '.join(KINDS)}.")
    if not isinstance(x, str) or x not in table.kinds:
        raise StepFailed("render_input", f"There is no column {x!r} for x. Columns: {', '.join(table.kinds)}.")
    if scale not in SCALES:
        raise StepFailed("render_input", f"Unknown scale {scale!r}. Known scales: {', '.join(SCALES)}.")
    if not isinstance(ys, list) or not ys:
        raise StepFailed(
            "render_input", f"y must name numeric columns. Numeric columns: {', '.join(table.numbers) or 'none'}."
        )
    for y in ys:
        if y not in table.numbers and not (y == COUNT_COLUMN and ys == [COUNT_COLUMN]):
            known = ", ".join(table.numbers) or "none"
            raise StepFailed("render_input", f"{y!r} is not a numeric column. Numeric columns: {known}.")
    if KINDS[kind].shape == "numbers" and table.kinds[x] != "number":
        raise StepFailed("render_input", f"A {kind} chart needs numbers for x, but {x!r} has other values.")
    title = given.get("title")
    return ChartSpec(
        kind, x, tuple(dict.fromkeys(map(str, ys))), given.get("stack") is True, given.get("ring") is True, str(scale),
        title[:200] if isinstance(title, str) else "",
    )  # fmt: skip
