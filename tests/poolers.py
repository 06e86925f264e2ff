"""A PgBouncer of its own in front of this machine's PostgreSQL."""

import asyncio
import os
import shutil
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from tests.conditions import until
from tests.services import free_port

PoolMode = Literal["session", "transaction"]
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port=5432 user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {connections}
"""


@asynccontextmanager
async def pgbouncer(mode: PoolMode, connections: int, user: str = "postgres") -> AsyncIterator[int]:
    """Yields its port. It has at most so many connections to each database, as this user."""
    if PROGRAM is None:
        pytest.skip("there is no PgBouncer on this machine")
    port = free_port()
    account = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    with tempfile.TemporaryDirectory() as folder:
        text = CONFIGURATION.format(port=port, mode=mode, connections=connections, user=user)
        file = write_configuration(Path(folder), text)
        process = await asyncio.create_subprocess_exec(PROGRAM, "--quiet", file, user=account, stderr=PIPE)
        try:
            async with asyncio.timeout(60):
                await until(partial(is_listening, port))
            yield port
        finally:
            process.kill()
            await process.communicate()


def write_configuration(folder: Path, text: str) -> Path:
    folder.chmod(0o755)  # another user reads it
    file = folder / "pgbouncer.ini"
    file.write_text(text)
    return file


async def is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
