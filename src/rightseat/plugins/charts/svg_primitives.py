"""Draws lines, boxes, labels and axes of a chart as SVG elements."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

from rightseat.plugins.charts.scales import Scale, format_number
from rightseat.text import one_line, truncate

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
TEXT_COLOR, LABEL_COLOR, AXIS_COLOR, GRID_COLOR = "#1f2933", "#5f6b7a", "#8a94a3", "#e5e9ef"
FONT_SIZE = 12
LINE_HEIGHT = 18
MAX_LABEL_CHARS = 24
MAX_SLANTED_LABEL_CHARS = 18
SLANTED_REACH = 0.71  # how far a slanted label reaches down and left, as a share of its length

_INVALID_XML_CHARACTER = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Plot:
    """The plot area and its scales: converts values to coordinates."""

    left: float
    right: float
    top: float
    bottom: float
    scale: Scale
    across: Scale | None
    count: int

    @property
    def step(self) -> float:
        return (self.right - self.left) / max(1, self.count)

    @property
    def base(self) -> float:
        """Return the y coordinate of zero, or of the bottom if zero is not on the scale."""
        has_zero = not self.scale.is_log and self.scale.low <= 0 <= self.scale.high
        return self.y(0) if has_zero else self.bottom

    def middle(self, at: int) -> float:
        return self.left + self.step * (at + 0.5)

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * (self.across.place(value) if self.across else 0)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.scale.place(value)


class Canvas:
    def __init__(self, width: int, height: int, label: str) -> None:
        self.width, self.height = width, height
        self._label = label
        self._parts: list[str] = []

    def to_svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape_text(self._label)}"'
            f' font-family="{escape(FONT)}" font-size="{FONT_SIZE}">'
        )
        back = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        return "\n".join([head, back, *self._parts, "</svg>"]) + "\n"

    # Marks.

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str) -> None:
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>')

    def box(self, x: float, y: float, width: float, height: float, color: str, label: str = "") -> None:
        title = f"<title>{escape_text(label)}</title>" if label else ""
        size = f'width="{max(width, 0.5):.1f}" height="{max(height, 0.5):.1f}"'
        self._parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{color}">{title}</rect>')

    def dot(self, x: float, y: float, radius: float, color: str, opacity: float = 1) -> None:
        faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"{faint}/>')

    def path(self, pairs: Sequence[tuple[float, float]], color: str) -> None:
        if len(pairs) > 1:
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
            style = f'fill="none" stroke="{color}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"'
            self._parts.append(f'<polyline points="{joined}" {style}/>')

    def shape(self, path: str, color: str) -> None:
        self._parts.append(f'<path d="{path}" fill="{color}" stroke="#ffffff" stroke-width="1.5"/>')

    def text(
        self, x: float, y: float, text: str, color: str = LABEL_COLOR, anchor: str = "start", more: str = ""
    ) -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"'
        self._parts.append(f"<text {place}{more}>{escape_text(text)}</text>")

    # Text around the marks. A method that takes space from the top returns where the rest begins.

    def heading(self, title: str, margin: float) -> float:
        if not title:
            return margin
        self.text(margin, margin + 14, shorten_label(title, 70), TEXT_COLOR, more=' font-size="18" font-weight="600"')
        return margin + 36

    def legend(self, names: Sequence[str], colors: Sequence[str], margin: float, top: float) -> float:
        x, y = margin, top
        for place, name in enumerate(names):
            label = shorten_label(name)
            width = estimate_width(label) + 36
            if x + width > self.width - margin and x > margin:
                x, y = margin, y + LINE_HEIGHT
            self.box(x, y, 12, 12, colors[place % len(colors)])
            self.text(x + 18, y + 10.5, label, TEXT_COLOR)
            x += width
        return y + LINE_HEIGHT + 8

    def listing(self, labels: Sequence[str], colors: Sequence[str], x: float, middle: float, room: float) -> None:
        """Draw a vertical legend next to a pie."""
        step = min(LINE_HEIGHT + 4, room / max(1, len(labels)))
        y = middle - step * len(labels) / 2 + step / 2
        for place, label in enumerate(labels):
            self.box(x, y - 6, 12, 12, colors[place % len(colors)])
            self.text(x + 20, y + 4.5, shorten_label(label, 44), TEXT_COLOR)
            y += step

    def axes(
        self,
        top: float,
        margin: float,
        scale: Scale,
        across: Scale | None,
        labels: Sequence[str],
        x_name: str,
        y_name: str,
        is_sequence: bool = False,
    ) -> Plot:
        """`is_sequence`: the labels are in a natural order, so that some may be left out instead of slanted."""
        if y_name:
            self.text(margin, top + 10, shorten_label(y_name, 60))
            top += LINE_HEIGHT + 4
        ticks = [format_number(tick) for tick in scale.ticks]
        left, right = margin + max(map(estimate_width, ticks)) + 10, self.width - margin
        shown = [shorten_label(label) for label in labels]
        step = (right - left) / max(1, len(shown))
        widest = max(map(estimate_width, shown), default=0)
        is_slanted = across is None and not is_sequence and widest + 6 > step and len(shown) > 1
        if is_slanted:
            shown = [shorten_label(label, MAX_SLANTED_LABEL_CHARS) for label in labels]
            widest = max(map(estimate_width, shown))
            left = max(left, widest * SLANTED_REACH - step / 2 + 12)
        depth = widest * SLANTED_REACH + 16 if is_slanted else LINE_HEIGHT
        plot = Plot(left, right, top + 6, self.height - margin - LINE_HEIGHT - depth, scale, across, len(shown))
        for tick, text in zip(scale.ticks, ticks, strict=True):
            self.line(left, plot.y(tick), right, plot.y(tick), GRID_COLOR)
            self.text(left - 8, plot.y(tick) + 4, text, anchor="end")
        if across is not None:
            for tick, text in zip(across.ticks, shown, strict=True):
                self.line(plot.x(tick), plot.bottom, plot.x(tick), plot.bottom + 4, AXIS_COLOR)
                self.text(plot.x(tick), plot.bottom + 18, text, anchor="middle")
        else:
            self._below(plot, shown, is_slanted, 16 if is_slanted else widest + 14 if is_sequence else 0)
        self.text((left + right) / 2, self.height - margin + 4, shorten_label(x_name, 60), anchor="middle")
        return plot

    def _below(self, plot: Plot, labels: Sequence[str], is_slanted: bool, room: float) -> None:
        """Draw the category names; if they do not fit, only every second, every third …"""
        every = max(1, ceil(room / plot.step))
        for at, label in list(enumerate(labels))[::every]:
            x, y = plot.middle(at), plot.bottom + 16
            if is_slanted:
                self.text(x + 4, y, label, anchor="end", more=f' transform="rotate(-45 {x + 4:.1f} {y:.1f})"')
            else:
                self.text(x, y + 2, label, anchor="middle")


def escape_text(text: str) -> str:
    return escape(_INVALID_XML_CHARACTER.sub("\ufffd", text))


def shorten_label(text: str, most: int = MAX_LABEL_CHARS) -> str:
    return truncate(one_line(text), most)


def estimate_width(text: str) -> float:
    """Estimate the width in pixels; a Chinese character is as wide as it is high."""
    return FONT_SIZE * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.6 for letter in text)
