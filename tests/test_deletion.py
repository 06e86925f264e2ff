"""After a thread was deleted or has expired, and after its user was forgotten, no byte of it is left.

Every file of the state folder is searched, every row of every table of PostgreSQL, and every key of Redis.
"""

import asyncio
import json
import secrets
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from rightseat.core.ask import ANYONE, Answer, Ask, Principal
from rightseat.core.errors import RunNotFound, ThreadNotFound
from rightseat.core.events import RunFinished, TextDelta
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Invocation, Tool
from rightseat.engines.dbos import DbosEngine
from rightseat.engines.dbos.system import DbosSystem
from rightseat.engines.local import LocalEngine
from rightseat.faces.openbb.feedback_file import FeedbackFile
from rightseat.logs import redis
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from rightseat.testing import ScriptedModel, calls, says
from rightseat.testing import ScriptedResponse as Said
from tests.conditions import until
from tests.databases import migrated_database, migrated_file
from tests.engines.test_dbos import begin
from tests.services import REDIS, keys

ROOT = Path(__file__).parent.parent
ALICE = Principal("alice")
PLACES = ("question", "answer", "argument", "result", "state", "name", "file")
WITHIN_S = 5.0
MAX_OUTPUT_BYTES = 1_000_000
RUN_COMMANDS = """
import json, sys
from rightseat.cli import main
for line in sys.stdin:
    main(json.loads(line), standalone_mode=False)
    print(end="\\0", flush=True)
"""
Command = Callable[..., Awaitable[str]]
"""Runs the command with these arguments and returns what it prints. One that fails ends the process."""
LIST_TABLES = """
SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
"""


class Kept:
    """Where a server keeps everything: files of a folder, or PostgreSQL and Redis. With a secret for each place."""

    def __init__(self, folder: Path, url: str | None, prefix: str) -> None:
        self.folder = folder
        self.url = url
        self.prefix = prefix
        self.secrets = {place: f"{place}{secrets.token_hex(8)}" for place in PLACES}

    @asynccontextmanager
    async def serving(self, *, durable: bool, retention_days: float | None = None) -> AsyncIterator[Runtime]:
        async with AsyncExitStack() as stack:
            path = self.folder / "rightseat.db"
            log: Any = SqliteLog(path, compact_after_seconds=0) if self.url is None else self._redis()
            await stack.enter_async_context(log)
            threads = await stack.enter_async_context(SqlThreads(connect(self.url or path), retention_days))
            steps = DbosSystem(self.url or self.folder / "steps.db")
            engine = DbosEngine(steps) if durable else LocalEngine()
            loop = Loop(ScriptedModel(self._answer), [Bank(self)], durable=durable)
            runtime = Runtime({"default": loop}, log=log, threads=threads, engine=engine, artifacts=threads.artifacts)
            stack.push_async_callback(runtime.close)
            await runtime.open()
            yield runtime

    def _redis(self) -> Any:
        return redis.build(redis.Options(url=SecretStr(REDIS), prefix=self.prefix))

    def _answer(self, prompt: Prompt) -> Said:
        if prompt.messages[-1].role == "tool":
            return says(f"It is {self.secrets['answer']}.")
        if not prompt.messages[-1].text.startswith("Pay"):
            return says("Hi")
        return calls("pay", json.dumps({"to": self.secrets["argument"]}))

    def configuration(self) -> dict[str, Any]:
        """The same, for a command."""
        found: dict[str, Any] = {"server": {"state_dir": str(self.folder)}, "engine": {"type": "dbos"}}
        found["faces"] = [{"type": "openbb"}]
        if self.url is not None:
            found["threads"] = {"type": "sql", "url": self.url}
            found["log"] = {"type": "redis", "url": REDIS, "prefix": self.prefix}
            found["engine"] |= {"url": self.url}
        return found

    async def found(self) -> set[str]:
        """Which of the secrets are anywhere."""
        content = b"\0".join([*self._files(), *await self._rows(), *await self._keys()])
        return {place for place, secret in self.secrets.items() if any(one in content for one in spellings(secret))}

    def _files(self) -> list[bytes]:
        return [file.read_bytes() for file in self.folder.rglob("*") if file.is_file()]

    async def _rows(self) -> list[bytes]:
        if self.url is None:
            return []
        rows = list[bytes]()
        connection = await asyncpg.connect(self.url)
        try:
            for schema, table in await connection.fetch(LIST_TABLES):
                everything = f'SELECT t::text FROM "{schema}"."{table}" AS t'  # noqa: S608  # our own
                rows += [row[0].encode() for row in await connection.fetch(everything)]
        finally:
            await connection.close()
        return rows

    async def _keys(self) -> list[bytes]:
        if self.url is None:
            return []
        async with Redis.from_url(REDIS) as client:
            return [(await client.dump(key)) + key async for key in client.scan_iter(f"{self.prefix}*", count=5000)] + [
                repr(await client.xrange(key)).encode() async for key in client.scan_iter(f"{self.prefix}log:*")
            ]

    async def is_gone(self) -> set[str]:
        """Which of the secrets are left when the time is over."""
        with suppress(TimeoutError):
            await until(self._has_none, WITHIN_S)
        return await self.found()

    async def _has_none(self) -> bool:
        return not await self.found()


