"""What a server of an older commit has left is opened by today's: nothing is lost, and what it began is finished."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.types import JsonValue
from tests.upgrades.old_code import ROOT, Server, start_program
from tests.upgrades.recorded_state import ENVIRONMENT, KINDS, LONG_THREAD, Client, Kind, Replies, open_stores, restore

pytestmark = pytest.mark.whole

CHANGING = {"file", "last_used_at", "total"}
"""Fields whose values differ when replies are read again: the place of the configuration, and numbers that grow."""


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_that_an_old_server_has_left_is_lost(kind: Kind, tmp_path: Path) -> None:
    replies = Replies.load(kind)
    async with open_stores(kind) as stores:
        file = await restore(stores, tmp_path)
        server = await Server(ROOT / "src", file, ENVIRONMENT).start()
        try:
            for user, recorded in replies.by_path.items():
                async with Client(server.url, replies.keys[user]) as client:
                    for path, reply in recorded.items():
                        assert find_lost(reply, await client.get(path)) == [], path
            await check_keys(server.url, replies)
            await finish_what_was_begun(server.url, replies)
            await go_on_in_every_thread(server.url, replies)
        finally:
            await server.end(signal.SIGTERM)
        migration = await start_program(ROOT / "src", "migrate", "--config", str(file), environment=ENVIRONMENT)
        printed, _ = await migration.communicate()

    assert [line for line in server.output if "migrated the tables of threads from version 0013 to " in line]
    assert [line for line in server.output if " ERROR " in line or "Traceback" in line] == []
    assert b"The tables are those of this version" in printed
    (vote,) = (tmp_path / "state" / "votes.jsonl").read_text().splitlines()
    assert json.loads(vote)["vote"] == "up"


async def test_a_configuration_of_then_is_valid_and_its_old_keys_are_named(tmp_path: Path) -> None:
    async with open_stores("sqlite") as stores:
        file = await restore(stores, tmp_path)
        check = await start_program(ROOT / "src", "check", "--config", str(file), environment=ENVIRONMENT)
        printed, _ = await check.communicate()

    assert check.returncode == 0, printed.decode()
    assert "faces[2].feedback_file is deprecated: " in printed.decode()
    assert "rightseat.yaml: errors 0, warnings 1." in printed.decode()


def test_a_loss_is_found() -> None:
    entries: list[JsonValue] = [{"id": 2, "text": "a"}, {"id": 3, "text": "b"}]
    old: dict[str, JsonValue] = {"id": 1, "list": entries, "last_used_at": None}

    assert find_lost(old, {"id": 1, "new": 0, "list": [{"id": 9}, *entries], "last_used_at": "now"}) == []
    assert find_lost(old, old | {"id": 2}) == [".id: 1 is 2"]
    assert find_lost(old, old | {"list": [{"id": 2, "text": "a"}]}) == [".list[1]: {'id': 3, 'text': 'b'} is missing"]
    assert find_lost(old, old | {"list": entries[::-1]}) == [".list[1]: {'id': 3, 'text': 'b'} is missing"]
    assert find_lost(old, {"id": 1, "last_used_at": None}) == [".list is missing"]


def find_lost(old: JsonValue, new: JsonValue, place: str = "") -> list[str]:
    """Fields may be added, and entries of lists too: those of before are in the same order."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            problem
            for name, value in old.items()
            if name not in CHANGING
            for problem in (
                find_lost(value, new[name], f"{place}.{name}") if name in new else [f"{place}.{name} is missing"]
            )
        ]
    if isinstance(old, list) and isinstance(new, list):
        rest = iter(new)
        return [
            f"{place}[{position}]: {entry} is missing"
            for position, entry in enumerate(old)
            if not any(find_lost(entry, other) == [] for other in rest)
        ]
    return [] if old == new else [f"{place}: {old} is {new}"]


async def check_keys(url: str, replies: Replies) -> None:
    async with Client(url, replies.keys["gone"]) as gone, Client(url, replies.keys["bob"]) as bob:
        assert await gone.get_status("/copilotkit/threads") == 401
        assert await bob.get("/copilotkit/threads/waiting/messages") == {"messages": []}


async def finish_what_was_begun(url: str, replies: Replies) -> None:
    """The run that was killed continues, and the question that waited is answered."""
    async with Client(url, replies.keys["carol"]) as carol:
        events = [event async for event in carol.stream(LONG_THREAD, "", operation="connect")]
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        asked, answered = (await carol.get(f"/copilotkit/threads/{LONG_THREAD}/messages"))["messages"]
        assert asked["content"] == "Hello, and do not stop."
        assert answered["content"].startswith("You said: “Hello, and do not stop.”")
        assert answered["content"].endswith("cancel_order.")
    async with Client(url, replies.keys["alice"]) as alice:
        (approval,) = (await alice.get("/copilotkit/approvals"))["approvals"]
        decision = {"status": "resolved", "payload": {"approved": True}}
        await alice.send("POST", f"/copilotkit/approvals/{approval['id']}", decision)
        events = [event async for event in alice.stream("waiting", "", operation="connect")]
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        messages = (await alice.get("/copilotkit/threads/waiting/messages"))["messages"]
        assert "cancelled" in messages[-1]["content"]


async def go_on_in_every_thread(url: str, replies: Replies) -> None:
    async with Client(url, replies.keys["alice"]) as alice, asyncio.TaskGroup() as tasks:
        for thread in (await alice.get("/copilotkit/threads?includeArchived=true"))["threads"]:
            tasks.create_task(go_on(alice, thread["id"], thread["agentId"]))
    async with Client(url, replies.keys["bob"]) as bob:
        (first,) = [path.rpartition("/")[2] for path in replies.by_path["bob"] if path.startswith("/v1/responses/")]
        body = {"model": "default", "input": "And on.", "previous_response_id": first}
        assert (await bob.send("POST", "/v1/responses", body))["status"] == "completed"


async def go_on(client: Client, thread: str, agent: str) -> None:
    before = await read_texts(client, thread)
    events = await client.ask(thread, "Are you still there?", agent)

    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    after = await read_texts(client, thread)
    assert after[: len(before)] == before
    assert "Are you still there?" in after


async def read_texts(client: Client, thread: str) -> list[Any]:
    messages = (await client.get(f"/copilotkit/threads/{thread}/messages"))["messages"]
    return [message.get("content") for message in messages]
