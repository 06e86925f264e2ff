"""The runs that this process took over, for metrics."""

from collections.abc import Callable
from typing import Literal

TakeoverOutcome = Literal["resumed", "cut_off"]
"""Of one run: another process goes on with it, or it is closed with what it had written."""
CountTakeover = Callable[[TakeoverOutcome], None]
"""Called once for each run that this process took over: the process that had it died, or was shut down."""


def ignore_takeover(_: TakeoverOutcome) -> None:
    """Nothing counts takeovers."""