class Bank:
    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [
            Tool("pay", "", {"type": "object", "properties": {"to": {"type": "string"}}}, self._pay, effect="write")
        ]

    async def _pay(self, invocation: Invocation) -> str:
        return f"paid {self._kept.secrets['result']}"


def spellings(secret: str) -> list[bytes]:
    return [secret.encode(), secret.encode().hex().encode(), secret.encode("utf-16-le")]


@pytest.fixture(params=["sqlite", "fleet"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kept]:
    folder = tmp_path / "state"
    if request.param == "sqlite":
        migrated_file(folder / "rightseat.db")
        migrated_file(folder / "steps.db", "steps.db")
        yield Kept(folder, None, "")
        return
    folder.mkdir()
    async with migrated_database() as url, keys() as prefix:
        yield Kept(folder, url, prefix)


@pytest.fixture(params=["durable", "local"])
def durable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "durable")


# Importing the command takes two seconds of processor time. What the engine keeps is shown without commands for both.
both_at_night = pytest.mark.parametrize(
    "durable", ["durable", pytest.param("local", marks=pytest.mark.night)], indirect=True
)

# Each of the two tests with commands and a server that runs takes one of the stores by day.
on_sqlite_by_day = pytest.mark.parametrize(
    "kept", ["sqlite", pytest.param("fleet", marks=pytest.mark.night)], indirect=True
)
on_a_fleet_by_day = pytest.mark.parametrize(
    "kept", [pytest.param("sqlite", marks=pytest.mark.night), "fleet"], indirect=True
)


async def converse(kept: Kept, runtime: Runtime, thread_id: str = "t") -> None:
    """A question, a call that is approved, an answer, a state, a name and a file."""
    asked = Ask(
        messages=(user(f"Pay {kept.secrets['question']}!"),),
        thread_id=thread_id,
        principal=ALICE,
        state={"s": kept.secrets["state"]},
    )
    await ended(runtime, asked)
    (pending,) = await runtime.threads.pending(ALICE, thread_id)
    answer = Answer(pending.interrupt.id, "resolved", {"approved": True})
    await ended(runtime, Ask(messages=(), thread_id=thread_id, principal=ALICE, answers=(answer,)))
    await runtime.threads.change(thread_id, ALICE, name=kept.secrets["name"])
    assert runtime.artifacts is not None
    await runtime.artifacts.put(asked, "report.txt", "text/plain", kept.secrets["file"].encode())


async def ended(runtime: Runtime, ask: Ask) -> None:
    ask = await runtime.start(ask)
    async for batch in runtime.follow(ask.run_id):
        last = batch[-1].event
    assert isinstance(last, RunFinished), last
    await runtime.settled(ask.thread_id, ask.principal)


async def test_nothing_is_left_of_a_thread_that_was_deleted(kept: Kept, durable: bool) -> None:
    async with asyncio.timeout(60), kept.serving(durable=durable) as runtime:
        await converse(kept, runtime)
        before = await kept.found()
        await runtime.delete("t", ALICE)
        after = await kept.is_gone()

    assert before == set(PLACES)
    assert after == set()
    assert await kept.found() == set()


