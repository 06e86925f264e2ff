"""`rightseat serve --workers N`: several server processes behind one port, for the cores of one machine.

Each worker has a socket of its own on the port, at which it listens once it is ready; the kernel distributes the
connections between those that listen. The supervisor keeps these sockets open until it stops, so that connections to a
worker that restarts wait and are not refused.

uvicorn's own supervisor starts `uvicorn.Server` from an import string; ours starts `RightseatServer`, which opens the
parts before the first request and reports an error as one line.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import monotonic

import click

from rightseat.cli import setup
from rightseat.cli.serve_options import ServeOptions
from rightseat.cli.server import address, announce, limit_unsent, listen, load_config
from rightseat.cli.startup import blocked_interrupts
from rightseat.cli.worker_process import WorkerProcess
from rightseat.config import Config, ConfiguredPart, Server
from rightseat.core.errors import ConfigError
from rightseat.parts import private_folder
from rightseat.stores.databases import lock_file

logger = logging.getLogger(__name__)

HEALTHY_AFTER_S = 60.0  # a worker that ran for so long is restarted at once
MAX_BACKOFF_S = 30.0


def serve_with_workers(options: ServeOptions, count: int, first: WorkerProcess, metrics_folder: Path) -> None:
    """Serve until SIGINT or SIGTERM. SIGHUP replaces the workers one after the other. `first` becomes one of them."""
    with blocked_interrupts():
        config = load_config(options)
    refuse_unshared_state(config)
    telemetry = config.telemetry
    setup.set_up_logging(form=telemetry.log_format, level=telemetry.log_level)
    with ExitStack() as stack:
        listeners = listen_for_workers(config.server, count)
        stack.callback(close_all, listeners)
        stack.enter_context(own_database(config))
        asyncio.run(Supervisor(options, config, listeners, metrics_folder).run(first))


def close_all(listeners: Sequence[socket.socket]) -> None:
    for listener in listeners:
        listener.close()


def refuse_unshared_state(config: Config) -> None:
    """Raises `ConfigError` if a worker would not find the threads and runs of another one."""
    parts = {"threads": config.threads, "log": config.log}
    if config.engine.type != "local":  # a local engine has no state
        parts["engine"] = config.engine
    unshared = [f"`{key}`" for key, part in parts.items() if not is_stored(part)]
    if unshared:
        raise ConfigError(
            f"--workers needs state that several processes share, but {' and '.join(unshared)} would be in the memory "
            "of each process. Use SQLite (`threads: {type: sql}`, `log: {type: sqlite}`), or PostgreSQL and Redis (see "
            "deploy/fleet.yaml), or serve without --workers."
        )


def is_stored(part: ConfiguredPart) -> bool:
    return bool(getattr(part.options, "url", None) or getattr(part.options, "path", None))


@contextmanager
def own_database(config: Config) -> Iterator[None]:
    """Lock the SQLite file of the threads against other servers, for all workers. Raises `ConfigError`."""
    path = getattr(config.threads.options, "path", None)
    if getattr(config.threads.options, "url", None) or path is None:
        yield
        return
    private_folder(path.parent)
    with closing(lock_file(path)):
        yield


def listen_for_workers(server: Server, count: int) -> list[socket.socket]:
    """A socket for each worker, all on one port."""
    with listen(server) as probe:  # with SO_REUSEPORT, an address that another server has would not be an error
        if sys.platform != "linux":  # elsewhere the kernel does not distribute connections between sockets
            return [probe.dup() for _ in range(count)]
        port = probe.getsockname()[1]
    return [bind_shared(server.host, port) for _ in range(count)]


def bind_shared(host: str, port: int) -> socket.socket:
    """A socket that does not listen yet: connections to a worker that is still starting would wait for it."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if bound.family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    limit_unsent(bound)
    bound.bind((host, port))
    return bound


