"""`rightseat usage`: prints what users, keys, agents and models used."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import click
import msgspec

from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.table import format_table
from rightseat.config import Config
from rightseat.limits.report import report_usage
from rightseat.limits.rules import NANO
from rightseat.limits.store import USAGE_COLUMNS, UsageColumn, UsageQuery, UsageRow, parse_columns

BY_HELP = f"One line for each: any of {', '.join(USAGE_COLUMNS)}."
COUNT_HEADINGS = ("REQUESTS", "REFUSED", "INPUT", "CACHED", "OUTPUT", "ESTIMATED")


class Columns(click.ParamType[tuple[UsageColumn, ...]]):
    name = "columns"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[UsageColumn, ...]:
        try:
            return parse_columns(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command()
@setup.file_option
@click.option("--by", "columns", type=Columns(), default="user,model", show_default=True, help=BY_HELP)
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="The first day.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="The last day.")
@click.option("--user", help="Only what this user used.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, as the face `usage` sends it.")
def command(
    path: Path | None,
    columns: tuple[UsageColumn, ...],
    since: datetime | None,
    until: datetime | None,
    user: str | None,
    as_json: bool,
) -> None:
    """Print requests, tokens and cost.

    They are read from the store, if the configuration has `limits` or the face `usage`. Days are those of `timezone`.
    """
    setup.set_up_logging()
    config = setup.load(path)
    query = UsageQuery(columns, day_of(since), day_of(until), user)
    rows = asyncio.run(read(config, query))
    if as_json:
        click.echo(msgspec.json.encode(report_usage(query, rows, config.currency)))
    elif rows:
        headings = (*(name.upper() for name in columns), *COUNT_HEADINGS, f"COST ({config.currency})")
        for line in format_table(headings, map(format_row, rows)):
            click.echo(line)
    else:
        click.echo(f"No usage of these days is stored in {setup.describe_store(config.threads)}.", err=True)


def day_of(time: datetime | None) -> date | None:
    return None if time is None else time.date()


def format_row(row: UsageRow) -> Sequence[str]:
    counts = row.counts
    numbers = (
        counts.requests,
        counts.refused,
        counts.input_tokens,
        counts.cached_tokens,
        counts.output_tokens,
        counts.estimated_tokens,
    )
    return [*(cell or "-" for cell in row.group), *(f"{one:,}" for one in numbers), f"{counts.cost / NANO:,.4f}"]


async def read(config: Config, query: UsageQuery) -> Sequence[UsageRow]:
    async with users.opened_store(config) as store:
        return await store.limits.usage(query)
