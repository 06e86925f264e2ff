"""Servers that are measured: each behind a keeper, from which nothing escapes, and on a processor of its own."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.acceptance._lib.processes import FLEET, NotStarted, inherit_without

KEEPER = Path(__file__).parent / "keeper.py"
INTERVAL_S = 0.02
ANY_PROCESSOR = "-"


def choose_processors() -> tuple[str, int | None]:
    """One for the server under test, another for model and client, where there are two."""
    usable = sorted(os.sched_getaffinity(0))
    return (str(usable[-1]), usable[0]) if len(usable) > 1 else (ANY_PROCESSOR, None)


def make_environment(upstream: str) -> dict[str, str]:
    """The laptop's engines, unless a suite adds others; and byte code is kept: each start would compile it anew."""
    proxies = {"NO_PROXY": "*", "no_proxy": "*"}
    return {**inherit_without("PYTHONDONTWRITEBYTECODE", *FLEET), "RS_UPSTREAM_OPENAI": upstream, **proxies}


async def start_kept(
    name: str,
    command: Sequence[object],
    port: int,
    environment: Mapping[str, str],
    log: Path,
    *,
    processor: str = ANY_PROCESSOR,
    cwd: Path | None = None,
) -> asyncio.subprocess.Process:
    """The keeper of the started server, which accepts connections. "{port}" in `command` is its port."""
    words = [str(word).replace("{port}", str(port)) for word in command]
    with log.open("w") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-S",
            str(KEEPER),
            processor,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env=dict(environment),
            start_new_session=True,
        )
    await accepts(name, port, process, log)
    return process


async def accepts(name: str, port: int, process: asyncio.subprocess.Process, log: Path, within: float = 120) -> None:
    for _ in range(round(within / INTERVAL_S)):
        if process.returncode is not None:
            raise NotStarted(f"{name} ended with {process.returncode} before it answered; {tail(log)}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(INTERVAL_S)
        else:
            writer.close()
            return
    process.terminate()
    raise NotStarted(f"{name} did not answer on port {port} within {within:.0f} s; {tail(log)}")


def tail(log: Path) -> str:
    return f"{log} ends with {log.read_text(errors='replace')[-400:]!r}"


async def end_kept(process: asyncio.subprocess.Process, patience: float = 10) -> None:
    """SIGTERM to the keeper, which ends all below it."""
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), patience)
        except TimeoutError:
            process.kill()
            await process.wait()
