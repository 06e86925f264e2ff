"""`rightseat threads`: lists, exports and deletes threads."""

import asyncio
import shlex
from pathlib import Path

import click
import msgspec

from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.table import format_time, print_rows
from rightseat.config import Config
from rightseat.core.errors import ThreadNotFound
from rightseat.operations.records import Page, ThreadQuery, ThreadRow
from rightseat.operations.users import ThreadRecord
from rightseat.text import truncate

MAX_TITLE_CHARS = 60
HEADINGS = ("THREAD", "TITLE", "USER", "AGENT", "UPDATED (UTC)", "RUNS")


@click.group()
def command() -> None:
    """List, export or delete threads.

    Servers may be running.
    """


@command.command("list")
@setup.file_option
@click.option("--user", help="Only the threads of this user.")
@click.option("--agent", help="Only the threads of this agent.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many to list.")
@click.option("--after", help="Continue a list: the value that the list before ended with.")
@click.option("--json", "as_json", is_flag=True, help="Print each thread as one JSON object per line.")
def list_(path: Path | None, user: str | None, agent: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List the threads of all users, the most recently used first."""
    setup.set_up_logging()
    config = setup.load(path)
    page = asyncio.run(read_page(config, ThreadQuery(user=user, agent=agent, after=after, limit=limit)))
    if_none = f"No thread is stored in {setup.describe_store(config.threads)}."
    print_rows(page.rows, HEADINGS, list_cells, as_json, if_none)
    if page.next is not None:
        click.echo(f"There are older threads: --after {shlex.quote(page.next)}", err=True)


async def read_page(config: Config, query: ThreadQuery) -> Page[ThreadRow]:
    async with users.opened_store(config) as store:
        return await store.records.threads(query)


def list_cells(thread: ThreadRow) -> list[str]:
    title = truncate(thread.title or "-", MAX_TITLE_CHARS)
    return [thread.id, title, thread.user, thread.agent, format_time(thread.updated_at), str(thread.runs)]


@command.command()
@click.argument("thread")
@setup.file_option
def export(thread: str, path: Path | None) -> None:
    """Print THREAD as JSON: its messages, state, runs and approvals.

    `rightseat runs show` prints the events of a run, `rightseat users export` all data of a user.
    """
    setup.set_up_logging()
    record = asyncio.run(read_record(setup.load(path), thread))
    click.echo(msgspec.json.format(msgspec.json.encode(record), indent=1))


async def read_record(config: Config, id: str) -> ThreadRecord:
    async with users.opened_store(config) as store:
        found = await store.records.thread(id)
        record = await store.thread_record(id, found.user) if found else None
    if record is None:
        raise ThreadNotFound(id)
    return record


@command.command()
@click.argument("thread")
@setup.file_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(thread: str, path: Path | None, yes: bool) -> None:
    """Delete THREAD with its messages, runs, events, approvals and files.

    A run in progress can store nothing more, and fails.
    """
    setup.set_up_logging()
    config = setup.load(path)
    found = asyncio.run(find(config, thread))
    if not yes:
        click.confirm(f"Delete {describe(found)}? This cannot be undone.", abort=True)
    runs = asyncio.run(delete_thread(config, found))
    click.echo(f"Deleted the thread {found.id!r} with {runs} runs.")


async def find(config: Config, id: str) -> ThreadRow:
    async with users.opened_store(config) as store:
        found = await store.records.thread(id)
    if found is None:
        raise ThreadNotFound(id)
    return found


async def delete_thread(config: Config, thread: ThreadRow) -> int:
    async with users.opened(config) as data:
        return await data.delete_threads([thread.id], thread.user)


def describe(thread: ThreadRow) -> str:
    running = f", of which {thread.active_run} is in progress" if thread.active_run else ""
    title = truncate(thread.title or "without a title", MAX_TITLE_CHARS)
    return f"the thread {thread.id!r} ({title!r}, of {thread.user!r}) with {thread.runs} runs{running}"
