"""Memories by the operator API: who deletes whose, and what is left of one."""

import logging

import pytest

from rightseat.core.ask import Principal
from rightseat.operations.own_memories import OwnMemories, SentMemory
from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, Server, serving
from tests.faces.operator.test_rights import KEYS, User

NOTE = SentMemory(text="Likes tea.", kind="topical")


def memories_of(server: Server) -> OwnMemories:
    found = server.assembly.memories
    assert found is not None
    return found


async def list_ids(one: User, **query: str) -> list[str]:
    return [row["id"] for row in (await one.get("memories", **query)).json()["memories"]]


async def test_a_memory_is_deleted_by_its_user_and_by_those_who_may_act_for_all(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rightseat.audit")
    async with serving(serve, CONFIGURATION + KEYS) as server:
        alice, bob, olga, wu = (User(server, name) for name in ("alice", "bob", "olga", "wu"))
        memories = memories_of(server)
        first = await memories.add(Principal("bob"), NOTE, may_share=False)
        own = await bob.change("DELETE", f"memories/{first.id}")
        second = await memories.add(Principal("bob"), NOTE, may_share=False)
        refused = [await one.change("DELETE", f"memories/{second.id}?owner=bob") for one in (alice, wu)]
        as_own = await alice.change("DELETE", f"memories/{second.id}")
        left = await list_ids(olga, owner="bob")
        removed = await olga.change("DELETE", f"memories/{second.id}?owner=bob")
        again = await olga.change("DELETE", f"memories/{second.id}?owner=bob")
        gone = await list_ids(olga, owner="bob")

    assert (own.status_code, removed.status_code, again.status_code) == (204, 204, 404)
    assert [answer.status_code for answer in refused] == [403, 403]
    assert as_own.status_code == 404
    assert (left, gone) == ([second.id], [])
    deletions = [line for line in caplog.messages if "removed memory" in line]
    assert deletions == [f"operator: olga removed memory {second.id} of bob"]


async def test_a_shared_memory_is_deleted_by_its_scope(serve: Serve) -> None:
    async with serving(serve, CONFIGURATION + KEYS) as server:
        bob, olga = User(server, "bob"), User(server, "olga")
        shared = SentMemory(text="The shop closes at six.", kind="topical", scope="project")
        row = await memories_of(server).add(Principal("olga"), shared, may_share=True)
        refused = await bob.change("DELETE", f"memories/{row.id}?scope=project")
        as_own = await olga.change("DELETE", f"memories/{row.id}")
        of_everyone = await olga.change("DELETE", f"memories/{row.id}?owner=*")
        removed = await olga.change("DELETE", f"memories/{row.id}?scope=project")
        left = await list_ids(olga, scope="project")

    assert [one.status_code for one in (refused, as_own, of_everyone, removed)] == [403, 404, 400, 204]
    assert left == []
