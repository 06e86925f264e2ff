"""Builds an ECharts option from a chart specification and a table: only data, no functions, HTML or URLs.

`svg.py` reads the same fields, so that a chart looks the same in a browser and as a picture.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rightseat.plugins.charts.scales import MIN_MAGNITUDE
from rightseat.plugins.charts.spec import COUNT_COLUMN, ChartSpec
from rightseat.plugins.charts.table import ChartTable, Scalar, parse_number
from rightseat.plugins.results import StepFailed

MAX_POINTS = 1000
MAX_SLICES = 24
MAX_SERIES = 20
COLORS = ("#3366cc", "#e4761b", "#2e9e5b", "#c0392b", "#7d5ba6", "#0f9aa8", "#b8860b", "#d6609a", "#5d6d7e", "#8bb11f")

ChartRow = dict[str, Scalar]


def build_option(spec: ChartSpec, table: ChartTable) -> tuple[dict[str, Any], list[str]]:
    """Return the option, and notes on what differs from the specification."""
    notes: list[str] = []
    rows, names = arrange_rows(spec, table, notes)
    rows = reduce_rows(spec, rows, names, notes)
    scale = choose_scale(spec, rows, names, notes)
    option: dict[str, Any] = {
        "color": [*COLORS],
        "title": {"text": spec.title},
        "tooltip": {"trigger": "axis" if spec.kind.shape == "categories" else "item", "renderMode": "richText"},
        "legend": {"show": spec.kind.shape == "slices" or len(names) > 1, "type": "scroll", "top": 28},
        "dataset": {"dimensions": [spec.x, *names], "source": rows},
    }
    if spec.kind.shape == "slices":
        radius = ["40%", "70%"] if spec.ring else ["0%", "70%"]
        encode = {"itemName": spec.x, "value": names[0]}
        return {
            **option,
            "series": [{"type": spec.type, "name": names[0], "radius": radius, "encode": encode}],
        }, notes
    axis = {"type": "value", "scale": True} if spec.kind.shape == "numbers" else {"type": "category"}
    value = {"type": "log"} if scale == "log" else {"type": "value"}
    named = {"name": names[0]} if len(names) == 1 else {}
    return {
        **option,
        "grid": {"containLabel": True, "top": 64},
        "xAxis": {**axis, "name": spec.x, "nameLocation": "middle", "nameGap": 32},
        "yAxis": {**value, **named},
        "series": [build_series(spec, name) for name in names],
    }, notes


def build_series(spec: ChartSpec, name: str) -> dict[str, Any]:
    written: dict[str, Any] = {"type": spec.type, "name": name, "encode": {"x": spec.x, "y": name}}
    return {**written, "stack": "total"} if spec.stack and spec.kind.shape == "categories" else written


def arrange_rows(spec: ChartSpec, table: ChartTable, notes: list[str]) -> tuple[list[ChartRow], list[str]]:
    """Return rows with a column for x and a numeric column per series, and the names of the series."""
    if spec.y == (COUNT_COLUMN,) and COUNT_COLUMN not in table.numbers:
        counted = Counter(format_label(value) for value in table.column(spec.x))
        return [{spec.x: value, COUNT_COLUMN: count} for value, count in counted.items()], [COUNT_COLUMN]
    names = list(spec.y)
    if spec.kind.shape == "slices" and len(names) > 1:
        notes.append(f"A {spec.type} chart shows only one column: {names[0]}.")
        names = names[:1]
    by = find_series_column(spec, table, names)
    if by is not None:
        return split_series(spec.x, by, names[0], table)
    if spec.kind.shape == "numbers":
        rows = [{spec.x: parse_number(row.get(spec.x)), **read_numbers(row, names)} for row in table.rows]
        return [row for row in rows if row[spec.x] is not None], names
    return [{spec.x: format_label(row.get(spec.x)), **read_numbers(row, names)} for row in table.rows], names


def read_numbers(row: Any, names: Sequence[str]) -> ChartRow:
    return {name: parse_number(row.get(name)) for name in names}


def format_label(value: Scalar) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def find_series_column(spec: ChartSpec, table: ChartTable, names: list[str]) -> str | None:
    """Find the column whose values are the series, in a long table such as month, region, amount."""
    if spec.kind.shape != "categories" or len(names) != 1:
        return None
    places = [format_label(value) for value in table.column(spec.x)]
    if len(set(places)) == len(places):
        return None
    others = [name for name, kind in table.kinds.items() if kind == "text" and name not in (spec.x, *names)]
    for other in others:
        values = [format_label(value) for value in table.column(other)]
        if len(set(values)) <= MAX_SERIES and len(set(zip(places, values, strict=True))) == len(places):
            return other
    return None


def split_series(x: str, by: str, y: str, table: ChartTable) -> tuple[list[ChartRow], list[str]]:
    names = list(dict.fromkeys(name_series(row.get(by), x) for row in table.rows))
    rows: dict[str, ChartRow] = {}
    for row in table.rows:
        place = format_label(row.get(x))
        rows.setdefault(place, {x: place, **dict.fromkeys(names)})[name_series(row.get(by), x)] = parse_number(
            row.get(y)
        )
    return list(rows.values()), names


def name_series(value: Scalar, x: str) -> str:
    """Return the name of a series, which must differ from that of x."""
    text = format_label(value) or "–"
    return f"{text} " if text == x else text


def reduce_rows(spec: ChartSpec, rows: list[ChartRow], names: list[str], notes: list[str]) -> list[ChartRow]:
    """Limit the number of points: sum the smallest ones, or sample the rows evenly."""
    most = MAX_SLICES if spec.kind.shape == "slices" else max(1, MAX_POINTS // len(names))
    if len(rows) <= most:
        return rows
    if spec.kind.is_continuous:
        notes.append(f"{most} of {len(rows)} points are shown, sampled evenly.")
        return [rows[round(at * (len(rows) - 1) / (most - 1))] for at in range(most)]
    ranked = sorted(range(len(rows)), key=lambda at: -abs(rows[at][names[0]] or 0))  # type: ignore[arg-type]
    kept = sorted(ranked[: most - 1])
    rest = [rows[at] for at in ranked[most - 1 :]]
    notes.append(f"The {most - 1} largest are shown; the other {len(rest)} are summed as “other”.")
    total: ChartRow = {name: sum(parse_number(row[name]) or 0 for row in rest) for name in names}
    return [*(rows[at] for at in kept), {spec.x: "other", **total}]


def choose_scale(spec: ChartSpec, rows: list[ChartRow], names: list[str], notes: list[str]) -> str:
    values = [parse_number(row[name]) for row in rows for name in names]
    if all(value is None for value in values):
        raise StepFailed("render_input", f"{', '.join(names)} has no numbers to draw.")
    if spec.kind.shape == "slices" and any(value is not None and value < 0 for value in values):
        raise StepFailed("render_input", f"A {spec.type} cannot show negative values, and {names[0]} has some.")
    if (
        spec.scale == "log"
        and spec.kind.shape != "slices"
        and any(value is not None and value < MIN_MAGNITUDE for value in values)
    ):
        notes.append("The scale is linear: a logarithmic one cannot show values of zero or less.")
        return "linear"
    return spec.scale
