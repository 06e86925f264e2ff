"""Runs one tool call in a fresh isolated process, over lines of JSON, and always ends the process."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rightseat.concurrency import cancel_and_wait
from rightseat.core.types import JSON_ERRORS
from rightseat.data.child import wait_for_exit
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sandbox.layers import Layers
from rightseat.wire.json_size import PIECE_BYTES, ValueCounter, count_values

SANDBOX_FOLDER = Path(__file__).parent
PROGRAM = (
    f"import sys; sys.path.insert(0, {str(SANDBOX_FOLDER)!r}); from worker.main import main; sys.path.pop(0); main()"
)
START_TIMEOUT_S = 20.0  # on a busy machine
DISK_CHECK_INTERVAL_S = 0.05
MAX_VALUES = 30_000
"""Objects, arrays, members and items in a line. Ten megabytes of them would hold up the event loop for 2 s and more."""

WorkerMessage = dict[str, Any]
RequestHandler = Callable[[WorkerMessage], Awaitable[WorkerMessage]]


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """`cpu` is in seconds, the others in bytes. `disk` limits all files of a call together, `file` each one."""

    memory: int = 512 * 2**20
    output: int = 10 * 2**20
    file: int = 20 * 2**20
    disk: int = 64 * 2**20
    cpu: int = 60

    def rlimits(self) -> dict[str, int]:
        return {"RLIMIT_AS": self.memory, "RLIMIT_FSIZE": self.file, "RLIMIT_CPU": self.cpu}


async def call(
    lib: Path, command: WorkerMessage, handle_request: RequestHandler, *, limits: SandboxLimits, seconds: float
) -> WorkerMessage:
    """Return the last message of the process. Raises `StepFailed`: `tool_failed` or `timeout`."""
    async with start_process(lib, limits) as (process, layers, work):
        if problem := layers.problem():
            raise StepFailed("tool_failed", f"The tool is not run: {problem}")
        async with limit_disk(process, work, layers, limits) as watch:
            try:
                async with asyncio.timeout(seconds):
                    await send(process, command)
                    while "ask" in (message := await receive(process, limits.output)):
                        await send(process, await handle_request(message))
            except TimeoutError:
                raise StepFailed("timeout", f"The tool took longer than {seconds:g} s.") from None
            except (asyncio.IncompleteReadError, OSError):
                kill(process)
                code = await process.wait()
                if watch is not None and watch.done():
                    raise StepFailed("tool_failed", f"The tool wrote more than {limits.disk:,} bytes.") from None
                raise StepFailed("tool_failed", f"The tool's process ended unexpectedly (exit code {code}).") from None
    if "failed" in message:
        raise StepFailed("tool_failed", f"The tool failed: {message['failed']}", details=message.get("trace"))
    return message


async def find_layers() -> Layers:
    """Start an isolated process that runs no code, and return its layers."""
    empty = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rightseat-lib-"))
    try:
        async with start_process(empty, SandboxLimits()) as (_, layers, _):
            return layers
    finally:
        await asyncio.to_thread(shutil.rmtree, empty, True)


@asynccontextmanager
async def start_process(lib: Path, limits: SandboxLimits) -> AsyncIterator[tuple[Process, Layers, Path]]:
    """Yield (the isolated process, its layers, its writable folder); all are removed afterwards."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rightseat-lib-"))
    process: Process | None = None
    try:
        code = await asyncio.to_thread(prepare_folder, lib, folder)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-X", "utf8", "-c", PROGRAM),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            cwd=folder,
            start_new_session=True,
            limit=limits.output,
        )
        setup: WorkerMessage = {"lib": str(code), "folder": str(folder), "parent": os.getpid()}
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await send(process, {**setup, "limits": limits.rlimits(), "disk": limits.disk})
                report = await receive(process, limits.output)
                layers = msgspec.convert(report.get("layers"), Layers)
        except TimeoutError:
            message = f"The tool's process did not start within {START_TIMEOUT_S:g} s. Is the machine overloaded?"
            raise StepFailed("tool_failed", message) from None
        except msgspec.ValidationError:
            message = f"The tool is not run: its process cannot be isolated ({report.get('failed')})."
            raise StepFailed("tool_failed", message) from None
        except (asyncio.IncompleteReadError, OSError):
            message = f"The tool is not run: its process, {sys.executable}, ended while it was being isolated."
            raise StepFailed("tool_failed", message) from None
        yield process, layers, folder / "work"
    finally:
        if process is not None:
            kill(process)
            await asyncio.shield(wait_for_exit(process))
        await asyncio.to_thread(shutil.rmtree, folder, True)


def prepare_folder(lib: Path, folder: Path) -> Path:
    """Copy the code where any user may read it, and create the mount point and the work folder."""
    folder.chmod(0o711)
    copied = folder / "code" / "lib"
    shutil.copytree(lib, copied, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for path in (copied.parent, copied, *copied.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "root").mkdir(0o700)
    (folder / "work").mkdir(0o700)
    return copied


@asynccontextmanager
async def limit_disk(
    process: Process, work: Path, layers: Layers, limits: SandboxLimits
) -> AsyncIterator[asyncio.Task[None] | None]:
    """If the process has no root of its own, count its written bytes and kill it above the limit."""
    watch = None if layers.own_root else asyncio.create_task(watch_disk(process, work, limits.disk))
    try:
        yield watch
    finally:
        if watch is not None:
            await cancel_and_wait(watch)


async def watch_disk(process: Process, work: Path, max_bytes: int) -> None:
    while await asyncio.to_thread(count_written, process.pid, work) <= max_bytes:  # noqa: ASYNC110  # there is no event
        await asyncio.sleep(DISK_CHECK_INTERVAL_S)
    kill(process)


def count_written(pid: int, work: Path) -> int:
    """In bytes. The kernel's counter includes deleted files, but not every user may read it."""
    size = 0
    with contextlib.suppress(OSError):
        size = sum(path.lstat().st_blocks * 512 for path in work.rglob("*"))
    with contextlib.suppress(OSError):
        counts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        size = max(size, int(counts["wchar"]), int(counts["write_bytes"]))
    return size


async def send(process: Process, message: WorkerMessage) -> None:
    assert process.stdin is not None  # noqa: S101  # it is a pipe
    process.stdin.write(msgspec.json.encode(message) + b"\n")
    try:
        await process.stdin.drain()
    except RuntimeError as error:  # uvloop raises it for a closed pipe
        raise BrokenPipeError from error


async def receive(process: Process, max_bytes: int) -> WorkerMessage:
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    try:
        line = await process.stdout.readuntil(b"\n")
        if count_values(line) > MAX_VALUES and await count_values_outside_strings(line) > MAX_VALUES:
            raise StepFailed("tool_failed", f"The tool's output has more than {MAX_VALUES:,} values.")
        message = msgspec.json.decode(line)
    except asyncio.LimitOverrunError:
        raise StepFailed("tool_failed", f"The tool's output exceeds {max_bytes:,} bytes.") from None
    except JSON_ERRORS:
        raise StepFailed("tool_failed", "The tool's process sent a line that is not JSON.") from None
    if not isinstance(message, dict):
        raise StepFailed("tool_failed", "The tool's process sent a line that is not a JSON object.")
    return message


async def count_values_outside_strings(line: bytes) -> int:
    """Without holding up the event loop."""
    counter = ValueCounter()
    for start in range(0, len(line), PIECE_BYTES):
        counter.feed(line[start : start + PIECE_BYTES])
        await asyncio.sleep(0)
    return counter.values


def kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
