"""What only the log in Redis promises: what happens when Redis fails, and how long it keeps what it has."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from rightseat import parts
from rightseat.core.errors import (
    ConfigError,
    LogDataLost,
    LogTruncated,
    LogUnreachable,
    LogWriteFailed,
    NotConfigured,
    RunNotFound,
)
from rightseat.core.events import Event, RunFailed, RunFinished, TextDelta
from rightseat.core.log import Entry, Log, Writer
from rightseat.logs.redis import Options, build
from rightseat.logs.redis.backend import find_problem
from rightseat.logs.redis.connection import build_pool
from rightseat.logs.shared import subscriber
from rightseat.logs.shared.log import SharedLog
from tests.conditions import Paced, until
from tests.services import REDIS, OwnRedis, free_port, keys, own_redis, proxy


def deltas(size: int) -> list[Event]:
    return [TextDelta("m", str(number)) for number in range(size)]


async def read(log: Log, run_id: str, after: str | None = None) -> list[Entry]:
    return [entry async for batch in log.follow(run_id, after) for entry in batch]


def built(url: str, *, prefix: str = "rightseat:", min_replicas: int = 0, timeout: float = 20.0) -> SharedLog:
    log = build(Options(url=SecretStr(url), prefix=prefix, min_replicas=min_replicas, timeout=timeout))
    assert isinstance(log, SharedLog)
    return log


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[OwnRedis]:
    async with own_redis(tmp_path / "redis") as server:
        yield server


async def speak(writer: Writer, stop: asyncio.Event) -> int:
    """Say something every two milliseconds, until told to stop. Returns how often."""
    async for number in Paced(count(), 0.002):
        if stop.is_set():
            return number
        await writer.append(TextDelta("m", str(number)))
    raise AssertionError


class Listener:
    """Follows a run as a client does: when it is told that entries are gone, it goes on from where it is told to."""

    def __init__(self, log: Log, run_id: str) -> None:
        self.heard: list[Entry] = []
        self.gone: list[LogTruncated] = []
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._listen(log, run_id))

    async def _listen(self, log: Log, run_id: str) -> None:
        after: str | None = None
        while True:
            try:
                async for batch in log.follow(run_id, after):
                    self.heard += batch
                    self._news.set()
            except LogTruncated as gone:
                self.gone.append(gone)
                after = gone.resume
            else:
                return

    async def has_heard(self, more: int) -> None:
        wanted = len(self.heard) + more
        while len(self.heard) < wanted:
            self._news.clear()
            await self._news.wait()


@asynccontextmanager
async def two(server: OwnRedis, *, min_replicas: int = 0) -> AsyncIterator[tuple[Log, Log]]:
    async with (
        built(server.url, min_replicas=min_replicas) as here,
        built(server.url, min_replicas=min_replicas) as there,
    ):
        yield here, there


async def is_written(client: "Redis") -> bool:
    return not (await client.info("persistence"))["aof_rewrite_in_progress"]


async def is_followed(server: OwnRedis) -> bool:
    """Does its replica acknowledge what it gets? It does so some time after it says that the link is up."""
    async with Redis.from_url(server.url) as client:
        await client.set("is-followed", "")
        return bool(await client.wait(1, 500))


async def is_gone(log: Log) -> bool:
    try:
        await log.read("r")
    except RunNotFound:
        return True
    return False


async def is_watched(log: Log) -> bool:
    assert isinstance(log, SharedLog)
    return "r" in log._subscriber


# Redis restarts


async def test_a_redis_that_comes_back_with_its_file_is_waited_for_and_nothing_is_lost_or_doubled(
    server: OwnRedis,
) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(30), two(server) as (here, there):
        await here.create("r")
        near, far = Listener(here, "r"), Listener(there, "r")
        async with here.open("r", 1) as writer:
            speaking = asyncio.create_task(speak(writer, stop))
            for _ in range(3):
                await far.has_heard(20)
                await server.kill()
                await asyncio.sleep(0.1)  # writer and readers try to connect in vain meanwhile
                await server.start()
            await far.has_heard(20)
            stop.set()
            said = await speaking
        await asyncio.gather(near.task, far.task)
        kept = await there.read("r")

    ids = [f"1-{number}" for number in range(1, said + 1)]
    assert [entry.id for entry in near.heard] == ids
    assert [entry.id for entry in far.heard] == ids
    assert [entry.id for entry in kept] == ids
    assert near.gone == far.gone == []


async def test_a_redis_that_comes_back_empty_is_reported_to_writers_and_readers(server: OwnRedis) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(30), two(server) as (here, there):
        await here.create("r")
        near, far = Listener(here, "r"), Listener(there, "r")
        async with here.open("r", 1) as writer:
            speaking = asyncio.create_task(speak(writer, stop))
            await far.has_heard(20)
            await server.kill()
            server.empty()
            await server.start()
            with pytest.raises(LogDataLost) as lost:
                await speaking
            async with here.open("r", 2, base=lost.value.seq) as again:
                await again.append(TextDelta("m", "as it is now"))
                await again.append(RunFinished("done"))
        await asyncio.gather(near.task, far.task)
        late = Listener(there, "r")
        await late.task

    base = lost.value.seq
    ids = [f"1-{number}" for number in range(1, base + 1)] + [f"2-{base + 1}", f"2-{base + 2}"]
    assert [entry.id for entry in near.heard] == ids
    assert near.gone == []
    # The other one may have missed the last entries before the loss, or have seen one that its writer does not know to
    # be kept. Then it was told, and where to go on.
    told = [f"1-{number}" for number in range(1, len(far.heard) - 1)] + ids[-2:]
    assert [entry.id for entry in far.heard] == (told if far.gone else ids)
    assert [gone.resume for gone in (*far.gone, *late.gone)] == [f"2-{base}"] * (len(far.gone) + 1)
    assert [entry.id for entry in late.heard] == ids[-2:]


async def test_a_redis_that_lost_only_the_last_entries_leaves_no_gap(server: OwnRedis) -> None:
    """As after a failover to a replica that was behind: the stream is there, and its top is lower than it was."""
    async with asyncio.timeout(30), two(server) as (here, there), Redis.from_url(server.url) as client:
        await here.create("r")
        async with here.open("r", 1) as writer:
            for event in deltas(10):
                await writer.append(event)
                await here.read("r")
            await client.copy("rightseat:log:r", "copy")
            for event in deltas(10):
                await writer.append(event)
            await here.read("r")
            await client.rename("copy", "rightseat:log:r")
            await client.config_set("appendonly", "no")
            await client.config_set("appendonly", "yes")
            await until(partial(is_written, client))
            await server.kill()
            await server.start()
            with pytest.raises(LogDataLost) as lost:
                await speak(writer, asyncio.Event())
        with pytest.raises(LogTruncated) as gone:
            await read(there, "r", after="1-20")

    assert lost.value.seq == 20
    assert gone.value.resume == "1-10"


async def test_a_stream_that_is_lost_is_reported_to_a_follower_in_another_process(
    server: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriber, "CHECK_INTERVAL_S", 0.05)
    monkeypatch.setattr(subscriber, "MISSING_TIMEOUT_S", 0.1)
    async with asyncio.timeout(30), two(server) as (here, there):
        await here.create("r")
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            far = asyncio.create_task(read(there, "r"))
            await until(partial(is_watched, there))
            await here.delete(("r",))
            with pytest.raises(RunNotFound):
                await far


async def test_a_redis_that_stays_unreachable_ends_the_run_with_an_error(
    server: OwnRedis, caplog: pytest.LogCaptureFixture
) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(60), built(server.url, timeout=0.5) as here:
        await here.create("r")
        near = Listener(here, "r")
        async with here.open("r", 1) as writer:
            speaking = asyncio.create_task(speak(writer, stop))
            await near.has_heard(5)
            await server.kill()
            with pytest.raises(LogWriteFailed):
                await speaking
            await writer.append(RunFailed("log_write_failed", "Redis is away."))
        await near.task
        with pytest.raises(LogUnreachable):
            await here.create("another")

    assert near.heard[-1].event == RunFailed("log_write_failed", "Redis is away.")
    assert [entry.seq for entry in near.heard] == list(range(1, len(near.heard) + 1))
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sum("retrying for at most 0.5 s" in line for line in said) == 1
    assert any("still failing after" in line for line in said)


async def test_a_run_that_ended_while_redis_was_away_ends_for_the_others_when_it_is_back(server: OwnRedis) -> None:
    stop = asyncio.Event()
    async with asyncio.timeout(60), built(server.url, timeout=0.5) as here, built(server.url) as there:
        await here.create("r")
        far = Listener(there, "r")
        async with here.open("r", 1) as writer:
            speaking = asyncio.create_task(speak(writer, stop))
            await far.has_heard(5)
            await server.kill()
            with pytest.raises(LogWriteFailed):
                await speaking
            await writer.append(RunFailed("log_write_failed", "Redis is away."))
        await server.start()
        await far.task

    assert far.heard[-1].event == RunFailed("log_write_failed", "Redis is away.")
    assert [entry.seq for entry in far.heard] == list(range(1, len(far.heard) + 1))


async def test_writers_wait_while_redis_is_away_and_memory_stays_bounded(server: OwnRedis) -> None:
    async with asyncio.timeout(60), built(server.url) as here:
        await here.create("r")
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "first"))
            await here.read("r")
            await server.kill()
            written = 0

            async def write_on() -> None:
                nonlocal written
                for event in deltas(5000):
                    await writer.append(event)
                    written += 1

            writing = asyncio.create_task(write_on())
            await asyncio.wait((writing,), timeout=0.3)
            ahead = written
            await server.start()
            await writing
        entries = await here.read("r")

    assert 500 < ahead < 3000
    assert [entry.seq for entry in entries] == list(range(1, 5002))


# A writer dies


WRITING = """
import asyncio, sys
from pydantic import SecretStr
from rightseat.core.events import TextDelta
from rightseat.logs.redis import Options, build

