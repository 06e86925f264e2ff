"""plots.py FILE [FOLDER]: draws the growth in a --json file of the suite as SVG pictures, one for each part and store.

Run it with the project's interpreter: .venv/bin/python tests/acceptance/scale/plots.py scale.json
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rightseat.plugins.charts import render_svg

REQUESTS = ("list", "page", "search", "load", "stream", "approvals", "run", "continue", "delete")
"""What is drawn of `growth`: one colour each."""


class Plot(NamedTuple):
    """A logarithmic chart: for each x the value of each series."""

    name: str
    title: str
    x: str
    rows: Mapping[str, Mapping[str, float]]


def main() -> None:
    file, *rest = sys.argv[1:]
    folder = Path(rest[0] if rest else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for plot in find_plots(json.loads(Path(file).read_text())["found"]):
        path = folder / f"scale-{plot.name}.svg"
        path.write_text(draw(plot))
        print(path)


def find_plots(found: Mapping[str, Any]) -> Iterator[Plot]:
    """Parts that were not run, or failed, have no plot."""
    for store, rows in found.get("growth", {}).items():
        costs = {size: {key: row[key]["ms"] for key in REQUESTS} for size, row in rows.items()}
        yield Plot(f"growth-{store}", f"ms of CPU of one request, {store}", "threads", costs)
    if lengths := found.get("history"):
        yield Plot("history", "ms of CPU of one request", "messages", transpose(lengths))
    if streams := found.get("streams"):
        costs = {name: {at: row["us_per_chunk"] for at, row in one["levels"].items()} for name, one in streams.items()}
        yield Plot("streams", "us of CPU of one chunk", "streams", transpose(costs))
    if fleet := found.get("fleet"):
        yield Plot("fleet", "ms of CPU of one run, and of a second at rest", "servers", dict(describe_fleet(fleet)))


def describe_fleet(fleet: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    for servers in ("1", "2", "3"):
        runs, idle = fleet[servers]["runs"], fleet[servers]["idle"]
        yield servers, {"run": runs["server_ms"], "PostgreSQL": runs["postgres_ms"], "at rest": idle["server_ms"]}


def transpose(series: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {x: {name: values[x] for name, values in series.items()} for x in next(iter(series.values()))}


def draw(plot: Plot) -> str:
    names = list(dict.fromkeys(name for row in plot.rows.values() for name in row))
    return render_svg(
        {
            "title": {"text": plot.title},
            "dataset": {
                "dimensions": [plot.x, *names],
                "source": [{plot.x: f"{int(x):,}", **row} for x, row in plot.rows.items()],
            },
            "xAxis": {"type": "category", "name": plot.x},
            "yAxis": {"type": "log"},
            "series": [{"type": "line", "name": name} for name in names],
        }
    )


if __name__ == "__main__":
    main()