class Supervisor:
    """Starts the workers, replaces those that end, and stops them all."""

    def __init__(
        self, options: ServeOptions, config: Config, listeners: list[socket.socket], metrics_folder: Path
    ) -> None:
        self._options = options
        self._config = config
        self._listeners = listeners
        self._metrics_folder = metrics_folder
        self._workers: list[Worker] = []
        self._replacing = [asyncio.Lock() for _ in listeners]
        self._processes: set[Worker] = set()
        """Also those that are starting, or finishing their responses after they were replaced."""
        self._stopped = asyncio.Event()
        self._restart: asyncio.Task[None] | None = None

    async def run(self, first: WorkerProcess) -> None:
        """Raises `click.exceptions.Exit` if the first worker cannot start. It has printed the reason."""
        self._handle_signals()
        try:
            await self._start_all(first)
            keepers = [asyncio.create_task(self._keep(index)) for index in range(len(self._workers))]
            await self._stopped.wait()
            for keeper in keepers:
                keeper.cancel()
        finally:
            await self._stop_all()

    async def _start_all(self, first: WorkerProcess) -> None:
        """The first worker creates tables and secrets before the others start. `_keep` restarts others that fail."""
        (is_started,) = await self._await_started([self._create(0, first)])
        if not is_started:
            raise click.exceptions.Exit(1)
        await self._await_started([self._create(index) for index in range(1, len(self._listeners))])
        gc.enable()
        announce(self._config, address(self._listeners[0], "https" if self._options.tls_self_signed else "http"))
        pids = [str(worker.pid) for worker in self._workers if worker.started.result()]
        number = str(len(pids)) if len(pids) == len(self._workers) else f"{len(pids)} of {len(self._workers)}"
        click.echo(f"  workers  {number}: processes {', '.join(pids)}; SIGHUP to process {os.getpid()} replaces them")

    async def _await_started(self, workers: "list[Worker]") -> list[bool]:
        started = await asyncio.gather(*(worker.started for worker in workers))
        if self._stopped.is_set():
            raise click.exceptions.Exit(0)
        self._workers += workers
        return started

    def _create(self, index: int, process: WorkerProcess | None = None) -> "Worker":
        worker = Worker(process or WorkerProcess(self._options), self._listeners[index])
        self._processes.add(worker)
        worker.ended.add_done_callback(lambda _: self._forget(worker))
        return worker

    def _forget(self, worker: "Worker") -> None:
        self._processes.discard(worker)
        remove_gauges(self._metrics_folder, worker.pid)

    async def _keep(self, index: int) -> None:
        """Start a new worker whenever one ends. One that ends soon after its start is started again ever later."""
        failures = 0
        while True:
            worker = self._workers[index]
            exit_code = await asyncio.shield(worker.ended)
            async with self._replacing[index]:
                if self._workers[index] is not worker:
                    continue
                failures = 0 if worker.age > HEALTHY_AFTER_S else failures + 1
                delay = min(2.0 ** (failures - 2), MAX_BACKOFF_S) if failures > 1 else 0.0
                when = f"in {delay:g} s" if delay else "now"
                logger.error(
                    "Worker %d (process %d) %s. Starting another %s.",
                    *(index + 1, worker.pid, describe_exit(exit_code), when),
                )
                if delay:
                    self._stop_listening(index)
                await asyncio.sleep(delay)
                if self._stopped.is_set():
                    return
                self._workers[index] = self._create(index)

    def _stop_listening(self, index: int) -> None:
        """The other workers get its connections until it is started again."""
        if sys.platform == "linux":
            listener = self._listeners[index]
            host, port = listener.getsockname()[:2]
            listener.close()
            self._listeners[index] = bind_shared(host, port)

    async def _replace_all(self) -> None:
        """Replace each worker by a new one, which first has to be ready. Active responses have time to finish."""
        for index, _ in enumerate(self._workers):
            async with self._replacing[index]:
                if self._stopped.is_set():
                    return
                old, new = self._workers[index], self._create(index)
                if not await new.started:
                    logger.error("The new process of worker %d did not start. The old one continues.", index + 1)
                    return
                self._workers[index] = new
                old.terminate()
                await asyncio.shield(old.ended)
        logger.info("All workers were replaced.")

    async def _stop_all(self) -> None:
        if self._restart is not None:
            self._restart.cancel()
        ends = [worker.ended for worker in self._processes]
        for worker in self._processes:
            worker.terminate()
        await asyncio.gather(*ends)

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        if not sys.stdin or not sys.stdin.isatty():  # a terminal that is closed sends SIGHUP, too
            loop.add_signal_handler(signal.SIGHUP, self._begin_restart)

    def _stop(self) -> None:
        self._stopped.set()
        close_all(self._listeners)  # or connections would wait at a socket at which no worker accepts them
        for worker in self._processes:  # those that are starting, too
            worker.terminate()

    def _begin_restart(self) -> None:
        if self._restart is None or self._restart.done():
            self._restart = asyncio.create_task(self._replace_all())


class Worker:
    """A server process. `started` is False if it ended before it could serve."""

    def __init__(self, process: WorkerProcess, listener: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._created_at = monotonic()
        self._channel, self._process = process.channel, process.process
        self.pid = process.pid
        self.started: asyncio.Future[bool] = self._loop.create_future()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        process.serve(listener)
        self._loop.add_reader(self._channel.fileno(), self._set_started)
        self._loop.add_reader(self._process.sentinel, self._set_ended)

    @property
    def age(self) -> float:
        return monotonic() - self._created_at

    def terminate(self) -> None:
        """Active responses have `server.shutdown_timeout` seconds to end."""
        if not self.ended.done():
            self._process.terminate()

    def _set_started(self) -> None:
        self._loop.remove_reader(self._channel.fileno())
        with self._channel:
            try:
                is_started = self._channel.recv()
            except (EOFError, ConnectionResetError):
                is_started = False
        self.started.set_result(is_started)

    def _set_ended(self) -> None:
        self._loop.remove_reader(self._process.sentinel)
        self._process.join()
        self.ended.set_result(self._process.exitcode or 0)


def describe_exit(exit_code: int) -> str:
    return f"was ended by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"ended with status {exit_code}"


def remove_gauges(folder: Path, pid: int) -> None:
    """Gauges of an ended process no longer count. Its counters do: a sum must not fall."""
    for file in folder.glob(f"gauge_live*_{pid}.db"):
        file.unlink(missing_ok=True)
