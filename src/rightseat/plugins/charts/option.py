"""A drawing and a table → an option of ECharts. Only data: no functions, no HTML, no addresses.

The same few fields are read again by `svg.py`, so that a chart looks alike in a browser and as a picture.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rightseat.plugins.charts.deciding import COUNT, Drawing
from rightseat.plugins.charts.scales import SMALLEST
from rightseat.plugins.charts.table import Scalar, Table, number
from rightseat.plugins.results import StepFailed

POINTS = 1000
SLICES = 24
SERIES = 20
COLORS = ("#3366cc", "#e4761b", "#2e9e5b", "#c0392b", "#7d5ba6", "#0f9aa8", "#b8860b", "#d6609a", "#5d6d7e", "#8bb11f")

Row = dict[str, Scalar]


def build(drawing: Drawing, table: Table) -> tuple[dict[str, Any], list[str]]:
    """The option, and what was drawn otherwise than it was asked for."""
    notes: list[str] = []
    rows, names = arrange(drawing, table, notes)
    rows = fewer(drawing, rows, names, notes)
    scale = check_scale(drawing, rows, names, notes)
    option: dict[str, Any] = {
        "color": [*COLORS],
        "title": {"text": drawing.title},
        "tooltip": {"trigger": "axis" if drawing.kind.shape == "categories" else "item", "renderMode": "richText"},
        "legend": {"show": drawing.kind.shape == "slices" or len(names) > 1, "type": "scroll", "top": 28},
        "dataset": {"dimensions": [drawing.x, *names], "source": rows},
    }
    if drawing.kind.shape == "slices":
        radius = ["40%", "70%"] if drawing.ring else ["0%", "70%"]
        encode = {"itemName": drawing.x, "value": names[0]}
        return {
            **option,
            "series": [{"type": drawing.type, "name": names[0], "radius": radius, "encode": encode}],
        }, notes
    axis = {"type": "value", "scale": True} if drawing.kind.shape == "numbers" else {"type": "category"}
    value = {"type": "log"} if scale == "log" else {"type": "value"}
    named = {"name": names[0]} if len(names) == 1 else {}
    return {
        **option,
        "grid": {"containLabel": True, "top": 64},
        "xAxis": {**axis, "name": drawing.x, "nameLocation": "middle", "nameGap": 32},
        "yAxis": {**value, **named},
        "series": [series(drawing, name) for name in names],
    }, notes


def series(drawing: Drawing, name: str) -> dict[str, Any]:
    written: dict[str, Any] = {"type": drawing.type, "name": name, "encode": {"x": drawing.x, "y": name}}
    return {**written, "stack": "total"} if drawing.stack and drawing.kind.shape == "categories" else written


def arrange(drawing: Drawing, table: Table, notes: list[str]) -> tuple[list[Row], list[str]]:
    """Rows with a column for x and one for each series, whose values are numbers."""
    if drawing.y == (COUNT,) and COUNT not in table.numbers:
        counted = Counter(shown(value) for value in table.column(drawing.x))
        return [{drawing.x: value, COUNT: count} for value, count in counted.items()], [COUNT]
    names = list(drawing.y)
    if drawing.kind.shape == "slices" and len(names) > 1:
        notes.append(f"A {drawing.type} shows one column: {names[0]}.")
        names = names[:1]
    by = splitting(drawing, table, names)
    if by is not None:
        return split(drawing.x, by, names[0], table)
    if drawing.kind.shape == "numbers":
        rows = [{drawing.x: number(row.get(drawing.x)), **numbers(row, names)} for row in table.rows]
        return [row for row in rows if row[drawing.x] is not None], names
    return [{drawing.x: shown(row.get(drawing.x)), **numbers(row, names)} for row in table.rows], names


def numbers(row: Any, names: Sequence[str]) -> Row:
    return {name: number(row.get(name)) for name in names}


def shown(value: Scalar) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def splitting(drawing: Drawing, table: Table, names: list[str]) -> str | None:
    """The column whose values are the series, where rows are listed one below the other: month, region, amount."""
    if drawing.kind.shape != "categories" or len(names) != 1:
        return None
    places = [shown(value) for value in table.column(drawing.x)]
    if len(set(places)) == len(places):
        return None
    others = [name for name, kind in table.kinds.items() if kind == "text" and name not in (drawing.x, *names)]
    for other in others:
        values = [shown(value) for value in table.column(other)]
        if len(set(values)) <= SERIES and len(set(zip(places, values, strict=True))) == len(places):
            return other
    return None


def split(x: str, by: str, y: str, table: Table) -> tuple[list[Row], list[str]]:
    names = list(dict.fromkeys(label(row.get(by), x) for row in table.rows))
    rows: dict[str, Row] = {}
    for row in table.rows:
        place = shown(row.get(x))
        rows.setdefault(place, {x: place, **dict.fromkeys(names)})[label(row.get(by), x)] = number(row.get(y))
    return list(rows.values()), names


def label(value: Scalar, x: str) -> str:
    """The name of a series, which must not be that of x."""
    text = shown(value) or "–"
    return f"{text} " if text == x else text


def fewer(drawing: Drawing, rows: list[Row], names: list[str], notes: list[str]) -> list[Row]:
    """No more points than can be looked at: the smallest are summed, or the rows are thinned out evenly."""
    most = SLICES if drawing.kind.shape == "slices" else max(1, POINTS // len(names))
    if len(rows) <= most:
        return rows
    if drawing.kind.is_continuous:
        notes.append(f"{most} of {len(rows)} points are shown, evenly chosen.")
        return [rows[round(at * (len(rows) - 1) / (most - 1))] for at in range(most)]
    ranked = sorted(range(len(rows)), key=lambda at: -abs(rows[at][names[0]] or 0))  # type: ignore[arg-type]
    kept = sorted(ranked[: most - 1])
    rest = [rows[at] for at in ranked[most - 1 :]]
    notes.append(f"The {most - 1} largest are shown; the other {len(rest)} are summed as “other”.")
    total: Row = {name: sum(number(row[name]) or 0 for row in rest) for name in names}
    return [*(rows[at] for at in kept), {drawing.x: "other", **total}]


def check_scale(drawing: Drawing, rows: list[Row], names: list[str], notes: list[str]) -> str:
    values = [number(row[name]) for row in rows for name in names]
    if all(value is None for value in values):
        raise StepFailed("render_input", f"There is no number to draw in {', '.join(names)}.")
    if drawing.kind.shape == "slices" and any(value is not None and value < 0 for value in values):
        raise StepFailed("render_input", f"A {drawing.type} cannot show negative values, and {names[0]} has some.")
    if (
        drawing.scale == "log"
        and drawing.kind.shape != "slices"
        and any(value is not None and value < SMALLEST for value in values)
    ):
        notes.append("The scale is linear: a logarithmic one cannot show values of zero or less.")
        return "linear"
    return drawing.scale
