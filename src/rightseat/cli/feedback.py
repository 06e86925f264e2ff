"""`rightseat feedback`: prints the votes and comments of users."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rightseat.cli import setup
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.text import truncate

MAX_SHOWN_CHARS = 100  # of a question, and of a comment


@click.command()
@setup.file_option
@click.option("--json", "as_json", is_flag=True, help="Print the stored JSON lines, with the responses.")
def command(path: Path | None, as_json: bool) -> None:
    """Print the feedback of users, oldest first."""
    lines = [line for file in find_files(setup.load(path)) for line in read_lines(file)]
    for line in lines:
        click.echo(line if as_json else summarize(line))
    if not lines:
        click.echo("There is no feedback yet.", err=True)


def find_files(config: Config) -> list[Path]:
    """The feedback files of all faces, each after its rotated predecessor."""
    files = [file for face in config.faces if isinstance(file := getattr(face.options, "feedback_file", None), Path)]
    if not files:
        raise ConfigError("No face of the configuration stores feedback. The face `openbb` does, unless disabled.")
    return [part for file in files for part in (file.with_name(f"{file.name}.1"), file) if part.exists()]


def read_lines(file: Path) -> Iterator[str]:
    try:
        yield from filter(None, file.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


def summarize(line: str) -> str:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        return f"(not readable) {to_plain_text(line)}"
    fields = [to_plain_text(record.get(key)) for key in ("at", "vote", "user_prompt", "user_comment")]
    return "  ".join([*fields[:2], *(f'"{text}"' for text in fields[2:] if text)])


def to_plain_text(value: Any) -> str:
    """A user's text, truncated, without terminal control characters."""
    text = "" if value is None else str(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text[: MAX_SHOWN_CHARS + 1])
    return truncate(text, MAX_SHOWN_CHARS)
