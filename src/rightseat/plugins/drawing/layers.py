"""Where boxes stand: in layers from top to bottom, as few lines crossing as a few sweeps achieve.

Every box is below those that lead to it, except where a flow goes back. An arrow over several layers, or with words on
it, has places of its own in the layers between, so that nothing is drawn over anything else.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Key = Hashable
Size = tuple[float, float]
Neighbours = Mapping[Key, tuple[list[Key], list[Key]]]
"""Those above a place and those below it that it is joined to."""

SWEEPS, MOVES = 12, 80
"""How often rows are sorted, and how often what is in them is moved."""
ACROSS, DOWN = 28.0, 26.0
"""The room between two neighbours, and between two layers."""


@dataclass(frozen=True)
class Link:
    """`label` is the size of the words on it; nothing where there are none."""

    start: str
    end: str
    label: Size | None = None


@dataclass(frozen=True)
class Laid:
    """`centers` are of the boxes, `ways` the points of each link from its start to its end, `labels` their middles."""

    centers: Mapping[str, tuple[float, float]]
    ways: Sequence[Sequence[tuple[float, float]]]
    labels: Sequence[tuple[float, float] | None]
    width: float
    height: float


def lay(sizes: Mapping[str, Size], links: Sequence[Link]) -> Laid:
    """`sizes` are the boxes, in the order in which they were written; the first is the start."""
    back = going_back(list(sizes), links)
    layer = layered(list(sizes), [turned(link, at in back) for at, link in enumerate(links)])
    every = dict[Key, Size](sizes.items())
    rows = defaultdict[int, list[Key]](list)
    for name in sorted(sizes, key=lambda name: layer[name]):
        rows[layer[name]].append(name)
    chains = [chain(at, link, at in back, layer, rows, every) for at, link in enumerate(links)]
    ordered = [rows[at] for at in sorted(rows)]
    neighbours = joined(chains)
    ordered = untangled(ordered, neighbours)
    x = placed(ordered, neighbours, every)
    tops, height = stacked(ordered, every)
    y = {key: tops[at][0] + tops[at][1] / 2 for at, row in enumerate(ordered) for key in row}
    left = min(x[key] - every[key][0] / 2 for key in every)
    right = max(x[key] + every[key][0] / 2 for key in every)
    point = {key: (x[key] - left, y[key]) for key in every}
    ends = {key: (top, top + high) for row, (top, high) in zip(ordered, tops, strict=True) for key in row}
    ways = [way(keys, point, ends)[:: -1 if at in back else 1] for at, keys in enumerate(chains)]
    labels = [point[(at, "label")] if link.label else None for at, link in enumerate(links)]
    return Laid({name: point[name] for name in sizes}, ways, labels, right - left, height)


def way(
    keys: Sequence[Key], point: Mapping[Key, tuple[float, float]], ends: Mapping[Key, tuple[float, float]]
) -> list[tuple[float, float]]:
    """The points of a link from its upper to its lower end. It goes straight down through each row between."""
    between = [(point[key][0], y) for key in keys[1:-1] for y in ends[key]]
    return [point[keys[0]], *between, point[keys[-1]]]


def turned(link: Link, is_back: bool) -> Link:
    return Link(link.end, link.start, link.label) if is_back else link


def going_back(names: Sequence[str], links: Sequence[Link]) -> set[int]:
    """The links that close a circle, seen from the start."""
    leads = defaultdict[str, list[tuple[int, str]]](list)
    for at, link in enumerate(links):
        leads[link.start].append((at, link.end))
    found, done = set[int](), set[str]()
    for first in names:
        stack, path = [(first, iter(leads[first]))] if first not in done else [], {first}
        while stack:
            name, rest = stack[-1]
            at, end = next(rest, (-1, ""))
            if at < 0:
                done.add(name)
                path.discard(name)
                stack.pop()
            elif end in path:
                found.add(at)
            elif end not in done:
                path.add(end)
                stack.append((end, iter(leads[end])))
    return found


def layered(names: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """How far each is from the top, by the longest way; words on a link need a layer of their own."""
    layer = dict.fromkeys(names, 0)
    for _ in names:
        for link in links:
            layer[link.end] = max(layer[link.end], layer[link.start] + (2 if link.label else 1))
    return layer


def chain(
    at: int, link: Link, is_back: bool, layer: Mapping[str, int], rows: dict[int, list[Key]], sizes: dict[Key, Size]
) -> list[Key]:
    """The places of a link from its upper to its lower end; new ones are put into rows. Words are at its start."""
    upper, lower = (link.end, link.start) if is_back else (link.start, link.end)
    between = range(layer[upper] + 1, layer[lower])
    first = between[-1 if is_back else 0] if between else None
    keys = list[Key]()
    for row in between:
        key = (at, "label" if link.label and row == first else row)
        sizes[key] = link.label if link.label and row == first else (0.0, 0.0)
        rows[row].append(key)
        keys.append(key)
    return [upper, *keys, lower]


def joined(chains: Sequence[Sequence[Key]]) -> Neighbours:
    found = defaultdict[Key, tuple[list[Key], list[Key]]](lambda: ([], []))
    for keys in chains:
        for upper, lower in pairwise(keys):
            found[upper][1].append(lower)
            found[lower][0].append(upper)
    return found


def untangled(rows: Sequence[list[Key]], neighbours: Neighbours) -> list[list[Key]]:
    """Each row sorted by where its neighbours stand, down and up again; the best of all tries is kept."""
    best, fewest = [list(row) for row in rows], crossings(rows, neighbours)
    now = [list(row) for row in rows]
    for sweep in range(SWEEPS):
        side = sweep % 2
        for row in now if side == 0 else now[::-1]:
            place = {key: at for other in now for at, key in enumerate(other)}
            row.sort(key=lambda key, place=place: mean([place[one] for one in neighbours[key][side]], place[key]))  # type: ignore[misc]
        count = crossings(now, neighbours)
        if count < fewest:
            best, fewest = [list(row) for row in now], count
    return best


def crossings(rows: Sequence[Sequence[Key]], neighbours: Neighbours) -> int:
    place = {key: at for row in rows for at, key in enumerate(row)}
    count = 0
    for row in rows:
        lines = [(place[key], place[lower]) for key in row for lower in neighbours[key][1]]
        count += sum((a - c) * (b - d) < 0 for at, (a, b) in enumerate(lines) for c, d in lines[:at])
    return count


def placed(
    rows: Sequence[Sequence[Key]],
    neighbours: Neighbours,
    sizes: Mapping[Key, Size],
) -> dict[Key, float]:
    """Each as near to its neighbours as those beside it allow: first to those above, then to all of them."""
    x: dict[Key, float] = {}
    for sweep in range(MOVES):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [drawn_to(key, neighbours, 1 if sweep == 0 else 2, x) for key in row]
            x |= zip(row, spread(wanted, [sizes[key][0] for key in row]), strict=True)
    return x


def drawn_to(key: Key, neighbours: Neighbours, sides: int, x: Mapping[Key, float]) -> float:
    """Where a place is drawn to by those above it, and below it where both `sides` count.

    Two that lead to each other and to nobody else draw strongly, so that what follows in a line stands in one.
    """
    near = list[tuple[float, float]]()
    for side, others in enumerate(neighbours[key][:sides]):
        for one in others:
            is_line = len(others) == 1 and len(neighbours[one][1 - side]) == 1
            near += [(x[one], 60.0 if is_line else 1.0)] if one in x else []
    return sum(place * weight for place, weight in near) / sum(w for _, w in near) if near else x.get(key, 0.0)


def spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The places next to the wanted ones at which nothing overlaps: neighbours that collide move together."""
    offsets = [0.0]
    for one, other in pairwise(widths):
        offsets.append(offsets[-1] + (one + other) / 2 + ACROSS)
    groups: list[tuple[float, int]] = []
    for value in (want - offset for want, offset in zip(wanted, offsets, strict=True)):
        groups.append((value, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (one, few), (other, more) = groups[-2:]
            groups[-2:] = [((one * few + other * more) / (few + more), few + more)]
    flat = [value for value, count in groups for _ in range(count)]
    return [value + offset for value, offset in zip(flat, offsets, strict=True)]


def stacked(rows: Sequence[Sequence[Key]], sizes: Mapping[Key, Size]) -> tuple[list[tuple[float, float]], float]:
    """The top and the height of each row, and of all."""
    tops, top = list[tuple[float, float]](), 0.0
    for row in rows:
        height = max((sizes[key][1] for key in row), default=0.0)
        tops.append((top, height))
        top += height + DOWN
    return tops, top - DOWN


def mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
