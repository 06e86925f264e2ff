"""What open lists cost one server: memory for each idle WebSocket, CPU while nothing changes, and the time of a change.

    python -m tests.measure.live_cost [--sockets 500] [--users 50] [--seconds 20]

Each page joins one channel and sends a heartbeat every 30 seconds, as CopilotKit's client does. CPU is that of the
server's process in the idle seconds, less what it takes without sockets. At the end a thread of each user changes.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import aiohttp

from rightseat.concurrency import cancel_and_wait
from tests.conditions import until
from tests.services import free_port

HEARTBEAT_S = 30.0
AT_ONCE = 50
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")


class Page:
    """One socket, without a task of its own in this process until it is read."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def heartbeat(self) -> None:
        await self.socket.send_str('[null,"9","phoenix","heartbeat",{}]')

    async def wait_for(self, event: str) -> None:
        while event not in await self.socket.receive_str():
            pass


def write_configuration(folder: Path, users: int, sockets: int) -> Path:
    keys = [{"name": f"u{number}", "key": f"key-u{number}", "user": f"u{number}"} for number in range(users)]
    written = {
        "models": {"default": {"type": "scripted", "chunk_delay": 0}},
        "faces": [{"type": "copilotkit", "max_sockets_per_user": max(20, sockets)}],
        "access": {"keys": keys},
        "server": {"state_dir": str(folder / "state")},
    }
    file = folder / "rightseat.yaml"
    file.write_text(json.dumps(written))
    return file


def read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def read_memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


async def open_pages(session: aiohttp.ClientSession, base: str, user: int, count: int) -> list[Page]:
    headers = {"x-api-key": f"key-u{user}"}
    async with session.get(f"{base}/threads", headers=headers) as answer:
        code = (await answer.json())["joinCode"]
    async with session.post(f"{base}/threads/subscribe", headers=headers, json={}) as answer:
        token = (await answer.json())["joinToken"]
    pages = []
    for _ in range(count):
        socket = await session.ws_connect(f"{base}/client/websocket", params={"join_token": token, "vsn": "2.0.0"})
        await socket.send_str(json.dumps(["1", "1", f"user_meta:{code}", "phx_join", {}]))
        await socket.receive_str()
        pages.append(Page(socket))
    return pages


async def open_all(session: aiohttp.ClientSession, base: str, users: int, sockets: int) -> Sequence[Sequence[Page]]:
    places, opened = asyncio.Semaphore(AT_ONCE), list[Page]()

    async def open_some(user: int) -> list[Page]:
        async with places:
            pages = await open_pages(session, base, user, sockets // users)
        opened.extend(pages)
        return pages

    beating = asyncio.create_task(keep_alive(opened))
    try:
        return await asyncio.gather(*(open_some(user) for user in range(users)))
    finally:
        await cancel_and_wait(beating)


async def keep_alive(pages: Sequence[Page]) -> None:
    """Opening thousands of sockets takes longer than a silent page stays connected."""
    while True:
        await asyncio.sleep(HEARTBEAT_S)
        for page in list(pages):
            await page.heartbeat()


async def idle(pages: Sequence[Page], seconds: float) -> None:
    """Heartbeats at an even pace."""
    end, number = time.monotonic() + seconds, 0
    pause = HEARTBEAT_S / len(pages) if pages else seconds
    while time.monotonic() < end:
        if pages:
            await pages[number % len(pages)].heartbeat()
            number += 1
        await asyncio.sleep(pause)


async def change_all(session: aiohttp.ClientSession, base: str, users: Sequence[Sequence[Page]]) -> float:
    """Seconds from the first request until each page has the thread of its user."""
    began = time.monotonic()
    waiting = [asyncio.create_task(page.wait_for("thread_metadata")) for pages in users for page in pages]
    for number in range(len(users)):
        body: dict[str, Any] = {"threadId": f"t{number}", "runId": "r", "tools": [], "context": []}
        body |= {"messages": [{"id": "m", "role": "user", "content": "Hi"}], "state": {}, "forwardedProps": {}}
        headers = {"x-api-key": f"key-u{number}"}
        async with session.post(f"{base}/agent/default/run", headers=headers, json=body) as answer:
            await answer.read()
    await asyncio.gather(*waiting)
    return time.monotonic() - began


def start(command: Sequence[str], log: IO[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=log, stderr=log)


async def measure(sockets: int, users: int, seconds: float, folder: Path) -> None:
    port, file = free_port(), write_configuration(folder, users, sockets)
    command = [sys.executable, "-m", "rightseat", "serve", "--config", str(file), "--port", str(port)]
    with (folder / "log").open("w") as log, start(command, log) as server:
        try:
            base = f"http://127.0.0.1:{port}/copilotkit"
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as session:
                await until(lambda: answers(session, base))
                await report(session, base, server.pid, sockets, users, seconds)
        finally:
            server.terminate()


async def answers(session: aiohttp.ClientSession, base: str) -> bool:
    with suppress(aiohttp.ClientError):
        async with session.get(f"{base}/threads", headers={"x-api-key": "key-u0"}) as answer:
            return answer.status == 200
    return False


async def report(session: aiohttp.ClientSession, base: str, pid: int, sockets: int, users: int, seconds: float) -> None:
    for number in range(users):  # so that what the server keeps of each user is not counted
        async with session.get(f"{base}/threads", headers={"x-api-key": f"key-u{number}"}) as answer:
            await answer.read()
    before, began = read_memory(pid), read_cpu(pid)
    await idle((), seconds)
    alone = (read_cpu(pid) - began) / seconds
    opening, began = time.monotonic(), read_cpu(pid)
    opened = await open_all(session, base, users, sockets)
    pages = [page for pages in opened for page in pages]
    took, cost = time.monotonic() - opening, read_cpu(pid) - began
    await idle(pages, 3.0)
    each, began = (read_memory(pid) - before) / len(pages), read_cpu(pid)
    await idle(pages, seconds)
    share = (read_cpu(pid) - began) / seconds
    opened_in = f"opened in {took:.1f} s for {1000 * cost / len(pages):.2f} ms CPU each"
    say(f"{len(pages)} sockets of {users} users, {opened_in}")
    say(f"memory {each / 1024:.1f} KB each, {(read_memory(pid) - before) / 2**20:.0f} MB in all")
    say(f"idle CPU {100 * share:.2f} % of a core, without sockets {100 * alone:.2f} %")
    say(f"a change of each user was everywhere after {await change_all(session, base, opened):.2f} s")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sockets", type=int, default=500)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(given.sockets, given.users, given.seconds, Path(folder)))


if __name__ == "__main__":
    main()
