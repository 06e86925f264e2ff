"""`rightseat audit`: prints the audit log of the store."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.duration import Duration
from rightseat.cli.table import format_time, print_rows
from rightseat.config import Config
from rightseat.operations.audit import KINDS, AuditLine, AuditQuery, format_audit_time

HEADINGS = ("TIME (UTC)", "KIND", "USER", "LINE")


@click.command()
@setup.file_option
@click.option("--since", type=Duration(), help="Only lines of this last time, such as 7d or 12h.")
@click.option("--user", help="Only what this user did.")
@click.option("--kind", type=click.Choice(KINDS), help="Only lines of this kind.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=200, show_default=True, help="How many to print.")
@click.option("--json", "as_json", is_flag=True, help="Print each line as one JSON object.")
def command(
    path: Path | None, since: timedelta | None, user: str | None, kind: str | None, limit: int, as_json: bool
) -> None:
    """Print the audit log, the newest line first.

    It has approvals, key changes, the first use of each key in a day, sign-ins, refusals by budgets, and what operators
    read and did.
    """
    setup.set_up_logging()
    config = setup.load(path)
    start = None if since is None else format_audit_time(datetime.now(UTC) - since)
    lines = asyncio.run(read(config, AuditQuery(start, user, kind, limit)))
    if_none = f"No such line is stored in {setup.describe_store(config.threads)}."
    print_rows(lines, HEADINGS, list_cells, as_json, if_none)


def list_cells(line: AuditLine) -> list[str]:
    return [format_time(line.at), line.kind, line.user, line.text]


async def read(config: Config, query: AuditQuery) -> Sequence[AuditLine]:
    async with users.opened_store(config) as store:
        return await store.audit.list(query)