async def write(log, run_id):
    await log.create(run_id)
    async with log.open(run_id, 1) as writer:
        for number in range(1_000_000):
            await writer.append(TextDelta("m", f"{number} "))
            await asyncio.sleep(0.0005)

async def show(log, run_id):
    async for batch in log.follow(run_id):
        sys.stdout.write("".join(f"{run_id} {entry.id}\\n" for entry in batch))
        sys.stdout.flush()

async def main(url, prefix):
    async with build(Options(url=SecretStr(url), prefix=prefix)) as log:
        writing = [asyncio.create_task(write(log, f"r{number}")) for number in range(5)]
        await asyncio.sleep(0.05)
        await asyncio.gather(*writing, *(show(log, f"r{number}") for number in range(5)))

asyncio.run(main(*sys.argv[1:]))
"""


async def kill_after(prefix: str, lines: int) -> list[Sequence[str]]:
    """Have a process write five runs at once, kill it in the middle, and say what it had shown of them."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITING, REDIS, prefix, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    shown = [await child.stdout.readline() for _ in range(lines)]
    child.kill()
    shown += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    return [line.decode().split() for line in shown if line.endswith(b"\n")]


@pytest.mark.parametrize("lines", [1, 57, 500, 1500])
async def test_after_a_kill_every_visible_entry_is_stored_and_the_run_continues(lines: int) -> None:
    async with asyncio.timeout(30), keys() as prefix, built(REDIS, prefix=prefix) as there:
        far = [Listener(there, "r0")] if lines > 500 else []
        shown = await kill_after(prefix, lines)
        for number in range(5):
            before = await there.read(f"r{number}")
            mine = [entry_id for run_id, entry_id in shown if run_id == f"r{number}"]
            assert mine == [entry.id for entry in before][: len(mine)]
            assert [entry.seq for entry in before] == list(range(1, len(before) + 1))
        before = await there.read("r0")
        joining = Listener(there, "r0")
        async with there.open("r0", 2) as writer:
            await writer.append(RunFinished("done"))
        await asyncio.gather(joining.task, *(one.task for one in far if not one.task.done()))

    assert [entry.id for entry in joining.heard] == [*(entry.id for entry in before), f"2-{len(before) + 1}"]


