"""PostgreSQL and Redis of a suite's own, in its temporary folder and on free ports, so that it may kill them."""

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.acceptance._lib.processes import free_port

# Without fsync a killed server loses nothing, only a killed machine does.
SETTINGS = ("fsync=off", "max_connections=300", "listen_addresses=127.0.0.1", "unix_socket_directories=")
INITDB = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
REDIS = ("--bind", "127.0.0.1", "--save", "", "--repl-diskless-sync-delay", "0", "--repl-timeout", "5")


class Missing(Exception):
    """Something that must be installed first."""


class Postgres:
    """PostgreSQL refuses to run as root: then it runs as the user `postgres`."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.port, self.folder = find_postgres(), free_port(), folder / "postgres"
        self.user = "postgres" if os.geteuid() == 0 else None
        self.log = (folder / "postgres.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if not self.folder.exists():
            self.folder.mkdir(mode=0o700)
            if self.user:
                shutil.chown(self.folder, self.user)
            self._call("initdb", "-D", str(self.folder), *INITDB)
        flags = [part for setting in (*SETTINGS, f"port={self.port}") for part in ("-c", setting)]
        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.folder, *flags],
            user=self.user,
            cwd="/",
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        probe = [str(self.bin / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(probe, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL does not start; see postgres.log")
            time.sleep(0.05)

    def crash(self) -> None:
        """An immediate shutdown: no checkpoint, connections cut, recovery at the next start."""
        if self.process:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def create(self, name: str) -> str:
        """The URL of the new database."""
        self._call("createdb", *self._address(), name)
        return self.url(name)

    def drop(self, name: str) -> None:
        self._call("dropdb", "--force", "--if-exists", *self._address(), name)

    def sql(self, database: str, text: str) -> str:
        flags = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
        return self._call("psql", *self._address(), "-d", database, *flags, "-c", text)

    def dump(self, database: str) -> str:
        """Everything that can be read from it, bytes in hexadecimal."""
        return self._call("pg_dump", *self._address(), "--data-only", database)

    def url(self, name: str, port: int | None = None, user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{name}"

    def _address(self) -> tuple[str, ...]:
        return ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres")

    def _call(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self.bin / program, *arguments],
            user=self.user,
            cwd="/",
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            check=True,
        )
        return done.stdout


def find_postgres() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if on_path := shutil.which("initdb"):
        found.insert(0, Path(on_path).resolve().parent)
    if not found:
        raise Missing("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return found[0]


class Redis:
    def __init__(self, folder: Path, *, keeps: bool = True, of: int | None = None) -> None:
        """`keeps`: with an append-only file. `of`: a replica of the Redis on that port."""
        program = shutil.which("redis-server") or shutil.which("valkey-server")
        if not program:
            raise Missing("Redis is not installed (Debian: apt-get install redis-server)")
        self.program, self.port, self.keeps, self.of = program, free_port(), keeps, of
        self.folder = folder / f"redis-{self.port}"
        self.folder.mkdir()
        self.log = (folder / f"redis-{self.port}.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        kept = ["--appendonly", "yes", "--appendfsync", "everysec"] if self.keeps else ["--appendonly", "no"]
        replica = ["--replicaof", f"127.0.0.1 {self.of}"] if self.of else []
        self.process = subprocess.Popen(
            [self.program, "--port", str(self.port), "--dir", str(self.folder), *REDIS, *kept, *replica],
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        deadline = time.monotonic() + 15
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("Redis does not start; see its log")
            time.sleep(0.02)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def url(self, port: int | None = None) -> str:
        return f"redis://127.0.0.1:{port or self.port}/0"

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=0.5) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False
