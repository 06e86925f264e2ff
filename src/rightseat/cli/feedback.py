"""`rightseat feedback`: prints what users think of answers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec

from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.duration import Duration
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.types import JSON_ERRORS
from rightseat.operations.audit import format_audit_time
from rightseat.operations.feedback import VOTES, FeedbackQuery, FeedbackRow, Vote, is_wanted_row
from rightseat.text import truncate

MAX_SHOWN_CHARS = 100  # of a question, and of a comment
PAGE_ROWS = 500


@click.command()
@setup.file_option
@click.option("--value", type=click.Choice(VOTES), help="Only votes of this kind.")
@click.option("--agent", help="Only answers of this agent.")
@click.option("--model", help="Only answers of this model, by its name in the configuration.")
@click.option("--through", help="Only votes of this face.")
@click.option("--tag", help="Only votes with this tag.")
@click.option("--user", help="Only votes of this user.")
@click.option("--since", type=Duration(), help="Only votes of this last time, such as 7d or 12h.")
@click.option("--json", "as_json", is_flag=True, help="Print each vote as one JSON object.")
def command(
    path: Path | None,
    value: Vote | None,
    agent: str | None,
    model: str | None,
    through: str | None,
    tag: str | None,
    user: str | None,
    since: timedelta | None,
    as_json: bool,
) -> None:
    """Print the feedback of users, oldest first."""
    setup.set_up_logging()
    config = setup.load(path)
    query = FeedbackQuery(
        owner=user,
        value=value,
        agent=agent,
        model=model,
        through=through,
        tag=tag,
        since=None if since is None else format_audit_time(datetime.now(UTC) - since),
        limit=PAGE_ROWS,
        is_oldest_first=True,
    )
    if not asyncio.run(print_rows(config, query, as_json)):
        click.echo(f"No such feedback is stored in {setup.describe_store(config.threads)}.", err=True)


async def print_rows(config: Config, query: FeedbackQuery, as_json: bool) -> int:
    """Returns how many."""
    count = 0
    async for row in read_rows(config, query):
        click.echo(msgspec.json.encode(row) if as_json else summarize(row))
        count += 1
    return count


async def read_rows(config: Config, query: FeedbackQuery) -> AsyncIterator[FeedbackRow]:
    """Those in the files of an earlier version, and then those in the store."""
    for row in read_files(config):
        if is_wanted_row(row, query):
            yield row
    async with users.opened_store(config) as store:
        page = await store.feedback.list(query)
        while True:
            for row in page.rows:
                yield row
            if page.next is None:
                return
            page = await store.feedback.list(msgspec.structs.replace(query, after=page.next))


def read_files(config: Config) -> Iterator[FeedbackRow]:
    """Votes that are in no store. Lines that are no votes are reported on stderr."""
    for file in find_files(config):
        for number, line in enumerate(read_lines(file), 1):
            row = read_line(line)
            if row is None:
                click.echo(f"{file}, line {number} is not readable: {to_plain_text(line)}", err=True)
            elif row.id == "":
                yield row


def find_files(config: Config) -> list[Path]:
    """The feedback files of all faces, each after its rotated predecessor."""
    files = [file for face in config.faces if isinstance(file := vars(face.options).get("feedback_file"), Path)]
    return [part for file in files for part in (file.with_name(f"{file.name}.1"), file) if part.exists()]


def read_lines(file: Path) -> Iterator[str]:
    try:
        yield from filter(None, file.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


class FileLine(msgspec.Struct):
    """A line of the file of OpenBB's votes. With a `row` the store has it too."""

    at: str
    vote: str | int | bool
    user: str = "anyone"
    tags: list[str] | str = []
    user_comment: str | None = None
    user_prompt: str | None = None
    ai_response: str | None = None
    trace_id: str | None = None
    row: str = ""


_decode_line = msgspec.json.Decoder(FileLine).decode


def read_line(line: str) -> FeedbackRow | None:
    """Without an id, unless the store has it too."""
    try:
        found = _decode_line(line)
    except JSON_ERRORS:
        return None
    return FeedbackRow(
        id=found.row,
        owner=found.user,
        run=None,
        thread=None,
        message=None,
        agent=None,
        model=None,
        through="openbb",
        value="up" if str(found.vote).lower() in ("up", "1", "true") else "down",
        comment=found.user_comment,
        tags=found.tags if isinstance(found.tags, list) else (),
        trace_id=found.trace_id,
        question=found.user_prompt,
        text=found.ai_response,
        created_at=found.at,
        updated_at=found.at,
    )


def summarize(row: FeedbackRow) -> str:
    texts = [f'"{to_plain_text(text)}"' for text in (row.question, row.comment) if text]
    tags = [f"#{to_plain_text(tag)}" for tag in row.tags]
    return "  ".join([row.created_at, row.value, to_plain_text(row.owner), row.agent or row.through, *texts, *tags])


def to_plain_text(text: str) -> str:
    """A user's text, truncated, without terminal control characters."""
    text = "".join(letter if letter.isprintable() else " " for letter in text[: MAX_SHOWN_CHARS + 1])
    return truncate(text, MAX_SHOWN_CHARS)