# Replicas


async def test_nothing_is_shown_that_the_replica_does_not_have(tmp_path: Path, server: OwnRedis) -> None:
    """Neither to local followers nor to others; without `min_replicas` both would see it."""
    async with asyncio.timeout(30), AsyncExitStack() as stack:
        replica = await stack.enter_async_context(own_redis(tmp_path / "replica", server))
        here, there = await stack.enter_async_context(two(server, min_replicas=1))
        careless = await stack.enter_async_context(built(server.url))
        await here.create("r")
        near, far = Listener(here, "r"), Listener(there, "r")
        async with here.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            await asyncio.gather(near.has_heard(1), far.has_heard(1))
            await replica.kill()
            await writer.append(TextDelta("m", "two"))
            eager = Listener(careless, "r")
            await eager.has_heard(2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1.5):  # longer than one attempt to reach the replica
                    await asyncio.gather(near.has_heard(1), far.has_heard(1))
            assert len(near.heard) == len(far.heard) == 1
            await replica.start()
        await asyncio.gather(near.task, far.task, eager.task)

    assert [entry.id for entry in near.heard] == [entry.id for entry in far.heard] == ["1-1", "1-2"]


@pytest.mark.parametrize("min_replicas", [0, 1])
async def test_a_failover_to_a_stale_replica_loses_no_entry_that_was_read_or_reports_it(
    tmp_path: Path, server: OwnRedis, min_replicas: int
) -> None:
    """With `min_replicas` nothing is lost. Without it something may be, and then the writer gets an error."""
    stop = asyncio.Event()
    async with asyncio.timeout(90), AsyncExitStack() as stack:
        link = await stack.enter_async_context(proxy(server.port))
        replica = await stack.enter_async_context(own_redis(tmp_path / "replica", link))
        await until(partial(is_followed, server))
        way = await stack.enter_async_context(proxy(server.port))
        log = await stack.enter_async_context(
            built(f"redis://127.0.0.1:{way.port}/0", min_replicas=min_replicas, timeout=60)
        )
        await log.create("r")
        near = Listener(log, "r")
        async with log.open("r", 1) as writer:
            speaking = asyncio.create_task(speak(writer, stop))
            await near.has_heard(20)
            link.cut()
            await asyncio.wait((speaking,), timeout=0.7)
            await server.kill()
            await replica.promote()
            if min_replicas:
                await stack.enter_async_context(own_redis(tmp_path / "third", replica))
                await until(partial(is_followed, replica))
            way.target = replica.port
            if min_replicas:
                await near.has_heard(20)
                stop.set()
                await speaking
            else:
                with pytest.raises(LogDataLost):
                    await speaking
        await near.task
        kept = await log.read("r")

    seen, there = [entry.id for entry in near.heard], [entry.id for entry in kept]
    if min_replicas:
        assert seen == there == [f"1-{number}" for number in range(1, len(seen) + 1)]
    else:
        assert len(there) < len(seen)


