"""Formats rows as a table for the terminal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import click
import msgspec

T = TypeVar("T")


def print_rows(
    rows: Sequence[T], headings: Sequence[str], list_cells: Callable[[T], Sequence[str]], as_json: bool, if_none: str
) -> None:
    """As one JSON object per line, or as a table. Without rows it prints `if_none` to stderr, but nothing as JSON."""
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row))
    elif rows:
        for line in format_table(headings, map(list_cells, rows)):
            click.echo(line)
    else:
        click.echo(if_none, err=True)


def format_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Columns of equal width, two spaces apart. Cells may hold text of users."""
    lines = [[clean(cell) for cell in row] for row in rows]
    lines = [list(headings), *lines] if headings else lines
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def clean(text: str) -> str:
    """Without control characters, which could change the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def format_time(time: str) -> str:
    """An ISO 8601 time to the second."""
    return time[:19].replace("T", " ")


def format_duration(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f} s"
