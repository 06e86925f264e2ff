"""Renders an ECharts option as SVG without a browser, with one method per mark of `kinds.py`."""

from collections.abc import Mapping
from itertools import accumulate
from math import cos, pi, sin
from typing import Any

from rightseat.plugins.charts import svg_primitives
from rightseat.plugins.charts.echarts import COLORS
from rightseat.plugins.charts.kinds import KINDS
from rightseat.plugins.charts.scales import Scale, build_linear_scale, build_log_scale, format_number
from rightseat.plugins.charts.svg_primitives import Canvas, Plot
from rightseat.plugins.charts.table import parse_number

WIDTH, HEIGHT = 800, 480
MARGIN = 24
MAX_DOTTED_POINTS = 40  # a line with more points is drawn without dots


def render_svg(option: Mapping[str, Any]) -> str:
    """Raises `ValueError` if `echarts.build_option` did not build the option."""
    try:
        chart = SvgChart(option)
        canvas = Canvas(WIDTH, HEIGHT, chart.title or ", ".join(chart.names))
        chart.draw(canvas)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"This option is not a chart of a plugin: {error!r}.") from None
    return canvas.to_svg()


class SvgChart:
    def __init__(self, option: Mapping[str, Any]) -> None:
        self.option = option
        self.title = str(option.get("title", {}).get("text", ""))
        self.series: list[Mapping[str, Any]] = option["series"]
        self.names = [str(one["name"]) for one in self.series]
        self.kind = KINDS[str(self.series[0]["type"])]
        self.rows: list[Mapping[str, Any]] = option["dataset"]["source"]
        self.x = str(option["dataset"]["dimensions"][0])
        self.is_stacked = bool(self.series[0].get("stack"))

    def draw(self, canvas: Canvas) -> None:
        top = canvas.heading(self.title, MARGIN)
        if self.kind.mark == "slices":
            self.pie(canvas, top)
            return
        if len(self.names) > 1:
            top = canvas.legend(self.names, COLORS, MARGIN, top)
        plot = self.axes(canvas, top)
        {"bars": self.bars, "lines": self.lines, "dots": self.dots}[self.kind.mark](canvas, plot)
        canvas.line(plot.left, plot.base, plot.right, plot.base, svg_primitives.AXIS_COLOR)

    def values(self, name: str) -> list[float | None]:
        return [parse_number(row.get(name)) for row in self.rows]

    def layers(self) -> list[list[tuple[float, float] | None]]:
        """Return each series as (start, end) pairs; a stacked value starts at the end of the one below."""
        above, below = [0.0] * len(self.rows), [0.0] * len(self.rows)
        layers: list[list[tuple[float, float] | None]] = []
        for name in self.names:
            layer: list[tuple[float, float] | None] = []
            for at, value in enumerate(self.values(name)):
                if value is None:
                    layer.append(None)
                    continue
                ends = above if value >= 0 else below
                start = ends[at] if self.is_stacked else 0.0
                layer.append((start, start + value))
                ends[at] = start + value
            layers.append(layer)
        return layers

    def axes(self, canvas: Canvas, top: float) -> Plot:
        ends = [end for layer in self.layers() for pair in layer if pair for end in pair[1:]]
        is_log = self.option["yAxis"]["type"] == "log"
        scale = (
            build_log_scale(ends)
            if is_log
            else build_linear_scale(ends, with_zero=not self.kind.is_continuous or self.is_stacked)
        )
        across: Scale | None = None
        if self.kind.shape == "numbers":
            across = build_linear_scale([x for x in self.values(self.x) if x is not None], with_zero=False, max_ticks=8)
        labels = (
            [format_number(tick) for tick in across.ticks] if across else [str(row.get(self.x)) for row in self.rows]
        )
        name = self.names[0] if len(self.names) == 1 else ""
        return canvas.axes(top, MARGIN, scale, across, labels, self.x, name, is_sequence=self.kind.is_continuous)

    def bars(self, canvas: Canvas, plot: Plot) -> None:
        groups = 1 if self.is_stacked else len(self.names)
        room = plot.step * 0.72
        width = min(room / groups, 64)
        for place, (name, layer) in enumerate(zip(self.names, self.layers(), strict=True)):
            shift = 0 if self.is_stacked else place
            for at, pair in enumerate(layer):
                if pair is None:
                    continue
                start = plot.y(max(pair[0], plot.scale.low)) if pair[0] else plot.base
                end = plot.y(pair[1])
                left = plot.middle(at) - width * groups / 2 + width * shift
                gap = min(1.0, width * 0.08)
                label = f"{self.rows[at].get(self.x)}, {name}: {format_number(pair[1] - pair[0])}"
                canvas.box(left + gap, min(start, end), width - 2 * gap, abs(start - end), get_color(place), label)

    def lines(self, canvas: Canvas, plot: Plot) -> None:
        for place, layer in enumerate(self.layers()):
            pieces: list[list[tuple[float, float]]] = [[]]
            for at, pair in enumerate(layer):
                if pair is None:
                    pieces.append([])
                else:
                    pieces[-1].append((plot.middle(at), plot.y(pair[1])))
            for piece in pieces:
                canvas.path(piece, get_color(place))
                if len(self.rows) <= MAX_DOTTED_POINTS or len(piece) == 1:
                    for x, y in piece:
                        canvas.dot(x, y, 3, get_color(place))

    def dots(self, canvas: Canvas, plot: Plot) -> None:
        across = self.values(self.x)
        for place, name in enumerate(self.names):
            for x, y in zip(across, self.values(name), strict=True):
                if x is not None and y is not None:
                    canvas.dot(plot.x(x), plot.y(y), 4, get_color(place), 0.7)

    def pie(self, canvas: Canvas, top: float) -> None:
        values = [max(value or 0, 0) for value in self.values(self.names[0])]
        total = sum(values) or 1
        shares = [value / total for value in values]
        radius = (HEIGHT - top - MARGIN) / 2
        middle = (MARGIN + radius + 40, top + radius)
        inner = radius * 0.57 if str(self.series[0]["radius"][0]) != "0%" else 0
        for place, (start, share) in enumerate(zip([0.0, *accumulate(shares)], shares, strict=False)):
            if share:
                canvas.shape(build_slice_path(middle, radius, inner, start, share), get_color(place))
        labels = [
            f"{row.get(self.x)}  {format_number(value)}  ({share:.1%})"
            for row, value, share in zip(self.rows, values, shares, strict=True)
        ]
        canvas.listing(labels, COLORS, middle[0] + radius + 48, middle[1], HEIGHT - top - MARGIN)


def get_color(place: int) -> str:
    return COLORS[place % len(COLORS)]


def build_slice_path(middle: tuple[float, float], radius: float, inner: float, start: float, share: float) -> str:
    """Return an SVG path. A full circle is drawn as almost full, because an arc with equal ends draws nothing."""
    share = min(share, 0.99999)
    turns = [2 * pi * start - pi / 2, 2 * pi * (start + share) - pi / 2]
    large = int(share > 0.5)

    def at(distance: float, turn: float) -> str:
        return f"{middle[0] + distance * cos(turn):.2f} {middle[1] + distance * sin(turn):.2f}"

    outer = f"M{at(radius, turns[0])} A{radius:.2f} {radius:.2f} 0 {large} 1 {at(radius, turns[1])}"
    if not inner:
        return f"{outer} L{middle[0]:.2f} {middle[1]:.2f} Z"
    return f"{outer} L{at(inner, turns[1])} A{inner:.2f} {inner:.2f} 0 {large} 0 {at(inner, turns[0])} Z"