# How long it keeps


@asynccontextmanager
async def finished_run() -> AsyncIterator[tuple[SharedLog, Redis, str]]:
    """The log of a finished run `r`, a client, and the prefix of the keys."""
    async with (
        asyncio.timeout(30),
        keys() as prefix,
        built(REDIS, prefix=prefix) as log,
        Redis.from_url(REDIS) as client,
    ):
        await log.create("r")
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            await log.read("r")
            assert await client.ttl(f"{prefix}log:r") > 80_000
        yield log, client, prefix


async def test_a_finished_run_expires_and_a_run_in_progress_does_not() -> None:
    async with finished_run() as (log, client, prefix):
        after = await client.ttl(f"{prefix}log:r")
        async with log.open("r", 2):
            again = await client.ttl(f"{prefix}log:r")

    assert 3500 < after <= 3600
    assert again > 80_000


async def test_a_judged_run_expires_later() -> None:
    async with finished_run() as (log, client, prefix):
        await log.keep_judged("r")
        kept = await client.ttl(f"{prefix}log:r")
        await log.keep_judged("gone")
        missing = await client.exists(f"{prefix}log:gone")

    assert 13 * 86_400 < kept <= 14 * 86_400
    assert missing == 0


async def test_an_expired_run_is_not_found() -> None:
    async with asyncio.timeout(30), keys() as prefix:
        options = Options(url=SecretStr(REDIS), prefix=prefix, retention_minutes=1 / 60)
        log = build(options)
        assert isinstance(log, SharedLog)
        async with log:
            await log.create("r")
            async with log.open("r", 1) as writer:
                await writer.append(TextDelta("m", "one"))
            await until(partial(is_gone, log))


