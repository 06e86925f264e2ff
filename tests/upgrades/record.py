"""Play a small shop with the server of commit 340655e, kill it, and save what it has left.

    python -m tests.upgrades.record

writes `recorded/KIND` for SQLite, PostgreSQL, and PostgreSQL with Redis. Nothing ever needs to run it again: it is
how the data in `recorded` was made.
"""

import asyncio
import json
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from tests.services import REDIS
from tests.upgrades.old_code import Server, extract, start_program
from tests.upgrades.recorded_state import (
    ENVIRONMENT,
    KINDS,
    LONG_THREAD,
    RECORDED,
    SUPPORT_KEY,
    Client,
    Replies,
    Stores,
    open_stores,
    read_keys,
)

COMMIT = "340655e"
SHARED_PATHS = ("agents", "plugins", "flows", "approvals?owner=*", "access", "audit", "runs?owner=*", "threads?owner=*")
THREAD_PATHS = ("/messages", "/events", "/state")


async def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        source = extract(COMMIT, Path(temporary))
        for kind in KINDS:
            async with open_stores(kind) as stores:
                folder = Path(temporary) / kind
                folder.mkdir()
                await record(stores, source, folder)


async def record(stores: Stores, source: Path, folder: Path) -> None:
    shutil.rmtree(RECORDED / stores.kind, ignore_errors=True)
    (RECORDED / stores.kind).mkdir()
    file = stores.configure(folder)
    replies = Replies(await create_keys(source, file) | {"support": SUPPORT_KEY})
    server = await Server(source, file, ENVIRONMENT).start()
    try:
        await play(server.url, replies)
        await read(server.url, replies)
        async with Client(server.url, replies.keys["carol"]) as carol:
            await begin_long_run(carol)
    finally:
        await server.end(signal.SIGKILL)
    replies.save(stores.kind)
    await save(stores, folder)


async def create_keys(source: Path, file: Path) -> dict[str, str]:
    """Keys in the store; the one of `gone` is revoked."""
    found = {}
    for name in ("alice", "bob", "carol", "gone"):
        printed = await run(source, file, "keys", "new", name, "--store", "--user", name)
        (found[name],) = re.findall(r"^rs_\S+$", printed, re.MULTILINE)
    await run(source, file, "keys", "revoke", "gone")
    return found


async def run(source: Path, file: Path, *command: str) -> str:
    process = await start_program(source, *command, "--config", str(file), environment=ENVIRONMENT)
    printed, _ = await process.communicate()
    assert process.returncode == 0, printed.decode()
    return printed.decode()


async def play(url: str, replies: Replies) -> None:
    async with Client(url, replies.keys["alice"]) as alice, Client(url, replies.keys["bob"]) as bob:
        await alice.ask("hello", "Hello, shop. 你好！")
        await alice.ask("hello", "And again.")
        await alice.send("PATCH", "/copilotkit/threads/hello", {"name": "A greeting"})
        await alice.ask("reading", "read_order 7")
        await alice.ask("cancelled", "cancel_order 8")
        await answer(alice, "cancelled", is_approved=True)
        await alice.ask("refused", "cancel_order 9")
        await answer(alice, "refused", is_approved=False)
        await alice.ask("waiting", "cancel_order 10")
        await alice.ask("totals", "The totals of the orders", "reports")
        await alice.ask("archived", "Hello for the archive.")
        await alice.send("POST", "/copilotkit/threads/archived/archive", {})
        first = await bob.send("POST", "/v1/responses", {"model": "default", "input": "Hello from Bob."})
        await bob.send(
            "POST", "/v1/responses", {"model": "default", "input": "Once more.", "previous_response_id": first["id"]}
        )
        replies.by_path["bob"] = {f"/v1/responses/{first['id']}": None}
        await bob.send("POST", "/v1/feedback", {"vote": "up", "user_prompt": "Hello", "ai_response": "Hello!"})


async def answer(client: Client, thread: str, is_approved: bool) -> None:
    """Answer the question that waits in the thread, and wait for the end of the run that continues."""
    (approval,) = (await client.get(f"/copilotkit/approvals?threadId={thread}"))["approvals"]
    decision = {"status": "resolved", "payload": {"approved": is_approved}}
    await client.send("POST", f"/copilotkit/approvals/{approval['id']}", decision)
    events = [event async for event in client.stream(thread, "", operation="connect")]
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]


async def read(url: str, replies: Replies) -> None:
    """Everything that a user or an operator can read."""
    async with Client(url, SUPPORT_KEY) as support:
        threads = (await support.get("/operator/threads?owner=*"))["threads"]
        runs = (await support.get("/operator/runs?owner=*"))["runs"]
        paths = [f"/operator/{name}" for name in SHARED_PATHS]
        paths += [f"/operator/threads/{thread['id']}" for thread in threads]
        paths += [f"/operator/runs/{run['id']}" for run in runs]
        found = {path: await support.get(path) for path in paths}
    replies.by_path["support"] = found
    files = [file for thread in threads for file in found[f"/operator/threads/{thread['id']}"]["files"]]
    replies.by_path["alice"] = {f"/copilotkit/files/{file['id']}": None for file in files}
    await read_as(url, replies, "alice")
    await read_as(url, replies, "bob")


async def read_as(url: str, replies: Replies, user: str) -> None:
    async with Client(url, replies.keys[user]) as client:
        threads = (await client.get("/copilotkit/threads?includeArchived=true"))["threads"]
        paths = ["/copilotkit/threads?includeArchived=true", "/copilotkit/approvals", "/copilotkit/plugins"]
        paths += [f"/copilotkit/threads/{thread['id']}{rest}" for thread in threads for rest in THREAD_PATHS]
        paths += replies.by_path.get(user, ())
        replies.by_path[user] = {path: await client.get(path) for path in paths}
        today = threads[0]["createdAt"][:10]
        usage = f"/usage?since={today}&until={today}"
        replies.by_path[user][usage] = await client.get(usage)


async def begin_long_run(client: Client) -> None:
    text = 0
    async for event in client.stream(LONG_THREAD, "Hello, and do not stop."):
        text += event["type"] == "TEXT_MESSAGE_CONTENT"
        if text == 5:
            return


async def save(stores: Stores, folder: Path) -> None:
    recorded = RECORDED / stores.kind
    with tarfile.open(recorded / "state.tar.gz", "w:gz") as archive:
        archive.add(folder / "state", "state")
    if stores.database:
        (recorded / "database.sql").write_text(dump(stores.database))
    if stores.kind == "redis":
        async with Redis.from_url(REDIS) as redis:
            entries = await read_keys(redis, stores.prefix)
        (recorded / "log.json").write_text(json.dumps(entries, indent=1) + "\n")


def dump(database: str) -> str:
    command = ("pg_dump", "--inserts", "--no-owner", "--no-privileges", "--dbname", database)
    dumped: Any = subprocess.run(command, capture_output=True, check=True, text=True)
    return "".join(line for line in dumped.stdout.splitlines(keepends=True) if not line.startswith(("\\", "--")))


if __name__ == "__main__":
    asyncio.run(main())