async def test_nothing_is_left_of_a_thread_that_has_expired(kept: Kept, durable: bool) -> None:
    async with asyncio.timeout(60):
        async with kept.serving(durable=durable) as runtime:
            await converse(kept, runtime)
        before = await kept.found()
        async with kept.serving(durable=durable, retention_days=1e-9):
            after = await kept.is_gone()

    assert before == set(PLACES)
    assert after == set()


async def test_other_threads_stay_when_one_is_deleted(kept: Kept, durable: bool) -> None:
    async with asyncio.timeout(60), kept.serving(durable=durable) as runtime:
        await converse(kept, runtime, "kept")
        kept.secrets["deleted"] = f"deleted{secrets.token_hex(8)}"
        await runtime.start(Ask(messages=(user(kept.secrets["deleted"]),), thread_id="t", principal=ALICE))
        before = await kept.found()
        await runtime.delete("t", ALICE)
        await until(lambda: is_erased(kept, "deleted"))
        thread = await runtime.thread("kept", ALICE)

    assert before == {*PLACES, "deleted"}
    assert thread is not None
    assert await kept.found() == set(PLACES)


async def is_erased(kept: Kept, place: str) -> bool:
    return place not in await kept.found()


@asynccontextmanager
async def commands(kept: Kept) -> AsyncIterator[Command]:
    """`rightseat` beside the server, in one process for all commands of a test: importing it takes two seconds."""
    file = kept.folder.parent / "rightseat.json"
    file.write_text(json.dumps(kept.configuration()))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUN_COMMANDS, cwd=ROOT, stdin=PIPE, stdout=PIPE, limit=MAX_OUTPUT_BYTES
    )
    assert process.stdin is not None
    assert process.stdout is not None
    reader, writer = process.stdout, process.stdin

    async def run(*arguments: str) -> str:
        writer.write(json.dumps([*arguments, "--config", str(file)]).encode() + b"\n")
        return (await reader.readuntil(b"\0")).removesuffix(b"\0").decode()

    try:
        yield run
    finally:
        writer.close()
        assert await process.wait() == 0


@on_sqlite_by_day
@both_at_night
async def test_a_user_can_be_exported_and_forgotten_while_the_server_runs(kept: Kept, durable: bool) -> None:
    export, feedback = kept.folder.parent / "alice.zip", FeedbackFile(kept.folder / "openbb-feedback.jsonl")
    async with (
        asyncio.timeout(300),
        kept.serving(durable=durable) as runtime,
        commands(kept) as rightseat,
    ):
        await converse(kept, runtime)
        await ended(runtime, Ask(messages=(user("Hi"),), thread_id="bob's", principal=Principal("bob")))
        loose = Ask(messages=(), principal=ALICE, transient=True)
        assert runtime.artifacts is not None
        await runtime.artifacts.put(loose, "loose.txt", "text/plain", kept.secrets["file"].encode())
        for name in ("alice", "bob"):
            said = {"vote": "up", "user_prompt": kept.secrets["question"] if name == "alice" else "Hi"}
            await feedback.append(said, user=name)
        await rightseat("users", "export", "alice", "--output", str(export))
        before = await kept.found()
        told = await rightseat("users", "forget", "alice", "--yes")
        after = await kept.is_gone()
        others = await runtime.thread("bob's", Principal("bob"))

    assert before == set(PLACES)
    assert (
        told == "Deleted the data of 'alice': 1 threads, 2 runs, 2 files, 1 feedback, "
        "0 memories, 0 annotations, 0 recordings, 0 model calls, 0 usage rows.\n"
    )
    assert after == set()
    assert others is not None
    assert len(await feedback.read_user("bob")) == 1
    with ZipFile(export) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
        assert {"threads/00001.json", "files/00001-report.txt", "feedback.json"} <= set(archive.namelist())
    assert all(secret.encode() in content for secret in kept.secrets.values())
    assert export.stat().st_mode & 0o777 == 0o600


