"""One process for one call of a tool: started empty, isolated, sent lines of JSON, and ended whatever it does."""

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

from rightseat.core.values import JSON_ERRORS
from rightseat.data.child import ended
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sandbox.layers import Layers

HERE = Path(__file__).parent
PROGRAM = f"import sys; sys.path.insert(0, {str(HERE)!r}); from worker.main import main; sys.path.pop(0); main()"
START_TIMEOUT = 20.0  # seconds, on a machine that is busy
WATCH_INTERVAL = 0.05  # seconds between two looks at what a tool has written

Message = dict[str, Any]
Answerer = Callable[[Message], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class Limits:
    """`cpu` is seconds, everything else bytes. `disk` is for all files of a call together, `file` for one of them."""

    memory: int = 512 * 2**20
    output: int = 10 * 2**20
    file: int = 20 * 2**20
    disk: int = 64 * 2**20
    cpu: int = 60

    def written(self) -> dict[str, int]:
        return {"RLIMIT_AS": self.memory, "RLIMIT_FSIZE": self.file, "RLIMIT_CPU": self.cpu}


async def call(lib: Path, order: Message, answer: Answerer, *, limits: Limits, seconds: float) -> Message:
    """The last message of the process. Raises `StepFailed("tool_failed")`, or `timeout`."""
    async with started(lib, limits) as (process, layers, work):
        if problem := layers.problem():
            raise StepFailed("tool_failed", f"The tool is not run: {problem}")
        async with bounded_disk(process, work, layers, limits) as watch:
            try:
                async with asyncio.timeout(seconds):
                    await send(process, order)
                    while "ask" in (said := await receive(process, limits.output)):
                        await send(process, await answer(said))
            except TimeoutError:
                raise StepFailed("timeout", f"The tool took longer than {seconds:g} s.") from None
            except (asyncio.IncompleteReadError, OSError):
                kill(process)
                code = await process.wait()
                if watch is not None and watch.done():
                    raise StepFailed("tool_failed", f"The tool wrote more than {limits.disk:,} bytes.") from None
                raise StepFailed("tool_failed", f"The tool's process ended before its time (code {code}).") from None
    if "failed" in said:
        raise StepFailed("tool_failed", f"The tool failed: {said['failed']}", details=said.get("trace"))
    return said


async def find_layers(limits: Limits | None = None) -> Layers:
    """Which layers hold on this machine: those of a process that is isolated as for a tool, and runs nothing."""
    empty = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rightseat-lib-"))
    try:
        async with started(empty, limits or Limits()) as (_, layers, _):
            return layers
    finally:
        await asyncio.to_thread(shutil.rmtree, empty, True)


@asynccontextmanager
async def started(lib: Path, limits: Limits) -> AsyncIterator[tuple[Process, Layers, Path]]:
    """The isolated process, what isolates it, and the folder that it may write; all gone afterwards."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rightseat-lib-"))
    process: Process | None = None
    try:
        copied = await asyncio.to_thread(prepare, lib, folder)
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
        first: Message = {"lib": str(copied), "folder": str(folder), "parent": os.getpid()}
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await send(process, {**first, "limits": limits.written(), "disk": limits.disk})
                said = await receive(process, limits.output)
                layers = msgspec.convert(said.get("layers"), Layers)
        except TimeoutError:
            message = f"The tool's process did not start within {START_TIMEOUT:g} s. Is the machine overloaded?"
            raise StepFailed("tool_failed", message) from None
        except msgspec.ValidationError:
            message = f"The tool is not run: its process cannot be isolated ({said.get('failed')})."
            raise StepFailed("tool_failed", message) from None
        except (asyncio.IncompleteReadError, OSError):
            message = f"The tool is not run: its process, {sys.executable}, ended while it was being isolated."
            raise StepFailed("tool_failed", message) from None
        yield process, layers, folder / "work"
    finally:
        if process is not None:
            kill(process)
            await asyncio.shield(ended(process))
        await asyncio.to_thread(shutil.rmtree, folder, True)


def prepare(lib: Path, folder: Path) -> Path:
    """Copies the code to where any user may read it, and makes the mount point and the folder to work in."""
    folder.chmod(0o711)
    copied = folder / "code" / "lib"
    shutil.copytree(lib, copied, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for path in (copied.parent, copied, *copied.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / "root").mkdir(0o700)
    (folder / "work").mkdir(0o700)
    return copied


@asynccontextmanager
async def bounded_disk(
    process: Process, work: Path, layers: Layers, limits: Limits
) -> AsyncIterator[asyncio.Task[None] | None]:
    """Where the tool has no file system of its own, what it writes is counted, and it is killed above the limit."""
    watch = None if layers.own_root else asyncio.create_task(watch_disk(process, work, limits.disk))
    try:
        yield watch
    finally:
        if watch is not None:
            watch.cancel()
            await asyncio.wait([watch])


async def watch_disk(process: Process, work: Path, most: int) -> None:
    while await asyncio.to_thread(count_written, process.pid, work) <= most:  # noqa: ASYNC110  # there is no event
        await asyncio.sleep(WATCH_INTERVAL)
    kill(process)


def count_written(pid: int, work: Path) -> int:
    """Bytes. The kernel's count includes files that have no name any more; it is not shown to every user."""
    size = 0
    with contextlib.suppress(OSError):
        size = sum(path.lstat().st_blocks * 512 for path in work.rglob("*"))
    with contextlib.suppress(OSError):
        counts = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        size = max(size, int(counts["wchar"]), int(counts["write_bytes"]))
    return size


async def send(process: Process, message: Message) -> None:
    assert process.stdin is not None  # noqa: S101  # it was asked for
    process.stdin.write(msgspec.json.encode(message) + b"\n")
    try:
        await process.stdin.drain()
    except RuntimeError as error:  # uvloop's word for a pipe that is closed
        raise BrokenPipeError from error


async def receive(process: Process, most: int) -> Message:
    assert process.stdout is not None  # noqa: S101  # it was asked for
    try:
        line = await process.stdout.readuntil(b"\n")
        said = msgspec.json.decode(line)
    except asyncio.LimitOverrunError:
        raise StepFailed("tool_failed", f"The tool gives more than {most:,} bytes at once.") from None
    except JSON_ERRORS:
        raise StepFailed("tool_failed", "The tool's process sent a line that is no JSON.") from None
    if not isinstance(said, dict):
        raise StepFailed("tool_failed", "The tool's process sent a line that is no JSON object.")
    return said


def kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
