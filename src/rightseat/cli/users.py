"""`rightseat users`"""

import asyncio
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import click
import msgspec

from rightseat.app import users
from rightseat.cli import start
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.users import FileRecord

UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
NAME_LENGTH = 80


@click.group()
def command() -> None:
    """Export or delete all that is kept of a user."""


@command.command()
@click.argument("user")
@start.file_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The ZIP file.  [default: USER.zip]")
def export(user: str, path: Path | None, output: Path | None) -> None:
    """Write all that is kept of USER into a ZIP file.

    It has a JSON file for each thread, with its messages, state, approvals and the events of its runs, the files that
    runs have made, and feedback. USER is the name that keys and tokens give.
    """
    start.set_up_logging()
    file = output or Path(f"{file_name(user)}.zip")
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"{file} cannot be made: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED) as archive:
            counts = asyncio.run(write(start.load(path), user, archive))
    except BaseException:
        file.unlink()  # half an archive is none
        raise
    click.echo(f"{file} has all that is kept of {user!r}: {listed(counts)}.")


@command.command()
@click.argument("user")
@start.file_option
@click.option("--yes", is_flag=True, help="Do not ask before.")
def forget(user: str, path: Path | None, yes: bool) -> None:
    """Delete all that is kept of USER.

    Threads with their messages, runs, approvals and files, files that belong to no thread, and feedback; while servers
    run, too. Take the user's keys away first: whoever still has one can go on to ask. Log lines that name the user are
    where you keep the server's output.
    """
    start.set_up_logging()
    config = start.load(path)
    if not yes:
        click.confirm(f"Delete all that is kept of {user!r}? This cannot be undone.", abort=True)
    done = asyncio.run(delete(config, user))
    counts = {"threads": done.threads, "runs": done.runs, "files": done.files, **done.records}
    click.echo(f"Deleted of {user!r}: {listed(counts)}.")


async def delete(config: Config, user: str) -> users.Forgotten:
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
            add(archive, f"files/{counts['files']:05}.json", about(file))
        for name, records in (await data.others(user)).items():
            counts[name] = len(records)
            add(archive, f"{name}.json", records)
    return counts


def add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    archive.writestr(name, msgspec.json.format(msgspec.json.encode(content), indent=1))


def about(file: FileRecord) -> dict[str, Any]:
    """All but the content."""
    stored = file.stored
    told = {"id": stored.id, "agent": stored.agent, "name": stored.name, "media_type": stored.media_type}
    return told | {"thread": file.thread_id, "created_at": file.created_at}


def file_name(text: str) -> str:
    """A name that is no path, whatever a user or a model called it."""
    return UNSAFE.sub("-", text).strip(".-")[:NAME_LENGTH] or "unnamed"


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())
