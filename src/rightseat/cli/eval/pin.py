"""`rightseat eval pin`: makes cases of runs and threads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import msgspec

from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.duration import Duration
from rightseat.config import Config
from rightseat.evals.dataset import list_datasets, read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.pinning import Pinner, build_pinner
from rightseat.evals.recording import PinOptions
from rightseat.evals.sources import NotRecorded, Sources
from rightseat.operations.audit import format_audit_time
from rightseat.operations.feedback import VOTES, FeedbackQuery, FeedbackRow, FeedbackStore, Vote

PAGE_ROWS = 200


@click.command()
@click.argument("id", metavar="RUN|THREAD", required=False)
@setup.file_option
@click.option("--into", default="pinned", show_default=True, help="The dataset, which is created if there is none.")
@click.option("--name", help="The name of the case.  [default: the first words of the question]")
@click.option(
    "--wrong", metavar="TEXT", help="What should have happened. A model judges it; what happened is not expected."
)
@click.option("--consent", metavar="TEXT", help="Who agreed to it, or why nobody has to. It is written into the case.")
@click.option("--keep-personal-data", is_flag=True, help="Replace secrets only. The case says so.")
@click.option("--feedback", type=click.Choice(VOTES), help="Pin all runs with this vote instead.")
@click.option("--since", type=Duration(), help="With --feedback: only votes of this last time, such as 7d or 12h.")
def command(
    id: str | None,
    path: Path | None,
    into: str,
    name: str | None,
    wrong: str | None,
    consent: str | None,
    keep_personal_data: bool,
    feedback: Vote | None,
    since: timedelta | None,
) -> None:
    """Append the case of a run or a thread to a dataset.

    Of a run, the whole turn is pinned: its question, the runs that continue it, and its answer; earlier turns are its
    history. A thread is one case with all of its turns. Personal data, what the guards deny and what looks like a
    secret are replaced. Servers may be running.
    """
    if (id is None) is (feedback is None):
        raise click.UsageError("Name a RUN or a THREAD, or use --feedback.")
    if feedback is not None and name is not None:
        raise click.UsageError("--name is for one case: with --feedback each has the first words of its question.")
    if since is not None and feedback is None:
        raise click.UsageError("--since needs --feedback.")
    setup.set_up_logging()
    config = setup.load(path)
    options = PinOptions(name, wrong, consent, keep_personal_data)
    if feedback is None:
        asyncio.run(pin_one(config, str(id), into, options))
        return
    after = None if since is None else format_audit_time(datetime.now(UTC) - since)
    if not asyncio.run(pin_voted(config, FeedbackQuery(value=feedback, since=after, limit=PAGE_ROWS), into, options)):
        raise SystemExit(1)


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[tuple[Pinner, FeedbackStore]]:
    async with users.opened_store(config) as store, users.opened_log(config) as log:
        sources = Sources(store.records, store.recordings, store.load, log)
        yield build_pinner(config, sources, log), store.feedback


async def pin_one(config: Config, id: str, into: str, options: PinOptions) -> None:
    async with opened(config) as (pinner, _):
        await pin(pinner, id, into, options)


async def pin(pinner: Pinner, id: str, into: str, options: PinOptions) -> None:
    built = await pinner.build(id, options)
    try:
        path, pinned = pinner.append(into, built, is_named=options.name is not None)
    except DatasetError as problem:
        raise click.ClickException(problem.message) from problem
    counts = (count(pinned.turns, "turn"), count(len(pinned.case.recorded), "recorded call"))
    redacted = count(pinned.redacted, "value")
    click.echo(f"Pinned {pinned.case.name!r} into {path}: {', '.join(counts)}, {redacted} redacted.")
    for note in pinned.notes:
        click.echo(note, err=True)


def count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


async def pin_voted(config: Config, query: FeedbackQuery, into: str, options: PinOptions) -> bool:
    """Whether every run was pinned. One that the dataset has already is not pinned again."""
    folder, is_complete, total = config.evals_folder, True, 0
    known = read_dataset(folder, into).dataset.cases if into in list_datasets(folder) else ()
    pinned = {case.source.run for case in known if case.source}
    async with opened(config) as (pinner, feedback):
        async for row in read_votes(feedback, query):
            if row.run is None or row.run in pinned:
                continue
            pinned.add(row.run)
            wrong = options.wrong or (row.comment if row.value == "down" else None)
            try:
                await pin(pinner, row.run, into, replace(options, wrong=wrong, is_bad=row.value == "down"))
                total += 1
            except NotRecorded as problem:
                click.echo(problem.message, err=True)
                is_complete = False
    if not total:
        click.echo("No run was pinned.", err=True)
    return is_complete


async def read_votes(feedback: FeedbackStore, query: FeedbackQuery) -> AsyncIterator[FeedbackRow]:
    while True:
        page = await feedback.list(query)
        for row in page.rows:
            yield row
        if page.next is None:
            return
        query = msgspec.structs.replace(query, after=page.next)
