"""Redis and PostgreSQL for tests: the ones of this machine, each test in a corner of its own, or a Redis to break."""

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"
REDIS = "redis://127.0.0.1:6379/0"


@asynccontextmanager
async def schema() -> AsyncIterator[str]:
    """An empty schema of its own, as a URL that leads nowhere else, for tests of migrations and of schemas.

    Others use `databases.migrated_database`, which is cheaper. It also drops the schemas of runs that were killed: the
    name has the time.
    """
    name = f"test_{int(time.time()):08x}_{secrets.token_hex(8)}"
    try:
        connection = await asyncpg.connect(POSTGRES)
    except OSError:
        pytest.skip("there is no PostgreSQL on this machine")
    try:
        await connection.execute(f"CREATE SCHEMA {name}")
        yield f"{POSTGRES}?options=-csearch_path%3D{name}"
    finally:
        await connection.execute(f"DROP SCHEMA {name} CASCADE")
        await connection.close()


@asynccontextmanager
async def keys() -> AsyncIterator[str]:
    """A prefix of its own in this machine's Redis; what has it is gone afterwards."""
    prefix = f"test-{secrets.token_hex(8)}:"
    client = Redis.from_url(REDIS)
    try:
        await client.ping()
    except (RedisError, OSError):
        await client.aclose()
        pytest.skip("there is no Redis on this machine")
    try:
        yield prefix
    finally:
        async for key in client.scan_iter(f"{prefix}*", count=5000):
            await client.unlink(key)
        await client.aclose()


class OwnRedis:
    """A Redis that a test may kill and start again, with its file or without; with a replica if it names its master."""

    def __init__(self, folder: Path, master: "OwnRedis | Proxy | None" = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._master = master
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        places = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "")
        lasting = ("--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0")
        following = ("--replicaof", "127.0.0.1", str(self._master.port)) if self._master else ()
        self._process = await asyncio.create_subprocess_exec(
            "redis-server", *places, *lasting, *following, stdout=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(30):  # a copy takes a while where others keep the machine busy
            await self.is_up()

    async def is_up(self) -> None:
        async with Redis(port=self.port) as client:
            while True:
                try:
                    await client.ping()
                    if not self._master or (await client.info("replication"))["master_link_status"] == "up":
                        return
                except (RedisError, OSError):
                    pass
                await asyncio.sleep(0.02)  # a server that starts sends no event

    async def promote(self) -> None:
        """It follows nobody any more."""
        self._master = None
        async with Redis(port=self.port) as client:
            await client.execute_command("REPLICAOF", "NO", "ONE")  # type: ignore[no-untyped-call]

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def empty(self) -> None:
        for file in self.folder.rglob("*"):
            if file.is_file():
                file.unlink()


@asynccontextmanager
async def own_redis(folder: Path, master: "OwnRedis | Proxy | None" = None) -> AsyncIterator[OwnRedis]:
    server = OwnRedis(folder, master)
    try:
        await server.start()
    except FileNotFoundError:
        pytest.skip("redis-server is not installed")
    try:
        yield server
    finally:
        await server.kill()


class Proxy:
    """Stands between a server and its clients, and fails as networks do."""

    def __init__(self, port: int) -> None:
        self.port = 0
        self.is_mute = False  # what the server says does not arrive
        self.mute_after: Iterable[bytes] = ()  # nor what it says once it was told one of these
        self.swallowed = asyncio.Event()  # something did not
        self.on_refused: Callable[[], None] = lambda: None  # a connection while it is cut
        self.target = port
        self._is_cut = False
        self._streams: set[asyncio.StreamWriter] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            self.on_refused()
            return writer.close()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:  # the server is down
            return writer.close()
        self._streams |= {writer, far_writer}
        await asyncio.gather(self._pass(reader, far_writer, True), self._pass(far_reader, writer, False))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_asking: bool) -> None:
        try:
            while data := await reader.read(65536):
                if is_asking and any(words in data for words in self.mute_after):
                    self.is_mute = True
                if is_asking or not self.is_mute:
                    writer.write(data)
                else:
                    self.swallowed.set()
        except OSError:
            pass
        writer.close()
        self._streams.discard(writer)

    def cut(self) -> None:
        """Every connection is gone, and no new one is made."""
        self._is_cut = True
        for stream in self._streams:
            stream.transport.abort()

    def mend(self) -> None:
        self._is_cut = self.is_mute = False
        self.mute_after = ()


@asynccontextmanager
async def proxy(port: int) -> AsyncIterator[Proxy]:
    found = Proxy(port)
    server = await asyncio.start_server(found._serve, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        found.cut()
        server.close()
        await asyncio.sleep(0.01)  # for the streams to notice


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
