"""limits_server.py WORDS…: `rightseat WORDS…` with a clock of limits that RS_LIMITS_CLOCK moves: seconds, in a file."""

import os
from pathlib import Path

from rightseat.cli import main
from rightseat.stores import limit_queries

read_clock = limit_queries.read_clock


def read_moved_clock(database_seconds: float | None) -> float:
    return read_clock(database_seconds) + float(Path(os.environ["RS_LIMITS_CLOCK"]).read_text() or 0)


limit_queries.read_clock = read_moved_clock
main()
