"""Starts and supervises a llama-server with a GGUF file: restarts it when it exits, stops it on shutdown.

    loading → ready → (it exits) → waiting → loading → …

Requests while it is not ready fail with `ModelLoading`, which reports the progress.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rightseat import parent_death
from rightseat.concurrency import aclosing, cancel_and_wait
from rightseat.core.errors import ConfigError, ModelLoading
from rightseat.core.model import Vectors
from rightseat.models.completion import gguf
from rightseat.models.completion.backend import CompletionRequest, Description, End, TextPiece
from rightseat.models.completion.backends import binaries
from rightseat.models.completion.backends.llama_cpp import LlamaCpp
from rightseat.models.completion.backends.options import LlamaCppOptions
from rightseat.models.completion.backends.prompt_cache import PromptCache, ServerSlot

logger = logging.getLogger(__name__)

HEALTH_INTERVAL_S = 0.1  # between two health checks while it loads
PROGRESS_INTERVAL_S = 2.0  # between two log lines while it loads
RESTART_DELAYS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
STABLE_S = 60.0  # uptime after which the restart delay is reset
CRASH_LOOP_EXITS = 3  # in a row, until it is reported as a loop
STOP_TIMEOUT_S = 5.0  # before it is killed
MAX_OUTPUT_LINES = 8  # of its output, logged when it exits
BATCH_TOKENS = 512
"""After each batch llama-server reports progress and notices that a request was cancelled. Of its own default, 2,048,
it computes 512 at a time as well, and they may take longer than `timeout` on a CPU: 300 s at 7 tokens a second."""
BATCH_ARGUMENTS = {"-b", "--batch-size", "-ub", "--ubatch-size"}
ILLEGAL_INSTRUCTION = "this build needs instructions that this processor lacks; install another in `binary`"


class ServerProcess:
    """`model` is the GGUF file. Opening raises `ConfigError` if the file or the program cannot work."""

    has_triggers = LlamaCpp.has_triggers

    def __init__(self, options: LlamaCppOptions, model: Path) -> None:
        self.options = options
        self.model = model
        self.ready = asyncio.Event()
        self._port = options.port
        self._server: LlamaCpp | None = None
        self._prompt_cache: PromptCache | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None
        self._header = gguf.Header()
        self._started_at = 0.0
        self._exit_reason = ""
        self._exits = 0  # in a row
        self._lines: deque[str] = deque(maxlen=MAX_OUTPUT_LINES)

    async def __aenter__(self) -> Self:
        self._header = await asyncio.to_thread(gguf.read, self.model)
        binary = await asyncio.to_thread(binaries.find, self.options.binary)
        self._port = find_free_port(self.options.port)
        url = f"http://127.0.0.1:{self._port}"
        self._server = LlamaCpp(
            url,
            api_key=self.options.api_key,
            timeout=self.options.timeout,
            has_llguidance=self.options.llguidance,
            has_template=bool(self._header.template or self._header.tool_template),
        )
        if self.options.prompt_cache.max_files:
            slots = [ServerSlot(number) for number in range(self.options.slots)]
            model_id = fingerprint(self.model, binary, self.options)
            self._prompt_cache = PromptCache(self._server, self.options.prompt_cache, model_id, slots)
            await asyncio.to_thread(self._prompt_cache.open)
        command = [str(binary), *write_arguments(self.options, self.model, self._port)]
        logger.info("starting %s for %s on %s", binary, self.model.name, url)
        await self._start(command)
        self._supervisor = asyncio.create_task(self._supervise(command), name=f"llama-server for {self.model.name}")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._supervisor is not None:
            await cancel_and_wait(self._supervisor)
        if self._prompt_cache is not None and self.ready.is_set():
            await self._prompt_cache.save_all()
        self.ready.clear()
        await self._stop()
        if self._server is not None:
            await self._server.client.aclose()

    async def describe(self) -> Description:
        return await self._ready_server().describe()

    async def count(self, text: str) -> int | None:
        return await self._ready_server().count(text)

    @property
    def prompt_cache(self) -> PromptCache | None:
        return self._prompt_cache

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._ready_server().embed(texts)

    async def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        server, prompt_cache = self._ready_server(), self._prompt_cache
        pieces = server.generate(request) if prompt_cache is None else prompt_cache.generate(request)
        async with aclosing(pieces) as reading:
            async for piece in reading:
                yield piece

    @property
    def place(self) -> str:
        return f"a llama-server that rightseat starts, with {self.model}"

    async def preview(self) -> Description:
        """Describe the file without starting anything. Raises `ConfigError`, also if there is no binary."""
        header = await asyncio.to_thread(gguf.read, self.model)
        await asyncio.to_thread(binaries.find, self.options.binary)
        name = header.name or self.model.stem
        return Description(
            model=name,
            template=header.template,
            tool_template=header.tool_template,
            bos=header.bos,
            eos=header.eos,
            context_window=header.context_window,
        )

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def wait(self) -> None:
        """Wait until it is ready. Raises `ModelLoading` if it exits instead."""
        while not self.ready.is_set():
            if self._exit_reason:
                raise ModelLoading(self.status())
            await asyncio.sleep(HEALTH_INTERVAL_S)

    def status(self) -> str:
        """Return the progress as a sentence for clients."""
        if self.ready.is_set():
            return f"The model {self.model.name} is loaded."
        if self._exit_reason and (loop := self.find_crash_loop()):
            return f"The model {self.model.name} cannot be loaded: {loop}."
        if self._exit_reason:
            return f"The server of the model {self.model.name} {self._exit_reason} and is being restarted."
        seconds, share = time.monotonic() - self._started_at, loaded_share(self.pid, self._header.size)
        progress = f", about {share:.0%} read" if share else ""
        size = self._header.size / 1e6
        return f"The model {self.model.name} ({size:,.0f} MB) is being loaded: {seconds:.0f} s so far{progress}."

    def find_crash_loop(self) -> str | None:
        if self._exits < CRASH_LOOP_EXITS or self.ready.is_set() or not self.options.ready:
            return None
        advice = f": {ILLEGAL_INSTRUCTION}" if self._exit_reason.endswith("SIGILL") else ""
        return f"its server crashed {self._exits} times in a row and {self._exit_reason}{advice}"

    def _ready_server(self) -> LlamaCpp:
        if self._server is None or not self.ready.is_set():
            is_crashing = self.find_crash_loop() is not None
            raise ModelLoading(self.status() if is_crashing else f"{self.status()} Try again in a moment.")
        return self._server

    async def _supervise(self, command: list[str]) -> None:
        """Wait until the server exits and restart it, until cancelled."""
        while True:
            started_at = time.monotonic()
            reading = asyncio.create_task(self._read_lines())
            loading = asyncio.create_task(self._wait_until_ready())
            try:
                code = await self._process.wait() if self._process else 1
            finally:
                loading.cancel()
                await asyncio.wait([loading, reading], timeout=1.0)
                reading.cancel()
            self._exits = 1 if time.monotonic() - started_at > STABLE_S else self._exits + 1
            self._fail(code)
            await asyncio.sleep(RESTART_DELAYS_S[min(self._exits, len(RESTART_DELAYS_S)) - 1])
            with contextlib.suppress(ConfigError):  # the next iteration finds no process, and waits longer
                await self._start(command)

    def _fail(self, code: int) -> None:
        self.ready.clear()
        if self._server is not None:
            self._server.forget()
        if self._prompt_cache is not None:
            self._prompt_cache.reset()
        self._exit_reason = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        logger.error("the llama-server of %s %s and is restarted. Its last output:", self.model.name, self._exit_reason)
        for line in self._lines:
            logger.error("  %s", line)
        if code == -signal.SIGILL and self._exits == 1:
            logger.error("%s: %s", self.model.name, ILLEGAL_INSTRUCTION)

    async def _start(self, command: list[str]) -> None:
        self._lines.clear()
        self._started_at = time.monotonic()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *parent_death.launcher(),
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,  # Ctrl-C reaches rightseat only, which stops the server in order
            )
        except OSError as error:
            raise ConfigError(f"Cannot start {command[0]}: {error.strerror}.") from error

    def _environment(self) -> dict[str, str]:
        """Pass the key by environment: as an argument every user of the machine could read it."""
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
        logged_at = time.monotonic()
        while not self.ready.is_set():
            await asyncio.sleep(HEALTH_INTERVAL_S)
            if await self._is_healthy():
                self._exit_reason = ""
                self.ready.set()
                logger.info(
                    "the model %s is loaded, after %.1f s", self.model.name, time.monotonic() - self._started_at
                )
            elif time.monotonic() - logged_at > PROGRESS_INTERVAL_S:
                logged_at = time.monotonic()
                logger.info("%s", self.status())

    async def _is_healthy(self) -> bool:
        """Does not use the HTTP client, which would log a warning for each failure."""
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

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            logger.warning(
                "the llama-server of %s did not stop within %g s and was killed", self.model.name, STOP_TIMEOUT_S
            )
            process.kill()
            await process.wait()


def write_arguments(options: LlamaCppOptions, model: Path, port: int) -> list[str]:
    threads = ["-t", str(options.threads), "-tb", str(options.threads)] if options.threads else []
    given = {argument.partition("=")[0] for argument in options.arguments}
    batch = [] if given & BATCH_ARGUMENTS else ["-b", str(BATCH_TOKENS)]
    slot_arguments = ["--slot-save-path", str(options.prompt_cache.folder)] if options.prompt_cache.max_files else []
    return [
        *("-m", str(model), "--host", "127.0.0.1", "--port", str(port)),
        *threads,
        *batch,
        *("-c", str(options.context_window * options.slots), "-np", str(options.slots)),
        *("--jinja", "--props", "--slots", "--no-webui"),
        *slot_arguments,
        *options.arguments,
    ]


def fingerprint(model: Path, binary: Path, options: LlamaCppOptions) -> str:
    """Identify model, program and settings: a prompt cache is valid for the same ones only."""
    values = [part for argument in options.arguments for part in argument.split("=")]  # such as adapter files
    files = [model, binary, *(path for part in values if (path := Path(part)).is_file())]
    stats = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return repr((stats, options.context_window, options.arguments))


def find_free_port(port: int) -> int:
    """Fail if the port is in use: another server there would be mistaken for this one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise ConfigError(
                f"Port {port} for llama-server is in use. Choose another one, or 0 for any free port."
            ) from error
        free: int = probe.getsockname()[1]
        return free


def loaded_share(pid: int | None, size: int) -> float:
    """Return the share of the file that is in memory; 0 where the system does not report it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssFile:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0.0
    return min(kilobytes * 1024 / size, 0.99) if size else 0.0
