"""Flows as an SVG picture, one below the other. Nothing in it is fetched or run by who looks at it."""

from collections.abc import Sequence
from itertools import pairwise

from rightseat.plugins.charts.drawing import FONT, INK, SOFT, clean, wide
from rightseat.plugins.drawing.layers import Laid, Link, lay
from rightseat.plugins.drawing.scheme import ASKS, Arrow, Box, Scheme

MARGIN, LINE, PAD = 24.0, 17.0, 10.0
WIDEST, LABEL_WIDEST = 250.0, 190.0
LINES = 4
"""Lines of words in a box or on an arrow; all of them are in its tooltip."""
RED = "#c0392b"
FILLS = {
    "api": "#e3f0ff", "llm": "#efe8fb", "choice": "#fff4d6", "sql": "#e0f4ee", "render": "#e0f4ee",
    "extract": "#eef1f5", "none": "#eef1f5",
}  # fmt: skip
LIB = "#fde9dc"
CUT = 14.0
"""How far the corners of a choice are drawn in."""


def svg(schemes: Sequence[Scheme]) -> str:
    parts, top, width = list[str](), MARGIN, 0.0
    for one in schemes:
        drawn = Drawn(one, top)
        parts += drawn.parts
        top, width = drawn.bottom + 2 * MARGIN, max(width, drawn.right + MARGIN)
    height = top - MARGIN
    names = ", ".join(one.name for one in schemes)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{clean(names)}"'
        f' font-family="{clean(FONT)}" font-size="12">'
    )
    back = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, back, *parts, "</svg>"]) + "\n"


class Drawn:
    """One flow: its heading, its steps in a frame, and beside the frame where a failure leads."""

    def __init__(self, one: Scheme, top: float) -> None:
        self.parts: list[str] = []
        words = wrapped(one.description.replace("**", ""), 620, LINES)
        self.text(MARGIN, top + 14, one.name, INK, ' font-size="17" font-weight="600"')
        for at, line in enumerate(words):
            self.text(MARGIN, top + 36 + at * LINE, line, SOFT)
        top += 36 + len(words) * LINE
        if one.suggests:
            self.text(MARGIN, top, f"suggests next: {', '.join(one.suggests)}", SOFT)
            top += LINE
        laid = lay({box.name: size(box) for box in one.boxes}, [link(arrow) for arrow in one.arrows])
        left, frame = MARGIN + PAD * 2, top
        self.frame(MARGIN, frame, laid.width + PAD * 4, laid.height + PAD * 4)
        for place, arrow in enumerate(one.arrows):
            self.arrow(one, laid, place, arrow, left, frame + PAD * 2)
        for box in one.boxes:
            x, y = laid.centers[box.name]
            self.box(box, left + x, frame + PAD * 2 + y)
        edge, height = MARGIN + laid.width + PAD * 4, laid.height + PAD * 4
        self.failure(one.on_error, edge, frame + height / 2)
        lowest = max(frame + height, frame + height / 2 + size(one.on_error, "on_error")[1] / 2)
        self.bottom = lowest
        heading = MARGIN + max(map(wide, [*words, one.name * 2]))
        self.right = max(edge + 92 + size(one.on_error, "on_error")[0], heading)

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="10"'
        self.parts.append(f'<rect {place} fill="#fbfcfd" stroke="#d5dbe3"/>')

    def failure(self, box: Box, edge: float, y: float) -> None:
        width = size(box, "on_error")[0]
        start = edge + 84
        self.line(f"M{edge:.1f},{y:.1f} L{start - 8:.1f},{y:.1f}", RED, dashed=True)
        self.head(start, y, RED, (-9, -4.5), (-9, 4.5))
        self.text(edge + 40, y - 7, "on error", RED, ' text-anchor="middle"')
        self.box(box, start + width / 2, y, "on_error", border=RED)

    def box(self, box: Box, x: float, y: float, name: str = "", border: str = "#9aa6b5") -> None:
        width, height = size(box, name)
        left, top = x - width / 2, y - height / 2
        style = f'stroke="{RED}" stroke-width="2.5"' if box.dangerous else f'stroke="{border}"'
        fill = LIB if box.call.startswith("lib.") else FILLS.get(box.call, LIB)
        full = f"<title>{clean(' '.join(part for part in (box.call, box.text) if part))}</title>"
        if box.call == "choice":
            across = (left, left + CUT, left + width - CUT, left + width)
            corners = zip(
                (across[1], across[2], across[3], across[2], across[1], across[0]),
                (top, top, y, *[top + height] * 2, y),
                strict=True,
            )
            outline = " ".join(f"{one:.1f},{other:.1f}" for one, other in corners)
            self.parts.append(f'<polygon points="{outline}" fill="{fill}" {style}>{full}</polygon>')
        else:
            round = height / 2 if box.is_last else 6
            place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round:.1f}"'
            self.parts.append(f'<rect {place} fill="{fill}" {style}>{full}</rect>')
        for at, (line, color, more) in enumerate(lines(box, name)):
            self.text(x, top + PAD + 11 + at * LINE, line, color, f' text-anchor="middle"{more}')

    def arrow(self, one: Scheme, laid: Laid, place: int, arrow: Arrow, left: float, top: float) -> None:
        points = [(left + x, top + y) for x, y in laid.ways[place]]
        boxes = {box.name: size(box) for box in one.boxes}
        downward = points[0][1] < points[-1][1]
        side = 1 if downward else -1
        points[0] = (points[0][0], points[0][1] + side * boxes[arrow.start][1] / 2)
        end = (points[-1][0], points[-1][1] - side * boxes[arrow.end][1] / 2)
        points[-1] = (end[0], end[1] - side * 8)
        self.line(curve(points), SOFT)
        self.head(end[0], end[1], SOFT, (-4.5, -9 * side), (4.5, -9 * side))
        spot = laid.labels[place]
        if spot is not None:
            self.label(arrow, left + spot[0], top + spot[1])

    def label(self, arrow: Arrow, x: float, y: float) -> None:
        words = wrapped(arrow.label, LABEL_WIDEST, LINES)
        width, height = label_size(arrow)
        place = f'x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4"'
        full = f"<title>{clean(arrow.label)}</title>"
        self.parts.append(f'<rect {place} fill="#fbfcfd">{full}</rect>')
        font = ' font-family="ui-monospace, monospace" font-size="11"' if arrow.is_condition else ' font-style="italic"'
        for at, line in enumerate(words):
            self.text(x, y - height / 2 + 14 + at * LINE, line, SOFT, f' text-anchor="middle"{font}')

    def line(self, path: str, color: str, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"{dash}/>')

    def head(self, x: float, y: float, color: str, one: tuple[float, float], other: tuple[float, float]) -> None:
        corners = f"{x:.1f},{y:.1f} {x + one[0]:.1f},{y + one[1]:.1f} {x + other[0]:.1f},{y + other[1]:.1f}"
        self.parts.append(f'<polygon points="{corners}" fill="{color}"/>')

    def text(self, x: float, y: float, text: str, color: str, more: str = "") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}"{more}>{clean(text)}</text>')


