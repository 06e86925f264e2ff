"""A llama-server of our own: started with a GGUF file, watched, started again when it dies, ended when we end.

    loading → ready → (it dies) → waiting → loading → …

Requests that come while it is not ready are refused with `ModelLoading`, which says how far it is.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self

from rightseat.core import parent_death
from rightseat.core.closing import closing
from rightseat.core.errors import ConfigError, ModelLoading
from rightseat.models.completion import gguf
from rightseat.models.completion.engine import Description, End, Piece, Request
from rightseat.models.completion.engines import binaries
from rightseat.models.completion.engines.llama_cpp import LlamaCpp
from rightseat.models.completion.engines.options import LlamaCppOptions
from rightseat.models.completion.engines.sessions import Sessions, Slot

logger = logging.getLogger(__name__)

LOOK_EVERY = 0.1  # seconds between two looks at whether it is ready
TELL_EVERY = 2.0  # seconds between two lines about how far it is
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # seconds before it is started again
STEADY = 60.0  # seconds of work after which a death is taken for a first one
LAST_WORDS = 5.0  # seconds that it has to end by itself
KEPT_LINES = 8  # of its output, to be shown when it dies


class Spawned:
    """`model` is the file. What cannot work at all is said when it is opened, as a `ConfigError`."""

    has_triggers = LlamaCpp.has_triggers

    def __init__(self, options: LlamaCppOptions, model: Path) -> None:
        self.options = options
        self.model = model
        self.ready = asyncio.Event()
        self._port = options.port
        self._server: LlamaCpp | None = None
        self._sessions: Sessions | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._header = gguf.Header()
        self._since = 0.0
        self._trouble = ""
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)

    async def __aenter__(self) -> Self:
        self._header = await asyncio.to_thread(gguf.read, self.model)
        binary = await asyncio.to_thread(binaries.find, self.options.binary)
        self._port = free_port(self.options.port)
        url = f"http://127.0.0.1:{self._port}"
        self._server = LlamaCpp(
            url,
            api_key=self.options.api_key,
            patience=self.options.patience,
            has_llguidance=self.options.llguidance,
            has_template=bool(self._header.template),
        )
        if self.options.sessions.number:
            slots = [Slot(number) for number in range(self.options.slots)]
            known_by = fingerprint(self.model, binary, self.options)
            self._sessions = Sessions(self._server, self.options.sessions, known_by, slots)
            await asyncio.to_thread(self._sessions.open)
        command = [str(binary), *write_arguments(self.options, self.model, self._port)]
        logger.info("starting %s for %s on %s", binary, self.model.name, url)
        await self._start(command)
        self._watch = asyncio.create_task(self._look_after(command), name=f"engine of {self.model.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        if self._sessions is not None and self.ready.is_set():
            await self._sessions.save_all()
        self.ready.clear()
        await self._end()
        if self._server is not None:
            await self._server.client.aclose()

    async def describe(self) -> Description:
        return await self._working().describe()

    async def count(self, text: str) -> int | None:
        return await self._working().count(text)

    async def generate(self, request: Request) -> AsyncIterator[Piece | End]:
        server, sessions = self._working(), self._sessions
        pieces = server.generate(request) if sessions is None else sessions.generate(request)
        async with closing(pieces) as reading:
            async for piece in reading:
                yield piece

    @property
    def place(self) -> str:
        return f"a llama-server of our own, with {self.model}"

    async def preview(self) -> Description:
        """What the file and the binary are, without starting anything. Raises `ConfigError`."""
        header = await asyncio.to_thread(gguf.read, self.model)
        await asyncio.to_thread(binaries.find, self.options.binary)
        name = header.name or self.model.stem
        return Description(model=name, template=header.template, bos=header.bos, eos=header.eos, context=header.context)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def wait(self) -> None:
        """Until it is ready. Raises `ModelLoading` where it dies instead."""
        while not self.ready.is_set():
            if self._trouble:
                raise ModelLoading(self.status())
            await asyncio.sleep(LOOK_EVERY)

    def status(self) -> str:
        """How far it is, in a sentence for whoever waits."""
        if self.ready.is_set():
            return f"The model {self.model.name} is loaded."
        if self._trouble:
            return f"The engine of the model {self.model.name} {self._trouble}, and is being started again."
        took, share = time.monotonic() - self._since, loaded_share(self.pid, self._header.size)
        so_far = f", about {share:.0%} read" if share else ""
        size = self._header.size / 1e6
        return f"The model {self.model.name} ({size:,.0f} MB) is being loaded: {took:.0f} s so far{so_far}."

    def _working(self) -> LlamaCpp:
        if self._server is None or not self.ready.is_set():
            raise ModelLoading(f"{self.status()} Try again in a moment.")
        return self._server

    async def _look_after(self, command: list[str]) -> None:
        """Until it is cancelled: wait until the engine works, and then until it dies; start it again."""
        deaths = 0
        while True:
            began = time.monotonic()
            reading = asyncio.create_task(self._read_lines())
            loading = asyncio.create_task(self._wait_until_ready())
            try:
                code = await self._process.wait() if self._process else 1
            finally:
                loading.cancel()
                await asyncio.wait([loading, reading], timeout=1.0)
                reading.cancel()
            self._fail(code)
            deaths = 1 if time.monotonic() - began > STEADY else deaths + 1
            await asyncio.sleep(PAUSES[min(deaths, len(PAUSES)) - 1])
            with contextlib.suppress(ConfigError):  # the next round finds no process, and waits longer
                await self._start(command)

    def _fail(self, code: int) -> None:
        self.ready.clear()
        if self._server is not None:
            self._server.forget()
        if self._sessions is not None:
            self._sessions.forget()
        self._trouble = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        logger.error("the engine of %s %s; it is started again. Its last lines:", self.model.name, self._trouble)
        for line in self._lines:
            logger.error("  %s", line)

    async def _start(self, command: list[str]) -> None:
        self._lines.clear()
        self._since = time.monotonic()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *parent_death.launcher(),
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,  # Ctrl-C is for us; we end the engine in good order
            )
        except OSError as error:
            raise ConfigError(f"{command[0]} cannot be started: {error.strerror}.") from error

    def _environment(self) -> dict[str, str]:
        """Ours, and the key: as an argument everybody on this machine could read it."""
        key = self.options.api_key
        return {**os.environ, **({"LLAMA_API_KEY": key.get_secret_value()} if key else {})}

    async def _read_lines(self) -> None:
        output = self._process.stdout if self._process else None
        rest = b""
        while output is not None and (piece := await output.read(65536)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip()
                self._lines.append(text)
                logger.debug("%s: %s", self.model.name, text)

    async def _wait_until_ready(self) -> None:
        told = time.monotonic()
        while not self.ready.is_set():
            await asyncio.sleep(LOOK_EVERY)
            if await self._is_healthy():
                self._trouble = ""
                self.ready.set()
                logger.info("the model %s is loaded, after %.1f s", self.model.name, time.monotonic() - self._since)
            elif time.monotonic() - told > TELL_EVERY:
                told = time.monotonic()
                logger.info("%s", self.status())

    async def _is_healthy(self) -> bool:
        """Not by the client that requests use: that would write a warning into the log each time."""
        try:
            async with asyncio.timeout(2):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                try:
                    writer.write(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
                    return b" 200 " in await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(LAST_WORDS):
                await process.wait()
        except TimeoutError:
            logger.warning("the engine of %s did not end within %g s, and was killed", self.model.name, LAST_WORDS)
            process.kill()
            await process.wait()


def write_arguments(options: LlamaCppOptions, model: Path, port: int) -> list[str]:
    threads = ["-t", str(options.threads), "-tb", str(options.threads)] if options.threads else []
    kept = ["--slot-save-path", str(options.sessions.folder)] if options.sessions.number else []
    return [
        *("-m", str(model), "--host", "127.0.0.1", "--port", str(port)),
        *threads,
        *("-c", str(options.context * options.slots), "-np", str(options.slots)),
        *("--jinja", "--props", "--slots", "--no-webui"),
        *kept,
        *options.arguments,
    ]


def fingerprint(model: Path, binary: Path, options: LlamaCppOptions) -> str:
    """What an engine has read means nothing to one with another model, program or settings, and is not given to it."""
    named = [part for argument in options.arguments for part in argument.split("=")]  # adapters, and the like
    files = [model, binary, *(path for part in named if (path := Path(part)).is_file())]
    found = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return repr((found, options.context, options.arguments))


def free_port(asked: int) -> int:
    """The port, if nobody has it: what answered there would be taken for our engine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", asked))
        except OSError as error:
            raise ConfigError(
                f"Port {asked}, for the model's engine, is in use. Take another, or 0 for any."
            ) from error
        port: int = probe.getsockname()[1]
        return port


def loaded_share(pid: int | None, size: int) -> float:
    """How much of the file is in memory, where the system says so."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssFile:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0.0
    return min(kilobytes * 1024 / size, 0.99) if size else 0.0