@on_a_fleet_by_day
@both_at_night
async def test_a_thread_can_be_listed_exported_and_deleted_while_the_server_runs(kept: Kept, durable: bool) -> None:
    async with (
        asyncio.timeout(300),
        kept.serving(durable=durable) as runtime,
        commands(kept) as rightseat,
    ):
        await converse(kept, runtime)
        await ended(runtime, Ask(messages=(user("Hi"),), thread_id="bob's", principal=Principal("bob")))
        threads = [json.loads(line) for line in (await rightseat("threads", "list", "--json")).splitlines()]
        runs = [json.loads(line) for line in (await rightseat("runs", "list", "--json")).splitlines()]
        shown = await rightseat("runs", "show", runs[1]["id"])
        exported = json.loads(await rightseat("threads", "export", "t"))
        before = await kept.found()
        told = await rightseat("threads", "delete", "t", "--yes")
        after = await kept.is_gone()
        others = await runtime.thread("bob's", Principal("bob"))

    assert [(one["id"], one["user"], one["title"]) for one in threads] == [
        ("bob's", "bob", "Hi"),
        ("t", "alice", kept.secrets["name"]),
    ]
    assert [(one["thread"], one["outcome"]) for one in runs] == [("bob's", "done"), ("t", "done"), ("t", "waiting")]
    assert f"pay returned: paid {kept.secrets['result']}" in shown
    assert len(exported["thread"]["messages"]) == 4
    assert exported["approvals"][0]["call"]["name"] == "pay"
    assert before == set(PLACES)
    assert told == "Deleted the thread 't' with 2 runs.\n"
    assert after == set()
    assert others is not None


async def test_a_run_on_another_replica_stores_nothing_after_its_thread_was_deleted(tmp_path: Path) -> None:
    """The other server halts in the middle of its answer."""
    async with migrated_database() as url, asyncio.timeout(60):
        other = await begin(f"serve(Path({str(tmp_path)!r}), {url!r}, '1')")
        try:
            assert other.stdout is not None
            while not (await other.stdout.readline()).endswith(b"ToolCallReturned\n"):
                pass
            kept = Kept(tmp_path, url, "")
            kept.secrets = {"question": "Charge it.", "answer": "0:one"}
            before = await kept.found()
            async with elsewhere(url) as runtime:
                await runtime.delete("t", ANYONE)
                after = await kept.is_gone()
                with pytest.raises(RunNotFound):
                    await runtime.read("r")
                with pytest.raises(ThreadNotFound):
                    await runtime.delete("t", ANYONE)
            assert other.returncode is None
        finally:
            other.terminate()
            await other.wait()
        last = await kept.found()

    assert before == {"question", "answer"}
    assert (after, last) == (set(), set())


@asynccontextmanager
async def elsewhere(url: str) -> AsyncIterator[Runtime]:
    from tests.engines.test_dbos import serving

    async with serving(Path(), url) as runtime:
        yield runtime


async def test_what_could_not_be_deleted_at_once_is_deleted_later(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "state", None, "")

    class BackendUnavailable(LocalEngine):
        is_away = True

        async def delete_runs(self, run_ids: Sequence[str]) -> None:
            if self.is_away:
                raise ConnectionError("away")
            self.forgotten = list(run_ids)

    engine = BackendUnavailable()
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        log = await stack.enter_async_context(SqliteLog(kept.folder / "rightseat.db"))
        threads = await stack.enter_async_context(SqlThreads(connect(kept.folder / "rightseat.db")))
        runtime = Runtime({"default": Loop(ScriptedModel([says("Hi")]))}, log=log, threads=threads, engine=engine)
        stack.push_async_callback(runtime.close)
        await runtime.open()
        run = await runtime.start(Ask(messages=(user("Hi"),), thread_id="t"))
        async for batch in runtime.follow(run.run_id):
            assert not any(isinstance(entry.event, TextDelta) and entry.event.text != "Hi" for entry in batch)
        with pytest.raises(ConnectionError):
            await runtime.delete("t", run.principal)
        engine.is_away = False
        await until(lambda: hasattr(engine, "forgotten"))

    assert engine.forgotten == [run.run_id]
