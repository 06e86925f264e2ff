"""`rightseat feedback`"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rightseat.cli import start
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.text import truncate

SHOWN = 100
"""Characters of a question, and of a comment, on their line."""


@click.command()
@start.file_option
@click.option("--json", "as_json", is_flag=True, help="Every line as it is kept, with the answers.")
def command(path: Path | None, as_json: bool) -> None:
    """Show what users said of answers, the oldest first."""
    kept = [line for file in files(start.load(path)) for line in lines(file)]
    for line in kept:
        click.echo(line if as_json else summary(line))
    if not kept:
        click.echo("Nobody has said anything of an answer yet.", err=True)


def files(config: Config) -> list[Path]:
    """Where the faces keep it: the file that is full, and the one after it."""
    kept = [file for face in config.faces if isinstance(file := getattr(face.options, "feedback", None), Path)]
    if not kept:
        raise ConfigError("No face of the configuration keeps feedback. That of OpenBB does, unless it is told not to.")
    return [part for file in kept for part in (file.with_name(f"{file.name}.1"), file) if part.exists()]


def lines(file: Path) -> Iterator[str]:
    try:
        yield from filter(None, file.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


def summary(line: str) -> str:
    try:
        kept = json.loads(line)
    except ValueError:
        kept = None
    if not isinstance(kept, dict):
        return f"(not readable) {plain(line)}"
    said = [plain(kept.get(key)) for key in ("at", "vote", "user_prompt", "user_comment")]
    return "  ".join([*said[:2], *(f'"{text}"' for text in said[2:] if text)])


def plain(value: Any) -> str:
    """A user's text, cut, and without what a terminal would obey."""
    text = "" if value is None else str(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text[: SHOWN + 1])
    return truncate(text, SHOWN)
