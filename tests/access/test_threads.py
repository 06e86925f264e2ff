"""Threads of agents that a credential is not for do not exist for it."""

import pytest

from rightseat.access.threads import ScopedThreads
from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE, StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ThreadNotFound
from rightseat.core.events import Interrupt, RunFinished
from rightseat.core.messages import user
from rightseat.stores.memory import MemoryThreads

ALL = Principal("alice")
SUPPORT = Principal("alice", ("support", "sales"))


@pytest.fixture
async def threads() -> ScopedThreads:
    """Alice has a thread with each of three agents, all with an open question."""
    kept = ScopedThreads(MemoryThreads())
    for agent in ("support", "default", "sales"):
        ask = Ask(messages=(user(f"Hi {agent}"),), agent=agent, thread_id=f"t-{agent}", principal=ALL)
        await kept.claim(ask)
        question = Interrupt(f"q-{agent}", "approval_required", "May I?")
        await kept.finish(ask, (), {"of": agent}, RunFinished("waiting", (question,)))
    return kept


async def test_a_credential_for_every_agent_lists_every_thread(threads: ScopedThreads) -> None:
    assert {one.id for one in await threads.list(ALL)} == {"t-support", "t-default", "t-sales"}
    assert await threads.load("t-default", ALL)
    assert len(await threads.pending(ALL)) == 3


async def test_lists_leave_out_the_threads_of_other_agents(threads: ScopedThreads) -> None:
    assert {one.id for one in await threads.list(SUPPORT)} == {"t-sales", "t-support"}
    assert len(await threads.list(SUPPORT, limit=1)) == 1
    assert [one.id for one in await threads.list(SUPPORT, agent="support")] == ["t-support"]
    assert await threads.list(SUPPORT, agent="default") == []
    assert {one.thread_id for one in await threads.pending(SUPPORT)} == {"t-support", "t-sales"}
    assert await threads.pending(SUPPORT, "t-default") == []


async def test_pages_of_several_agents_continue_where_the_one_before_ended(threads: ScopedThreads) -> None:
    (first,) = await threads.list(SUPPORT, limit=1)
    (second,) = await threads.list(SUPPORT, limit=1, after=first.cursor)

    assert [first.id, second.id] == ["t-sales", "t-support"]
    assert await threads.list(SUPPORT, limit=1, after=second.cursor) == []


async def test_the_thread_of_another_agent_is_reported_as_unknown(threads: ScopedThreads) -> None:
    assert await threads.load("t-support", SUPPORT)
    assert await threads.load("t-default", SUPPORT) is None
    with pytest.raises(ThreadNotFound):
        await threads.change("t-default", SUPPORT, name="Mine")
    with pytest.raises(ThreadNotFound):
        await threads.delete("t-default", SUPPORT)
    with pytest.raises(ThreadNotFound):
        await threads.claim(Ask(messages=(), agent="support", thread_id="t-default", principal=SUPPORT))

    assert await threads.load("t-default", ALL)
    assert (await threads.change("t-support", SUPPORT, name="Mine")).name == "Mine"
    assert len(await threads.delete("t-sales", SUPPORT)) == 1


async def test_a_thread_with_messages_of_another_agent_is_hidden_too(threads: ScopedThreads) -> None:
    ask = Ask(messages=(user("And you?"),), agent="default", thread_id="t-support", principal=ALL)
    await threads.claim(ask)
    await threads.finish(ask, (), None, RunFinished("done"))

    assert await threads.load("t-support", ALL)
    assert await threads.load("t-support", SUPPORT) is None


@pytest.mark.parametrize("principal", [ALL, SUPPORT], ids=["every agent", "some agents"])
async def test_a_run_is_not_claimed_again_in_a_deleted_thread_with_an_artifact_either(
    threads: ScopedThreads, principal: Principal
) -> None:
    ask = Ask(messages=(), agent="support", thread_id="deleted", principal=principal)
    artifact = StoredArtifact("x_1", "support", "record", PRIVATE_MEDIA_TYPE, b"{}")

    with pytest.raises(ThreadNotFound):
        await threads.claim(ask, again=True, artifact=artifact)


async def test_a_new_thread_can_be_started(threads: ScopedThreads) -> None:
    ask = Ask(messages=(user("Hi"),), agent="support", thread_id="new", principal=SUPPORT)
    await threads.claim(ask)
    await threads.finish(ask, (), None, RunFinished("done"))

    assert await threads.load("new", SUPPORT)
