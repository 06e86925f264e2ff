"""Votes on answers: what every store stores, finds, counts and deletes of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import RunFinished, Usage
from rightseat.core.messages import Message, Text, assistant, user
from rightseat.core.threads import Threads
from rightseat.core.usage import ModelUsage, RunTotals
from rightseat.operations import recent_answers
from rightseat.operations.feedback import (
    AnswerNotFound,
    FeedbackQuery,
    FeedbackRow,
    FeedbackStore,
    JudgedAnswer,
    Judgement,
)
from rightseat.operations.records import RecordReader, RunQuery
from rightseat.operations.store import Store, store_of
from rightseat.stores import feedback as sql_feedback
from rightseat.stores import memory_feedback
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.stores.expiry import expire

ANNA = Principal("anna")
UP, DOWN = Judgement("up"), Judgement("down", "Wrong year", ("wrong", "old"))
TOTALS = RunTotals((ModelUsage("small", 3, Usage(5, 5)), ModelUsage("large", 1, Usage(5, 90))))


async def run(threads: Threads, run_id: str = "r", agent: str = "clerk", **given: Any) -> str:
    """A run of anna, whose answer has two messages. Returns the id of the last."""
    asked = Ask(messages=(user("Hi"),), thread_id=f"t-{run_id}", run_id=run_id, agent=agent, principal=ANNA, **given)
    said = (assistant("Let me see."), assistant("Hello!"))
    await threads.claim(asked)
    await threads.finish(asked, said, None, RunFinished("done"), TOTALS)
    return said[-1].id


def votes_of(store: Store) -> FeedbackStore:
    assert store.feedback is not None
    return store.feedback


async def find(store: Store, id: str, owner: str = "anna") -> JudgedAnswer:
    answer = await votes_of(store).find_answer(id, owner)
    assert answer is not None
    return answer


async def list_rows(store: Store, **wanted: Any) -> list[FeedbackRow]:
    return list((await votes_of(store).list(FeedbackQuery(**wanted))).rows)


@pytest.fixture
def store(threads: Threads) -> Store:
    return store_of(threads)


async def test_an_answer_is_found_by_its_run_and_by_its_messages(store: Store) -> None:
    last = await run(store.threads)
    expected = {"key": "r", "owner": "anna", "run": "r", "thread": "t-r", "agent": "clerk", "model": "large"}

    assert await find(store, "r") == JudgedAnswer(**expected)
    assert await find(store, last) == JudgedAnswer(**expected, message=last)


async def test_an_answer_is_found_by_its_user_alone(store: Store) -> None:
    last = await run(store.threads)

    for id in ("r", last, "t-r", f"{last}x", "%", "*", "", "\0"):
        assert await votes_of(store).find_answer(id, "ben") is None, id


async def test_the_question_of_a_run_cannot_be_judged(store: Store) -> None:
    await run(store.threads)
    thread = await store.threads.load("t-r", ANNA)
    assert thread is not None

    assert await votes_of(store).find_answer(thread.messages[0].id, "anna") is None


async def test_a_later_vote_replaces_the_earlier_one(store: Store) -> None:
    answer = await find(store, await run(store.threads))

    first = await votes_of(store).give(answer, DOWN, "copilotkit")
    await votes_of(store).give(await find(store, "r"), UP, "openai")

    (row,) = await list_rows(store)
    assert (row.id, row.created_at, row.message, row.model) == (first.id, first.created_at, answer.message, "large")
    assert (row.value, row.comment, list(row.tags), row.through) == ("up", None, [], "openai")
    assert row.updated_at > row.created_at


async def test_twenty_votes_at_once_are_one_row(store: Store) -> None:
    answer = await find(store, await run(store.threads))

    await asyncio.gather(*(votes_of(store).give(answer, (UP, DOWN)[number % 2], "openai") for number in range(20)))

    assert len(await list_rows(store)) == 1


async def test_a_vote_is_withdrawn_once(store: Store) -> None:
    answer = await find(store, await run(store.threads))
    await votes_of(store).give(answer, UP, "openai")

    assert [await votes_of(store).withdraw(answer) for _ in range(2)] == [True, False]
    assert await list_rows(store) == []


async def test_a_deleted_thread_takes_its_votes_with_it(store: Store) -> None:
    answer = await find(store, await run(store.threads))
    await votes_of(store).give(answer, UP, "openai")

    await store.threads.delete("t-r", ANNA)

    assert await list_rows(store) == []
    with pytest.raises(AnswerNotFound):
        await votes_of(store).give(answer, UP, "openai")


async def test_the_messages_of_a_regenerated_answer_are_gone(store: Store) -> None:
    last = await run(store.threads)
    thread = await store.threads.load("t-r", ANNA)
    assert thread is not None
    again = Ask(messages=(), thread_id="t-r", run_id="r2", principal=ANNA, truncate_at=thread.messages[1].id)
    await store.threads.claim(again)
    await store.threads.finish(again, (assistant("Hello again!"),), None, RunFinished("done"))

    assert await votes_of(store).find_answer(last, "anna") is None
    assert (await find(store, "r")).run == "r"


async def test_rows_are_found_by_every_field(store: Store) -> None:
    for number, (agent, given) in enumerate([("clerk", UP), ("clerk", DOWN), ("judge", DOWN)]):
        answer = await find(store, await run(store.threads, f"r{number}", agent))
        await votes_of(store).give(answer, given, "openai" if number else "copilotkit")

    async def count(**wanted: Any) -> int:
        return len(await list_rows(store, **wanted))

    assert (await count(), await count(owner="anna"), await count(owner="ben")) == (3, 3, 0)
    assert (await count(value="down"), await count(value="down", agent="judge"), await count(run="r0")) == (2, 1, 1)
    assert (await count(through="openai"), await count(thread="t-r1"), await count(model="large")) == (2, 1, 3)
    assert (await count(tag="old"), await count(tag="ol"), await count(tag="OLD"), await count(tag='"')) == (2, 0, 0, 0)
    assert (await count(since="2000-01-01T00:00:00Z"), await count(since="2999-01-01T00:00:00Z")) == (3, 0)


async def test_readers_see_their_own_rows_and_those_of_their_agents(store: Store) -> None:
    for number, agent in enumerate(["clerk", "judge", "judge/deputy"]):
        answer = await find(store, await run(store.threads, f"r{number}", agent))
        await votes_of(store).give(answer, UP, "openai")

    async def agents(reader: RecordReader) -> set[str | None]:
        return {row.agent for row in await list_rows(store, reader=reader)}

    assert await agents(RecordReader("eve")) == set()
    assert await agents(RecordReader("eve", others=("judge",))) == {"judge", "judge/deputy"}
    assert await agents(RecordReader("eve", others=None)) == {"clerk", "judge", "judge/deputy"}
    assert await agents(RecordReader("anna", own=("clerk",))) == {"clerk"}


async def test_pages_follow_each_other_the_newest_first(store: Store) -> None:
    ids = []
    for number in range(5):
        answer = await find(store, await run(store.threads, f"r{number}"))
        ids.append((await votes_of(store).give(answer, UP, "openai")).id)

    first = await votes_of(store).list(FeedbackQuery(limit=3))
    second = await votes_of(store).list(FeedbackQuery(limit=3, after=first.next))

    oldest = await votes_of(store).list(FeedbackQuery(limit=3, is_oldest_first=True))
    rest = await votes_of(store).list(FeedbackQuery(limit=3, is_oldest_first=True, after=oldest.next))

    assert [row.id for row in (*first.rows, *second.rows)] == ids[::-1]
    assert [row.id for row in (*oldest.rows, *rest.rows)] == ids
    assert second.next is None
    with pytest.raises(BadRequest, match="cursor"):
        await votes_of(store).list(FeedbackQuery(after="nothing"))


async def test_votes_are_counted_by_agent_and_model(store: Store) -> None:
    for number, given in enumerate([UP, UP, DOWN]):
        answer = await find(store, await run(store.threads, f"r{number}"))
        row = await votes_of(store).give(answer, given, "openai")

    (day,) = await votes_of(store).count(FeedbackQuery(), "day")
    (hour,) = await votes_of(store).count(FeedbackQuery(), "hour")

    assert (day.agent, day.model, day.up, day.down) == ("clerk", "large", 2, 1)
    assert (day.start, hour.start) == (f"{row.created_at[:10]}T00:00:00Z", f"{row.created_at[:13]}:00:00Z")
    assert await votes_of(store).count(FeedbackQuery(owner="ben"), "day") == []


async def test_runs_are_found_by_their_vote(store: Store) -> None:
    assert store.records is not None
    for number, given in enumerate([UP, DOWN]):
        answer = await find(store, await run(store.threads, f"r{number}"))
        await votes_of(store).give(answer, given, "openai")
    await run(store.threads, "r2")

    listed = await store.records.runs(RunQuery())
    down = await store.records.runs(RunQuery(feedback="down"))

    assert {row.id: row.feedback for row in listed.rows} == {"r0": "up", "r1": "down", "r2": None}
    assert [row.id for row in down.rows] == ["r1"]


async def test_the_rows_of_a_user_are_exported_and_forgotten(store: Store) -> None:
    answer = await find(store, await run(store.threads))
    await votes_of(store).give(answer, DOWN, "openai")

    (exported,) = await votes_of(store).read_user("anna")
    assert isinstance(exported, dict)
    assert (exported["value"], exported["comment"], exported["run"]) == ("down", "Wrong year", "r")
    assert await votes_of(store).read_user("ben") == []
    assert [await votes_of(store).forget_user(name) for name in ("ben", "anna", "anna")] == [0, 1, 0]


# Answers of transient runs


async def test_the_answer_of_a_transient_run_is_found_while_it_is_remembered(
    store: Store,
) -> None:
    last = await run(store.threads, "r", transient=True)

    found = await find(store, last)
    assert (found.run, found.thread, found.message, found.trace_id, found.model) == ("r", None, last, "t-r", "large")
    assert await votes_of(store).find_answer("r", "ben") is None


def test_the_oldest_answers_are_no_longer_remembered() -> None:
    recent = recent_answers.RecentAnswers(max_answers=2)
    for number in range(3):
        asked = Ask(messages=(), run_id=f"r{number}", thread_id="chat", principal=ANNA, transient=True)
        recent.remember(asked, [Message("assistant", (Text(f"Answer {number}"),), f"m{number}")], None)

    assert [recent.find(id, "anna") is not None for id in ("r0", "m0", "r1", "m2")] == [False, False, True, True]
    quoted = [recent.find_quoted("chat", text, "anna") for text in ("Answer 0", " Answer\n1 ", "Answer 2")]
    assert [answer and answer.run for answer in quoted] == ["r2", "r1", "r2"]
    assert recent.find_quoted("chat", "Answer 2", "ben") is None
    assert recent.find_quoted("another chat", "Answer 2", "anna") is None


async def test_votes_on_answers_that_are_not_stored_are_limited(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (sql_feedback, memory_feedback):
        monkeypatch.setattr(module, "MAX_UNSTORED_ROWS", 2)

    for number in range(4):
        await votes_of(store).give(JudgedAnswer(key=f"k{number}", owner="anna", question="Q"), UP, "openbb")
    await votes_of(store).give(JudgedAnswer(key="k0", owner="ben"), UP, "openbb")

    assert len(await list_rows(store, owner="anna")) == 2
    assert len(await list_rows(store)) == 3
    warning = "anna has more than 2 votes on answers that are not stored: the oldest 1 were deleted"
    assert [record.getMessage() for record in caplog.records] == [warning, warning]


async def test_votes_on_answers_that_are_not_stored_expire(where: Path | str) -> None:
    async with SqlThreads(connect(where), retention_days=1e-9) as threads:
        store = threads.store()
        await votes_of(store).give(JudgedAnswer(key="k", owner="anna"), UP, "openbb")
        await expire(threads)

        assert await list_rows(store) == []
