"""One process for one call of a tool: started empty, spoken to in lines of JSON, and ended whatever it does."""

import asyncio
import contextlib
import logging
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

from rightseat.data.child import ended
from rightseat.plugins.results import StepFailed

logger = logging.getLogger(__name__)

PROGRAM = Path(__file__).with_name("room.py")
STARTING = 20.0  # seconds, on a machine that is busy

Message = dict[str, Any]
Answerer = Callable[[Message], Awaitable[Message]]


@dataclass(frozen=True, slots=True)
class Limits:
    """`memory` and `output` are bytes, `cpu` and the time of a call are seconds."""

    memory: int = 512 * 2**20
    output: int = 10 * 2**20
    file: int = 20 * 2**20
    cpu: int = 60

    def written(self) -> dict[str, int]:
        return {"RLIMIT_AS": self.memory, "RLIMIT_FSIZE": self.file, "RLIMIT_CPU": self.cpu}


async def call(
    lib: Path, order: Message, answer: Answerer, *, limits: Limits, seconds: float, network: bool = False
) -> Message:
    """The last thing that the process says. Raises `StepFailed("tool_failed")`, or `timeout`."""
    async with started(lib, limits) as (process, copied, work):
        first = {"lib": str(copied), "work": str(work), "limits": limits.written(), "network": network}
        try:
            async with asyncio.timeout(STARTING):
                await send(process, first)
                check(await receive(process, limits.output), network)
            async with asyncio.timeout(seconds):
                await send(process, order)
                while "ask" in (said := await receive(process, limits.output)):
                    await send(process, await answer(said))
        except TimeoutError:
            raise StepFailed("timeout", f"The tool took longer than {seconds:g} s.") from None
        except (asyncio.IncompleteReadError, OSError):
            kill(process)
            code = await process.wait()
            raise StepFailed("tool_failed", f"The tool's process ended before its time (code {code}).") from None
    if "failed" in said:
        raise StepFailed("tool_failed", f"The tool failed: {said['failed']}", details=said.get("trace"))
    return said


def check(said: Message, network: bool) -> None:
    held = said.get("held", {})
    if not held.get("network") and not network:
        message = (
            "This system cannot cut a tool off the network, so the tool is not run."
            " The operator can allow it the network, or run the server on Linux."
        )
        raise StepFailed("tool_failed", message)
    if not held.get("files") and not held.get("user"):
        logger.warning("a plugin's tool can read whatever this server's user can: this system has no means to hide it")


@asynccontextmanager
async def started(lib: Path, limits: Limits) -> AsyncIterator[tuple[Process, Path, Path]]:
    """The process, a copy of the code, and the empty folder that it works in; all gone afterwards."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rightseat-lib-"))
    process: Process | None = None
    try:
        copied, work = await asyncio.to_thread(prepare, lib, folder)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-B", "-X", "utf8", str(PROGRAM)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            cwd=work,
            start_new_session=True,
            limit=limits.output,
        )
        yield process, copied, work
    finally:
        if process is not None:
            kill(process)
            await asyncio.shield(ended(process))
        await asyncio.to_thread(shutil.rmtree, folder, True)


def prepare(lib: Path, folder: Path) -> tuple[Path, Path]:
    """The code where any user may read it, and a folder that any user may write."""
    folder.chmod(0o711)
    copied, work = folder / "code" / "lib", folder / "work"
    shutil.copytree(lib, copied, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for path in (copied.parent, copied, *copied.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    work.mkdir()
    work.chmod(0o777)
    return copied, work


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
    except msgspec.DecodeError:
        raise StepFailed("tool_failed", "The tool's process said something that is no message.") from None
    if not isinstance(said, dict):
        raise StepFailed("tool_failed", "The tool's process said something that is no message.")
    return said


def kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
