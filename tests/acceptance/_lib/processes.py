"""Servers that a suite owns: started, waited for, killed and ended; and what the kernel tells of processes.

The standard library only, because every suite has packages of its own.
"""

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SERVE = Path(__file__).resolve().parent.parent / "serve"
INTERVAL_S = 0.05
ANSWERED = range(100, 500)
WELL = range(200, 201)
FLEET = ("RS_DATABASE_URL", "RS_REDIS_URL")
_LISTENING = "0A"  # in /proc/net/tcp


class NotStarted(Exception):
    """A server has ended before it answered, or did not answer in time."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def serve(suite: str, port: int) -> list[str]:
    """What starts the project's server for a suite."""
    if not os.access(SERVE, os.X_OK):
        raise NotStarted(f"there is no executable {SERVE}")
    return [str(SERVE), suite, str(port)]


def inherit(*kept: str) -> dict[str, str]:
    """The environment without the variables of rightseat, but for those that are named."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RS_") or name in kept}


def inherit_without(*dropped: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in dropped}


class Server:
    """A program on a port of 127.0.0.1, with its children in a process group; its output is in the file `log`.

    It is ready when GET `probe` has one of `statuses` and, of a program with several processes, when so many `workers`
    listen: one that is still starting takes CPU from what is judged. After `kill` or `stop` it can be started again.
    """

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        environment: Mapping[str, str],
        log: Path,
        *,
        probe: str = "/health",
        statuses: range = WELL,
        workers: int = 1,
        preexec: Callable[[], None] | None = None,
    ) -> None:
        self.command, self.port, self.environment, self.log = command, port, environment, log
        self.probe, self.statuses, self.workers, self.preexec = probe, statuses, workers, preexec
        self.origin = f"http://127.0.0.1:{port}"
        self.process: subprocess.Popen[bytes] | None = None
        self._has_group = False  # its number may be another's once it is gone

    def launch(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=self.preexec,
            )
        self._has_group = True

    def start(self, within: float = 180) -> None:
        self.launch()
        self.await_ready(within)

    def await_ready(self, within: float = 180) -> None:
        end = time.monotonic() + within
        while not self._is_ready(end, within):
            time.sleep(INTERVAL_S)

    async def ready(self, within: float = 180) -> None:
        """`await_ready` for a suite with an event loop, which goes on meanwhile."""
        end = time.monotonic() + within
        while not await asyncio.to_thread(self._is_ready, end, within):  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(INTERVAL_S)

    def _is_ready(self, end: float, within: float) -> bool:
        if not self.is_alive():
            code = self.process.returncode if self.process else None
            raise NotStarted(f"{self.command[0]} ended with code {code} before it answered:\n{self.tail()}")
        if ask(self.port, self.probe) in self.statuses and self._has_workers():
            return True
        if time.monotonic() > end:
            self.kill()
            raise NotStarted(f"{self.command[0]} did not answer GET {self.probe} within {within:.0f} s:\n{self.tail()}")
        return False

    def _has_workers(self) -> bool:
        return self.workers == 1 or count_listeners(self.port) >= self.workers

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self) -> str:
        return self.text()[-2000:]

    def pids(self) -> list[int]:
        return list_group(self.process.pid) if self.process else []

    def signal(self, number: int) -> None:
        """To the whole group."""
        if self.is_alive():
            self._signal_group(number)

    def kill(self) -> None:
        if self.process and self._has_group:
            self._signal_group(signal.SIGKILL)
            self.process.wait()
            self._has_group = False

    def stop(self, patience: float = 10) -> None:
        """SIGTERM; what is left of the group after `patience` seconds is killed."""
        if self.process and self.is_alive():
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self.kill()

    async def drain(self, within: float = 40) -> int | None:
        """SIGTERM to the whole group; the exit code, or None if it was killed after so many seconds."""
        self.signal(signal.SIGTERM)
        deadline = time.monotonic() + within
        while self.is_alive() and time.monotonic() < deadline:  # noqa: ASYNC110 - a process has no event
            await asyncio.sleep(INTERVAL_S)
        if self.is_alive():
            self.kill()
            return None
        return self.process.returncode if self.process else None

    def _signal_group(self, number: int) -> None:
        assert self.process
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def ask(port: int, path: str, timeout: float = 2) -> int | None:
    """The status of a GET, or None."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def list_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def list_group(group: int) -> list[int]:
    return [pid for pid in list_pids() if read_group(pid) == group]


def read_group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def read_stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from `state` on; the name before them may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def list_descendants(pid: int) -> list[int]:
    """Whatever session they are in."""
    children: dict[int, list[int]] = {}
    for other in list_pids():
        if fields := read_stat(other):
            children.setdefault(int(fields[1]), []).append(other)
    found, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def lives(pid: int) -> bool:
    return read_stat(pid)[:1] not in ([], ["Z"])


def read_resident(pid: int) -> int:
    """Bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def list_sockets(pid: int) -> set[str]:
    """Inodes. Files that are closed meanwhile are left out, not all that follow them."""
    targets = []
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                targets.append(str(entry.readlink()))
    return {target[8:-1] for target in targets if target.startswith("socket:[")}


def find_listeners(port: int) -> list[str]:
    """Inodes of the sockets that listen on this port."""
    return [row[9] for row in list_tcp_sockets() if read_local_port(row) == port and row[3] == _LISTENING]


def count_listeners(port: int) -> int:
    return len(find_listeners(port))


def list_ports() -> Iterable[tuple[str, int]]:
    """Inode and local port of each TCP socket."""
    return ((row[9], read_local_port(row)) for row in list_tcp_sockets())


def read_local_port(row: Sequence[str]) -> int:
    return int(row[1].rsplit(":", 1)[1], 16)


def list_tcp_sockets() -> list[list[str]]:
    tables = [Path(table) for table in ("/proc/net/tcp", "/proc/net/tcp6")]
    return [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()[1:]]