# What goes wrong


@pytest.mark.parametrize(
    "url", ["sentinel://a:26379/main", "redis+sentinel://a:26379/main/0", "redis://user:p,w@a:6379,b:6379/0"]
)
def test_a_url_of_sentinel_or_of_several_hosts_is_refused_with_the_cure(url: str) -> None:
    with pytest.raises(ConfigError, match="proxy that asks for the role"):
        build_pool(url)


def test_a_password_may_have_commas() -> None:
    assert build_pool("redis://user:p,w@a:6379/0").connection_kwargs["password"] == "p,w"


async def test_a_server_that_is_no_redis_is_reported_when_the_log_is_opened(server: OwnRedis) -> None:
    with pytest.raises(ConfigError, match="redis://user:password@host:6379/0"):
        built("http://127.0.0.1:6379")
    with pytest.raises(ConfigError, match="Is it running"):
        async with built(f"redis://127.0.0.1:{free_port()}"):
            pass
    async with Redis.from_url(server.url) as client:
        await client.config_set("requirepass", "secret")
    with pytest.raises(ConfigError):
        async with built(server.url):
            pass
    with pytest.raises(ConfigError, match="Check user and password"):
        async with built(server.url.replace("//", "//:wrong@")):
            pass
    async with built(server.url.replace("//", "//:secret@")) as log:
        await log.create("r")


async def test_a_redis_that_may_drop_runs_is_warned_of(server: OwnRedis, caplog: pytest.LogCaptureFixture) -> None:
    async with Redis.from_url(server.url) as client:
        await client.config_set("maxmemory", "100mb")
        await client.config_set("maxmemory-policy", "volatile-lru")
    async with built(server.url):
        pass

    assert any("maxmemory-policy noeviction" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        ({"redis_version": "7.0.15", "redis_mode": "standalone"}, None),
        ({"redis_version": "6.2.0"}, None),
        ({"redis_version": "6.0.16"}, "6.2 or newer"),
        ({"redis_version": "7.0.15", "redis_mode": "cluster"}, "part of a cluster"),
    ],
)
def test_a_redis_that_cannot_have_the_log_is_refused(info: dict[str, str], problem: str | None) -> None:
    found = find_problem(info)

    assert found is None if problem is None else problem in str(found)


async def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(Options(url=SecretStr("redis://:secret@host")))


async def test_a_log_that_is_not_open_raises() -> None:
    with pytest.raises(NotConfigured, match="not open"):
        async with built(REDIS).open("r", 1):
            pass


def test_it_is_found_by_its_name() -> None:
    assert parts.options(parts.find("logs", "redis")) is Options
