"""Lines, boxes and words of a chart, written as SVG."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

from rightseat.core.text import one_line, truncate
from rightseat.plugins.charts.scales import Scale, written

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
INK, SOFT, AXIS, GRID = "#1f2933", "#5f6b7a", "#8a94a3", "#e5e9ef"
SIZE = 12
LINE = 18
LONGEST = 24  # characters of a label
SLANTED = 18  # characters of one that is slanted
SLANT = 0.71  # of its length: how far it reaches down and to the left

_UNWRITABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Plot:
    """Where the marks of a chart stand."""

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
        """Where zero is, or the bottom where there is none."""
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

    def written(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{clean(self._label)}"'
            f' font-family="{escape(FONT)}" font-size="{SIZE}">'
        )
        back = f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>'
        return "\n".join([head, back, *self._parts, "</svg>"]) + "\n"

    # Marks.

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str) -> None:
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"/>')

    def box(self, x: float, y: float, width: float, height: float, color: str, label: str = "") -> None:
        title = f"<title>{clean(label)}</title>" if label else ""
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

    def text(self, x: float, y: float, text: str, color: str = SOFT, anchor: str = "start", more: str = "") -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"'
        self._parts.append(f"<text {place}{more}>{clean(text)}</text>")

    # Words around the marks. What takes room from above gives back where the rest begins.

    def heading(self, title: str, margin: float) -> float:
        if not title:
            return margin
        self.text(margin, margin + 14, shortened(title, 70), INK, more=' font-size="18" font-weight="600"')
        return margin + 36

    def legend(self, names: Sequence[str], colors: Sequence[str], margin: float, top: float) -> float:
        x, y = margin, top
        for place, name in enumerate(names):
            label = shortened(name)
            width = wide(label) + 36
            if x + width > self.width - margin and x > margin:
                x, y = margin, y + LINE
            self.box(x, y, 12, 12, colors[place % len(colors)])
            self.text(x + 18, y + 10.5, label, INK)
            x += width
        return y + LINE + 8

    def listing(self, labels: Sequence[str], colors: Sequence[str], x: float, middle: float, room: float) -> None:
        """Beside a pie: one below the other."""
        step = min(LINE + 4, room / max(1, len(labels)))
        y = middle - step * len(labels) / 2 + step / 2
        for place, label in enumerate(labels):
            self.box(x, y - 6, 12, 12, colors[place % len(colors)])
            self.text(x + 20, y + 4.5, shortened(label, 44), INK)
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
        is_course: bool = False,
    ) -> Plot:
        """`is_course` says that the labels follow from each other: some may be left out rather than slanted."""
        if y_name:
            self.text(margin, top + 10, shortened(y_name, 60))
            top += LINE + 4
        ticks = [written(tick) for tick in scale.ticks]
        left, right = margin + max(map(wide, ticks)) + 10, self.width - margin
        shown = [shortened(label) for label in labels]
        step = (right - left) / max(1, len(shown))
        widest = max(map(wide, shown), default=0)
        is_slanted = across is None and not is_course and widest + 6 > step and len(shown) > 1
        if is_slanted:
            shown = [shortened(label, SLANTED) for label in labels]
            widest = max(map(wide, shown))
            left = max(left, widest * SLANT - step / 2 + 12)
        depth = widest * SLANT + 16 if is_slanted else LINE
        plot = Plot(left, right, top + 6, self.height - margin - LINE - depth, scale, across, len(shown))
        for tick, text in zip(scale.ticks, ticks, strict=True):
            self.line(left, plot.y(tick), right, plot.y(tick), GRID)
            self.text(left - 8, plot.y(tick) + 4, text, anchor="end")
        if across is not None:
            for tick, text in zip(across.ticks, shown, strict=True):
                self.line(plot.x(tick), plot.bottom, plot.x(tick), plot.bottom + 4, AXIS)
                self.text(plot.x(tick), plot.bottom + 18, text, anchor="middle")
        else:
            self._below(plot, shown, is_slanted, 16 if is_slanted else widest + 14 if is_course else 0)
        self.text((left + right) / 2, self.height - margin + 4, shortened(x_name, 60), anchor="middle")
        return plot

    def _below(self, plot: Plot, labels: Sequence[str], is_slanted: bool, room: float) -> None:
        """The names of categories; where each needs more room than there is, every second, every third …"""
        every = max(1, ceil(room / plot.step))
        for at, label in list(enumerate(labels))[::every]:
            x, y = plot.middle(at), plot.bottom + 16
            if is_slanted:
                self.text(x + 4, y, label, anchor="end", more=f' transform="rotate(-45 {x + 4:.1f} {y:.1f})"')
            else:
                self.text(x, y + 2, label, anchor="middle")


def clean(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text))


def shortened(text: str, most: int = LONGEST) -> str:
    return truncate(one_line(text), most)


def wide(text: str) -> float:
    """About as many pixels as a line of it takes: a Chinese character is as wide as it is high."""
    return SIZE * sum(1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.6 for letter in text)
