"""`rightseat backup`, and what a server finds when a backup is restored."""

import asyncio
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.conftest import Run
from tests.cli.server_process import WAIT_S, ServerProcess
from tests.services import OwnRedis, own_redis, schema

FILES = """
models: {default: {type: scripted}}
agents: {default: {model: default, durable: true}}
faces: [{type: copilotkit, path: /copilotkit}]
engine: {type: dbos}
"""
DATABASES = """
models: {default: {type: scripted}}
faces: [{type: copilotkit, path: /copilotkit}]
threads: {type: sql, url: '%s'}
log: {type: redis, url: '%s'}
"""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "rightseat", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder) as process:
        server = ServerProcess(process)
        try:
            (url,) = re.findall(r"http://127\.0\.0\.1:\d+", server.wait_for("  serves "))
            server.wait_for("  origins ")
            yield f"{url}/copilotkit"
        finally:
            process.send_signal(signal.SIGINT)
            server.reader.join(WAIT_S)


def ask(url: str, thread: str) -> None:
    """One run; its question has the name of the thread."""
    message = {"id": str(uuid.uuid4()), "role": "user", "content": f"Hello, {thread}"}
    body: dict[str, object] = {
        "threadId": thread,
        "runId": str(uuid.uuid4()),
        "messages": [message],
        "tools": [],
        "context": [],
    }
    body |= {"forwardedProps": {}, "state": {}}
    response = httpx2.post(f"{url}/agent/default/run", json=body, timeout=WAIT_S)
    assert "RUN_FINISHED" in response.text


def read(url: str, path: str) -> Any:
    return httpx2.get(f"{url}/{path}", timeout=WAIT_S).json()


@contextmanager
def repeated(work: Callable[[int], None]) -> Iterator[None]:
    """Calls `work` again and again, beside the block."""
    is_over = threading.Event()

    def repeat() -> None:
        number = 0
        while not is_over.is_set():
            work(number)
            number += 1

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(WAIT_S)


def extract(file: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-xf", str(file), "-C", str(folder)], check=True)


@pytest.mark.whole
def test_a_backup_of_a_busy_server_is_restored_with_its_threads(run: Run, folder: Path) -> None:
    Path("rightseat.yaml").write_text(FILES)
    file = folder / "backup.tar.gz"

    with serving(folder) as url:
        ask(url, "before")
        with repeated(lambda number: ask(url, f"meanwhile-{number}")):
            result = run("backup", str(file))
        ask(url, "after")
    restored = folder / "restored"
    extract(file, restored / ".rightseat")
    shutil.copy("rightseat.yaml", restored)
    with serving(restored) as url:
        threads = {one["id"] for one in read(url, "threads?limit=200")["threads"]}
        messages = read(url, "threads/before/messages")["messages"]
        events = read(url, "threads/before/events")["events"]
        ask(url, "before")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"Wrote {file}, ")
    assert "rightseat.db, steps.db" in result.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "before" in threads
    assert "after" not in threads
    assert [one["role"] for one in messages] == ["user", "assistant"]
    assert events[-1]["type"] == "RUN_FINISHED"


@pytest.mark.whole
async def test_postgresql_and_redis_are_restored_with_their_own_tools(folder: Path) -> None:
    async with schema() as url, own_redis(folder / "redis") as redis:
        dump = await asyncio.to_thread(ask_and_dump, folder, url, redis)
        await asyncio.to_thread(restore, url, dump)
        async with own_redis(folder / "redis-copy") as copied:
            threads, events, _ = await asyncio.to_thread(read_restored, folder, url, copied)
        async with own_redis(folder / "redis-empty") as empty:
            _, lost, messages = await asyncio.to_thread(read_restored, folder, url, empty)

    assert threads == ["before"]
    assert events[-1]["type"] == "RUN_FINISHED"
    assert lost == []
    assert [one["role"] for one in messages] == ["user", "assistant", "user", "assistant"]


def ask_and_dump(folder: Path, url: str, redis: OwnRedis) -> bytes:
    """Copies PostgreSQL, then Redis, and changes both afterwards."""
    Path("rightseat.yaml").write_text(DATABASES % (url, redis.url))
    with serving(folder) as server:
        ask(server, "before")
        dump = ["pg_dump", f"--schema={schema_of(url)}", url.partition("?")[0]]
        found = subprocess.run(dump, check=True, capture_output=True).stdout
        shutil.copytree(redis.folder, folder / "redis-copy")
        ask(server, "after")
    return found


def restore(url: str, dump: bytes) -> None:
    psql = ["psql", "--quiet", "--output=/dev/null", url.partition("?")[0]]
    subprocess.run([*psql, "--command", f"DROP SCHEMA {schema_of(url)} CASCADE"], check=True, capture_output=True)
    subprocess.run(psql, check=True, input=dump)


def read_restored(folder: Path, url: str, redis: OwnRedis) -> tuple[list[str], list[Any], list[Any]]:
    """The threads, and events and messages of the first; then the thread is continued."""
    Path("rightseat.yaml").write_text(DATABASES % (url, redis.url))
    with serving(folder) as server:
        threads = [one["id"] for one in read(server, "threads")["threads"]]
        events = read(server, "threads/before/events")["events"]
        messages = read(server, "threads/before/messages")["messages"]
        ask(server, "before")
    return threads, events, messages


def schema_of(url: str) -> str:
    return url.rpartition("search_path%3D")[2]


def test_a_backup_has_the_small_files_and_no_caches(run: Run, folder: Path) -> None:
    state = folder / ".rightseat"
    (state / "prompt_cache").mkdir(parents=True)
    for name in ("openbb-feedback.jsonl", "openbb-feedback.jsonl.lock", "prompt_cache/a.bin"):
        (state / name).write_text("x")
    run("threads", "list")  # creates the database

    assert run("backup", "backup.tar.gz").exit_code == 0

    with tarfile.open("backup.tar.gz") as archive:
        assert archive.getnames() == ["rightseat.db", "openbb-feedback.jsonl"]
    assert sorted(path.name for path in folder.iterdir()) == [".rightseat", "backup.tar.gz"]


def test_an_existing_file_is_not_overwritten(run: Run) -> None:
    Path("backup.tar.gz").write_text("precious")

    result = run("backup", "backup.tar.gz")

    assert result.exit_code == 1
    assert result.stderr == "Error: backup.tar.gz already exists. Remove it, or name another file.\n"
    assert Path("backup.tar.gz").read_text() == "precious"


@pytest.mark.parametrize(
    ("text", "file", "message"),
    [
        ("", "b.tar", "There is nothing to back up in "),
        ("", ".rightseat/b.tar", " is in the state folder itself. Name a file outside of it."),
        ("", "nowhere/b.tar", "Cannot back up "),
        ("threads: {url: 'postgresql://me:secret@h/db'}", "b.tar", "`threads` is in the database of `sql`"),
        ("threads: {path: /elsewhere/r.db}", "b.tar", "`threads.path` is /elsewhere/r.db, outside of the state folder"),
    ],
)
def test_what_cannot_be_backed_up_is_reported(run: Run, folder: Path, text: str, file: str, message: str) -> None:
    Path(".rightseat").mkdir()
    Path("rightseat.yaml").write_text(f"models: {{default: {{type: scripted}}}}\n{text}\n")

    result = run("backup", file)

    assert result.exit_code == 1
    assert message in result.stderr
    assert "secret" not in result.stderr
    assert not Path(file).exists()
