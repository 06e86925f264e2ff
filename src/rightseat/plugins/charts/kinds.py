"""The kinds of charts and how they differ, declared once.

To add a kind, add an entry; where none of the marks that `svg.py` draws fits it, add one there. Its name is the type of
the series in ECharts.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ChartKind:
    """`purpose` is shown to the model that chooses a kind.

    `shape`: `categories` have a category axis and can be stacked; `numbers` have a numeric x axis; `slices` have no
    axes and one column. `is_continuous`: too many rows are sampled evenly; otherwise the smallest are summed.
    """

    purpose: str
    shape: Literal["categories", "numbers", "slices"]
    mark: Literal["bars", "lines", "dots", "slices"]
    is_continuous: bool = False


KINDS = {
    "bar": ChartKind("amounts of categories", "categories", "bars"),
    "line": ChartKind("a course over time", "categories", "lines", is_continuous=True),
    "pie": ChartKind("parts of a whole", "slices", "slices"),
    "scatter": ChartKind("how two numbers go together", "numbers", "dots", is_continuous=True),
}
SCALES = ("linear", "log")
