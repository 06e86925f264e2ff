"""`rightseat users`: exports or deletes the data of a user."""

import asyncio
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import click
import msgspec

from rightseat.app import users
from rightseat.cli import setup
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.forgetting import find_cases, forget_attempts, remove_case
from rightseat.operations.users import FileRecord

UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
MAX_NAME_CHARS = 80


@click.group()
def command() -> None:
    """Export or delete the data of a user."""


@command.command()
@click.argument("user")
@setup.file_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The ZIP file.  [default: USER.zip]")
def export(user: str, path: Path | None, output: Path | None) -> None:
    """Write the data of USER to a ZIP file.

    It contains a JSON file for each thread, with its messages, state, approvals and the events of its runs, the files
    that runs created, feedback, memories, annotations, and usage. USER is the user id of keys and tokens.
    """
    setup.set_up_logging()
    file = output or Path(f"{file_name(user)}.zip")
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{file} cannot be created: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
            counts = asyncio.run(write(setup.load(path), user, archive))
    except BaseException:
        file.unlink()  # it is incomplete
        raise
    click.echo(f"Wrote the data of {user!r} to {file}: {write_counts(counts)}.")


@command.command()
@click.argument("user")
@setup.file_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--cases", is_flag=True, help="Also remove the cases that were pinned from runs of the user.")
def forget(user: str, path: Path | None, yes: bool, cases: bool) -> None:
    """Delete the data of USER.

    Deletes threads with their messages, runs, approvals and files, files without a thread, recordings, feedback,
    memories and annotations. Usage is moved to the user `deleted`. Lists the cases that were pinned from runs of the
    user. Servers may be running. Revoke the user's keys first, or new data may follow. Log lines and audit lines that
    name the user are not deleted.
    """
    setup.set_up_logging()
    config = setup.load(path)
    if not yes:
        click.confirm(f"Delete all data of {user!r}? This cannot be undone.", abort=True)
    done = asyncio.run(delete(config, user))
    counts = {"threads": done.threads, "runs": done.runs, "files": done.files, **done.records}
    click.echo(f"Deleted the data of {user!r}: {write_counts(counts)}.")
    if not forget_cases(config, user, is_removing=cases):
        raise SystemExit(1)


def forget_cases(config: Config, user: str, *, is_removing: bool) -> bool:
    """List or remove the cases of the user. Returns whether all datasets could be searched and changed."""
    folder, problems = config.evals_folder, list[str]()
    found = find_cases(folder, user)
    for case in found.cases:
        if is_removing:
            try:
                remove_case(folder, case)
            except DatasetError as error:
                problems.append(error.message)
                continue
        click.echo(f"{'Removed the case' if is_removing else 'Case of the user:'} {case.name} in {case.path}")
    if found.cases and is_removing:
        forget_attempts(config.server.state_dir / "evals", found.cases)
        click.echo("The history of the repository keeps them, until you rewrite it.")
    elif found.cases:
        click.echo("`users forget --cases` removes these cases, with their files, attempts and results.")
    for problem in (*found.problems, *problems):
        click.echo(f"Not searched for cases of the user: {problem}", err=True)
    return not found.problems and not problems


async def delete(config: Config, user: str) -> users.DeletedCounts:
    async with users.opened(config) as data:
        return await data.forget(user)


async def write(config: Config, user: str, archive: zipfile.ZipFile) -> dict[str, int]:
    counts = {"threads": 0, "files": 0}
    async with users.opened(config) as data:
        async for record, events in data.threads(user):
            counts["threads"] += 1
            add(archive, f"threads/{counts['threads']:05}.json", {"thread": record, "events": events})
        async for file in data.files(user):
            counts["files"] += 1
            archive.writestr(f"files/{counts['files']:05}-{file_name(file.stored.name)}", file.stored.content)
            add(archive, f"files/{counts['files']:05}.json", describe_file(file))
        for name, records in (await data.others(user)).items():
            counts[name] = len(records)
            add(archive, f"{name.replace(' ', '-')}.json", records)
    return counts


def add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    archive.writestr(name, msgspec.json.format(msgspec.json.encode(content), indent=1))


def describe_file(file: FileRecord) -> dict[str, Any]:
    """The metadata of a file."""
    stored = file.stored
    metadata = {"id": stored.id, "agent": stored.agent, "name": stored.name, "media_type": stored.media_type}
    return metadata | {"thread": file.thread_id, "created_at": file.created_at}


def file_name(text: str) -> str:
    """A safe file name, whatever characters the original has."""
    return UNSAFE.sub("-", text).strip(".-")[:MAX_NAME_CHARS] or "unnamed"


def write_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())
