"""What is drawn: as the step says, and where it says nothing, as a model chooses among what there is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.values import JsonValue
from rightseat.plugins import templates
from rightseat.plugins.charts.kinds import KINDS, SCALES, ChartKind
from rightseat.plugins.charts.table import Table
from rightseat.plugins.definition import Step
from rightseat.plugins.results import StepFailed, Usage
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Speaker, Wanted

COUNT = "count"
"""The column that is made where there is nothing to draw but how often a value comes."""

NUMERIC = [name for name, kind in KINDS.items() if kind.shape == "numbers"]
SYSTEM = f"""\
You choose how a table is drawn. type: {", ".join(f"{name} for {kind.purpose}" for name, kind in KINDS.items())}. \
x is the column of categories or of time (of {", ".join(NUMERIC)}: a number), y are the columns of numbers. \
Give a short title in the language of the question. Answer with JSON."""


@dataclass(frozen=True, slots=True)
class Drawing:
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


async def decide(step: Step, scene: Scene, table: Table, speaker: Speaker) -> tuple[Drawing, Usage]:
    """With one call of a model at most. Raises `StepFailed("render_input")`: the step names what is not there."""
    given: dict[str, JsonValue] = {
        name: value for name, value in step.params.items() if value is not None and name in FIELDS
    }
    if len(table.kinds) == 1:
        given = {"x": next(iter(table.kinds)), "y": [COUNT], **given}
    elif not table.numbers:
        given = {"y": [COUNT], **given}
    usage = Usage()
    if not given.keys() >= {"type", "x", "y"}:
        chosen, usage = await choose(step, scene, table, speaker, given)
        given = {**chosen, **given}
    return check(given, table), usage


FIELDS = ("type", "x", "y", "stack", "ring", "scale", "title")


async def choose(
    step: Step, scene: Scene, table: Table, speaker: Speaker, given: Mapping[str, JsonValue]
) -> tuple[dict[str, JsonValue], Usage]:
    """What the model says of the fields that are not given. What it says wrong is left to `check`'s defaults."""
    wanted = schema(table, given)
    columns = [f"{column} ({kind})" for column, kind in table.kinds.items()]
    sample = json.dumps(list(table.rows[:5]), ensure_ascii=False)
    lines = [
        f"Question: {scene.question}",
        f"Columns: {', '.join(columns)}",
        f"{len(table.rows)} rows, of which the first are: {templates.wrapped(sample, 'rows')}",
    ]
    if given:
        lines.append(f"Decided already: {json.dumps(dict(given), ensure_ascii=False)}")
    said = await speaker.say(
        Wanted(step.name or "on_error", f"{SYSTEM}\n\n{templates.UNTRUSTED}", "\n".join(lines), wanted, temperature=0)
    )
    try:
        value = said.value()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return fallback(table), said.usage
    properties: Any = wanted["properties"]
    return {**fallback(table), **{name: one for name, one in value.items() if name in properties}}, said.usage


def schema(table: Table, given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Only what is not given, and only columns that exist."""
    numbers: list[JsonValue] = [*(table.numbers or [COUNT])]
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


def fallback(table: Table) -> dict[str, JsonValue]:
    """A model that cannot be held to a schema still gets its chart."""
    x = next((column for column, kind in table.kinds.items() if kind == "text"), next(iter(table.kinds)))
    y: list[JsonValue] = [column for column in table.numbers if column != x] or [*table.numbers[:1]]
    return {"type": "bar", "x": x, "y": y}


def check(given: Mapping[str, JsonValue], table: Table) -> Drawing:
    kind, x, scale = given.get("type"), given.get("x"), given.get("scale", "linear")
    ys = given.get("y")
    ys = [ys] if isinstance(ys, str) else ys
    if not isinstance(kind, str) or kind not in KINDS:
        raise StepFailed("render_input", f"A chart cannot be of the type {kind!r}. It can be: {', '.join(KINDS)}.")
    if not isinstance(x, str) or x not in table.kinds:
        raise StepFailed("render_input", f"There is no column {x!r} for x. There are: {', '.join(table.kinds)}.")
    if scale not in SCALES:
        raise StepFailed("render_input", f"A scale cannot be {scale!r}. It can be: {', '.join(SCALES)}.")
    if not isinstance(ys, list) or not ys:
        raise StepFailed("render_input", f"y must name columns of numbers: {', '.join(table.numbers) or 'none'}.")
    for y in ys:
        if y not in table.numbers and not (y == COUNT and ys == [COUNT]):
            known = ", ".join(table.numbers) or "none"
            raise StepFailed("render_input", f"{y!r} is no column of numbers. Columns of numbers: {known}.")
    if KINDS[kind].shape == "numbers" and table.kinds[x] != "number":
        raise StepFailed("render_input", f"A {kind} chart needs numbers for x, and {x!r} has other values.")
    title = given.get("title")
    return Drawing(
        kind, x, tuple(dict.fromkeys(map(str, ys))), given.get("stack") is True, given.get("ring") is True, str(scale),
        title[:200] if isinstance(title, str) else "",
    )  # fmt: skip
