"""PostgreSQL, Redis, their poolers and proxies: our own, in a temporary folder and on free ports, so that we may break them."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import packages
import psycopg

from tests.acceptance._lib.processes import free_port
from tests.acceptance._lib.services import INITDB, find_postgres


def wait_for_port(port: int, process: subprocess.Popen, name: str, within: float = 30) -> None:
    deadline = time.monotonic() + within
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} does not start; see its log") from None
            time.sleep(0.05)


class Daemon:
    """One process of its own group, with its log beside."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.port = name, free_port()
        self.folder = folder / f"{name}-{self.port}"
        self.folder.mkdir(parents=True)
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self, program: packages.Program, *arguments: str | Path, user: str | None = None) -> None:
        with open(self.folder.with_suffix(".log"), "ab") as log:
            self.process = subprocess.Popen(
                [*program.command, *map(str, arguments)],
                env=os.environ | program.environment,
                user=user,
                cwd="/",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None


class Postgres(Daemon):
    """It refuses to run as root: then it runs as the user `postgres`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "postgres")
        self.bin = find_postgres()
        self.user = "postgres" if os.geteuid() == 0 else None
        self.folder.chmod(0o700)
        if self.user:
            shutil.chown(self.folder, self.user)
        self.log = open(self.folder.with_suffix(".log"), "ab")

    def create(self) -> None:
        self._call("initdb", "-D", self.folder, *INITDB)
        with open(self.folder / "pg_hba.conf", "a") as rules:
            rules.write("host replication all 127.0.0.1/32 trust\n")

    def copy(self, primary: "Postgres") -> None:
        """Become a streaming standby of `primary`."""
        source = ("-h", "127.0.0.1", "-p", primary.port, "-U", "postgres")
        self._call("pg_basebackup", *source, "-D", self.folder, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def start(self) -> None:
        settings = {
            "fsync": "off",  # a killed server loses nothing, only a killed machine does
            "max_connections": 300,
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "wal_level": "replica",
            "hot_standby": "on",
            "max_wal_senders": 5,
        }
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.launch(packages.Program((str(self.bin / "postgres"),)), "-D", self.folder, *flags, user=self.user)
        deadline = time.monotonic() + 60
        probe = [self.bin / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(probe, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start; see {self.folder.with_suffix('.log')}")
            time.sleep(0.05)

    def crash(self) -> None:
        """An immediate shutdown: no checkpoint, connections cut, recovery at the next start."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def promote(self) -> None:
        self.execute("SELECT pg_promote(true, 60)")

    def execute(self, statement: str, database: str = "postgres") -> list[tuple]:
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=10) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def url(self, database: str, port: int | None = None) -> str:
        return f"postgresql://postgres@127.0.0.1:{port or self.port}/{database}"

    def _call(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [self.bin / program, *map(str, arguments)],
            user=self.user,
            cwd="/",
            stdout=self.log,
            stderr=self.log,
            check=True,
        )


class Redis(Daemon):
    def __init__(self, folder: Path, of: int | None = None) -> None:
        super().__init__(folder, "redis")
        self.of = of

    def start(self) -> None:
        replica = ["--replicaof", f"127.0.0.1 {self.of}"] if self.of else []
        kept = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
        network = ["--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--repl-diskless-sync-delay", "0"]
        self.launch(packages.Program((packages.redis(),)), *map(str, [*network, *kept, *replica]))
        wait_for_port(self.port, self.process, "Redis")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class Sentinel(Daemon):
    def __init__(self, folder: Path, master: int) -> None:
        super().__init__(folder, "sentinel")
        self.file = self.folder / "sentinel.conf"
        self.file.write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
            f"sentinel monitor main 127.0.0.1 {master} 2\n"
            "sentinel down-after-milliseconds main 1500\nsentinel failover-timeout main 8000\n"
        )

    def start(self) -> None:
        self.launch(packages.Program((packages.redis(),)), self.file, "--sentinel")
        wait_for_port(self.port, self.process, "Sentinel")


class PgBouncer(Daemon):
    """It refuses to run as root, as PostgreSQL does."""

    def __init__(
        self, folder: Path, program: packages.Program, target: int, mode: str, prepared: int | None = None
    ) -> None:
        super().__init__(folder, "pgbouncer")
        self.program, self.user = program, "postgres" if os.geteuid() == 0 else None
        self.file = self.folder / "pgbouncer.ini"
        self.file.write_text(
            f"[databases]\n* = host=127.0.0.1 port={target} user=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = {mode}\nmax_client_conn = 500\ndefault_pool_size = {90 if mode == 'session' else 20}\n"
            "server_connect_timeout = 3\nserver_login_retry = 1\n"
            "ignore_startup_parameters = extra_float_digits,options\n"
            + (f"max_prepared_statements = {prepared}\n" if prepared else "")
        )
        if self.user:
            shutil.chown(self.folder, self.user)

    def start(self) -> None:
        self.launch(self.program, self.file, user=self.user)
        wait_for_port(self.port, self.process, "PgBouncer")


class HAProxy(Daemon):
    def __init__(self, folder: Path, sections: str) -> None:
        super().__init__(folder, "haproxy")
        self.program = packages.find("haproxy")
        self.file = self.folder / "haproxy.cfg"
        self.file.write_text(sections.replace("{port}", str(self.port)))

    def start(self) -> None:
        self.launch(self.program, "-db", "-f", self.file)
        wait_for_port(self.port, self.process, "HAProxy")


class Nginx(Daemon):
    def __init__(self, folder: Path, server: str) -> None:
        super().__init__(folder, "nginx")
        self.program = packages.find("nginx")
        self.file = self.folder / "nginx.conf"
        places = "".join(
            f"  {name}_temp_path {self.folder}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""
        self.file.write_text(
            f"{user}daemon off;\nworker_processes 1;\npid {self.folder}/pid;\nerror_log {self.folder}/error.log;\n"
            "events { worker_connections 4096; }\nhttp {\n  access_log off;\n"
            + places
            + server.replace("{port}", str(self.port))
            + "\n}\n"
        )

    def start(self) -> None:
        self.launch(self.program, "-c", self.file, "-p", self.folder, "-e", self.folder / "start.log")
        wait_for_port(self.port, self.process, "nginx")


class Proxy:
    """A TCP proxy that can refuse, lead elsewhere, or be cut as a network is: nothing arrives and nothing is refused."""

    def __init__(self, target: int) -> None:
        self.target, self.port = target, free_port()
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 18)

    def cut(self) -> None:
        self._open.clear()

    def heal(self) -> None:
        """What waited in it is dropped with its connections: a network that was away for long has forgotten them."""
        self.drop()
        self._open.set()

    def turn(self, target: int) -> None:
        """Lead to another port from now on; what is connected is cut off."""
        self.target = target
        self.drop()

    def drop(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def stop(self) -> None:
        self._server.close()
        self.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, both = asyncio.current_task(), {writer}
        self._tasks.add(task)
        self._writers |= both
        try:
            await self._open.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self.target, limit=1 << 18)
            both.add(back)
            self._writers |= both
            await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer))
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._writers -= both
            self._tasks.discard(task)

    async def _pipe(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()