def curve(points: Sequence[tuple[float, float]]) -> str:
    """Leaves and arrives straight from above or below."""
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        half = (y1 + y2) / 2
        path += f" C{x1:.1f},{half:.1f} {x2:.1f},{half:.1f} {x2:.1f},{y2:.1f}"
    return path


def lines(box: Box, name: str = "") -> list[tuple[str, str, str]]:
    """What a box says: each line with its color and its style."""
    found = [(name or box.name, INK, ' font-weight="600"')]
    found += [(line, SOFT, "") for line in wrapped(" ".join(filter(None, (box.call, box.text))), WIDEST, LINES)]
    return [*found, *([(ASKS, RED, ' font-weight="600"')] if box.dangerous else [])]


def size(box: Box, name: str = "") -> tuple[float, float]:
    said = lines(box, name)
    room = 3 * PAD if box.call == "choice" or box.is_last else 2 * PAD
    return max(80.0, *(wide(line) for line, _, _ in said)) + room, len(said) * LINE + 2 * PAD - 3


def label_size(arrow: Arrow) -> tuple[float, float]:
    words = wrapped(arrow.label, LABEL_WIDEST, LINES)
    return max(map(wide, words)) + 8, len(words) * LINE + 4


def link(arrow: Arrow) -> Link:
    return Link(arrow.start, arrow.end, label_size(arrow) if arrow.label else None)


def wrapped(text: str, widest: float, most: int) -> list[str]:
    """Broken at spaces, and between Chinese characters, which have none."""
    found, line = list[str](), ""
    for piece in pieces(" ".join(text.split())):
        if line and wide(line + piece.rstrip()) > widest:
            found.append(line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
    found += [line.rstrip()] if line.strip() else []
    return found if len(found) <= most else [*found[: most - 1], f"{found[most - 1]}…"]


def pieces(text: str) -> list[str]:
    found: list[str] = []
    for letter in text:
        is_joined = found and not found[-1].endswith(" ") and wide(letter) < 12 and wide(found[-1][-1]) < 12
        if is_joined or (found and letter in " ，。；：、！？）”"):
            found[-1] += letter
        else:
            found.append(letter)
    return found
