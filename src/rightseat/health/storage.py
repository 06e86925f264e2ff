"""The state folder can be written and is private, and its SQLite files can be opened."""

import asyncio
import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rightseat.health.context import CheckContext, RunningServer
from rightseat.health.finding import Check, CheckOutcome, Fix

TRIAL_BYTES = 2**20
MAX_LISTED_FILES = 5
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_state_dir(context: CheckContext) -> Iterator[Check]:
    folder = context.state_dir
    run = partial(asyncio.to_thread, judge_folder, folder)
    yield Check("state_dir", str(folder), "The state folder can be written, and only by this user", run)


def judge_folder(folder: Path) -> list[CheckOutcome]:
    return [judge_writing(folder), *judge_modes(folder)]


def judge_writing(folder: Path) -> CheckOutcome:
    nearest = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(bytes(TRIAL_BYTES))
            file.flush()
    except OSError as error:
        return explain(error, folder, nearest)
    free = shutil.disk_usage(nearest).free
    state = "can be written" if nearest == folder else "is made when the server starts"
    return CheckOutcome("ok", f"The folder {folder} {state}; {free / 2**30:.1f} GiB are free.")


def explain(error: OSError, folder: Path, nearest: Path) -> CheckOutcome:
    reason, another = os.strerror(error.errno or 0), "or set another folder in `server.state_dir`."
    yaml = "server: {state_dir: /var/lib/rightseat}"
    match error.errno:
        case errno.ENOTDIR:
            reason, fix = f"{nearest} is not a folder", Fix(f"Move the file {nearest} away, {another}", yaml=yaml)
        case errno.ENOSPC | errno.EDQUOT:
            fix = Fix(f"Free some space, {another}", f"df -h {nearest}", yaml)
        case _:
            fix = Fix(f"Make {nearest} writable for the user that runs rightseat, {another}", f"ls -ld {nearest}", yaml)
    return CheckOutcome("error", f"The state folder {folder} cannot be written: {reason}.", fix)


def judge_modes(folder: Path) -> Iterator[CheckOutcome]:
    """It holds conversations, so other users of the machine should not be able to read it."""
    if os.name != "posix" or not folder.is_dir():
        return
    is_closed = not folder.stat().st_mode & OTHERS
    found = [] if is_closed else [file for file in sorted(folder.rglob("*")) if is_open_to_others(file)]
    if found:
        names = ", ".join(str(file.relative_to(folder)) for file in found[:MAX_LISTED_FILES])
        more = f" and {len(found) - MAX_LISTED_FILES} more" if len(found) > MAX_LISTED_FILES else ""
        fix = Fix("Let only the user that runs rightseat read the folder.", f"chmod -R go= {folder}")
        yield CheckOutcome("warning", f"Other users of this machine can read files in {folder}: {names}{more}.", fix)


def is_open_to_others(file: Path) -> bool:
    found = file.lstat()
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & OTHERS) and file.name != ".gitignore"


def check_databases(context: CheckContext) -> Iterator[Check]:
    """The SQLite files of threads and log, which are usually one file."""
    config = context.config
    parts = (("threads", config.threads), ("log", config.log)) if config else ()
    found: dict[Path, str] = {}
    for name, part in parts:
        path = getattr(part.options, "path", None)
        if isinstance(path, Path) and not getattr(part.options, "url", None):
            found.setdefault(path, name)
    for path, name in found.items():
        run = partial(asyncio.to_thread, judge_database, path, context.running)
        yield Check("database", name, "The database can be opened", run)


def judge_database(path: Path, running: RunningServer | None) -> CheckOutcome:
    if not path.exists():
        return CheckOutcome("ok", f"The file {path} is made when the server starts.")
    if is_locked(Path(f"{path}.lock")):
        if running is not None:
            return CheckOutcome("ok", f"{path} is in use by the server at {running.url}.")
        fix = Fix(
            "Stop that server (the command shows its process), or set another folder for this one in "
            "`server.state_dir`. If it is this server on another port, pass --port.",
            f"fuser -v {path}.lock",
        )
        return CheckOutcome("error", f"The database {path} is locked by another rightseat.", fix)
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)
        try:
            (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        problem = str(error)
    if problem != "ok":
        fix = Fix(f"Restore {path} from a backup, or move it away: the server then starts with an empty one.")
        return CheckOutcome("error", f"The database {path} cannot be read: {problem}.", fix)
    return CheckOutcome("ok", f"{path} can be opened.")


def is_locked(lock: Path) -> bool:
    """A server holds an exclusive transaction on this file for as long as it lives."""
    if not lock.exists():
        return False
    connection = sqlite3.connect(f"file:{lock}?mode=rw", uri=True, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    finally:
        connection.close()
    return False
