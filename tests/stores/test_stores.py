"""What every store of threads promises (`core.threads`). A new one is added to the fixture, and held to all of it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import QuotaExceeded, RunExists, StaleWriter, ThreadBusy, ThreadNotFound
from rightseat.core.events import Interrupt, RunFailed, RunFinished
from rightseat.core.messages import Call, File, Image, Message, Result, Text, assistant, user
from rightseat.core.threads import Expired, Pending, RunRow, Thread, Threads
from rightseat.core.types import JsonValue
from rightseat.stores.message_pieces import PIECE_MESSAGES

ANNA, BEN = Principal("anna"), Principal("ben")
DONE = RunFinished("done")


def ask(
    *messages: Message,
    thread_id: str = "t",
    run_id: str = "r",
    principal: Principal = ANNA,
    agent: str = "default",
    answers: tuple[Answer, ...] = (),
    transient: bool = False,
) -> Ask:
    return Ask(
        messages=messages,
        thread_id=thread_id,
        run_id=run_id,
        principal=principal,
        agent=agent,
        answers=answers,
        transient=transient,
        client_run_id=f"client-{run_id}",
    )


async def run(
    threads: Threads,
    asked: Ask,
    *said: Message,
    state: JsonValue = None,
    last: RunFinished | RunFailed = DONE,
) -> None:
    """A whole run."""
    await threads.claim(asked)
    await threads.finish(asked, said, state, last)


async def loaded(threads: Threads, thread_id: str = "t", principal: Principal = ANNA) -> Thread:
    thread = await threads.load(thread_id, principal)
    assert thread is not None
    return thread


# Runs, and what they leave behind


async def test_a_thread_has_the_messages_of_the_ask_and_of_the_run(threads: Threads) -> None:
    asked, said = user("Hi"), assistant("Hello!")

    await run(threads, ask(asked), said, state={"mood": "good"})

    thread = await loaded(threads)
    assert thread.messages == (asked, said)
    assert thread.state == {"mood": "good"}
    assert thread.runs == (RunRow("r", "default", "client-r", "done"),)


async def test_every_part_of_a_message_is_kept(threads: Threads) -> None:
    asked = Message(
        "user", (Text("What \0is\ud7ff this? 🙂"), Image("image/png", "aGk="), File("audio", "audio/wav", ""))
    )
    called = Message("assistant", (Text("Let me see."), Call("c", "look", '{"broken":')))
    returned = Message("tool", (Result("c", "look", "Too dark.", "tool_failed"),))

    await run(threads, ask(asked), called, returned)

    assert (await loaded(threads)).messages == (asked, called, returned)


async def test_a_thread_that_never_was_is_not_there(threads: Threads) -> None:
    assert await threads.load("t", ANNA) is None


async def test_a_client_that_sends_the_whole_conversation_again_adds_what_is_new(threads: Threads) -> None:
    first, answered, second = user("Hi"), assistant("Hello!"), user("Still there?")
    await run(threads, ask(first), answered, state={"count": 1})

    again = ask(first, answered, second, run_id="r2")
    beginning = await threads.claim(again)
    await threads.finish(again, (assistant("Yes."),), {"count": 2}, DONE)

    assert beginning.new_messages == (second,)
    assert beginning.state == {"count": 1}
    thread = await loaded(threads)
    assert [message.text for message in thread.messages] == ["Hi", "Hello!", "Still there?", "Yes."]
    assert thread.state == {"count": 2}


async def test_a_message_that_is_sent_twice_at_once_is_kept_once(threads: Threads) -> None:
    hi = user("Hi")

    await run(threads, ask(hi, hi))

    assert (await loaded(threads)).messages == (hi,)


async def test_the_runs_of_a_thread_are_in_their_order_with_what_became_of_them(threads: Threads) -> None:
    outcomes: list[RunFinished | RunFailed] = [
        DONE,
        RunFinished("waiting"),
        RunFinished("cancelled"),
        RunFailed("x", "y"),
    ]
    for number, last in enumerate(outcomes):
        await run(threads, ask(run_id=f"r{number}"), last=last)
    await threads.claim(ask(run_id="r4"))

    runs = (await loaded(threads)).runs
    assert [one.id for one in runs] == ["r0", "r1", "r2", "r3", "r4"]
    assert [one.outcome for one in runs] == ["done", "waiting", "cancelled", "failed", None]


async def test_nothing_of_a_transient_run_is_kept(threads: Threads) -> None:
    await run(threads, ask(user("Psst"), transient=True), assistant("Yes?"))

    assert await threads.load("t", ANNA) is None
    assert list(await threads.list(ANNA)) == []


async def test_what_is_finished_without_being_begun_is_not_kept(threads: Threads) -> None:
    await threads.finish(ask(user("Hi")), (), None, DONE)

    assert await threads.load("t", ANNA) is None


# One run at a time


async def test_a_second_run_gets_the_id_of_the_run_that_has_the_thread(threads: Threads) -> None:
    await threads.claim(ask(run_id="first"))

    with pytest.raises(ThreadBusy) as caught:
        await threads.claim(ask(run_id="second"))

    assert caught.value.run_id == "first"


async def test_a_thread_is_free_again_when_its_run_has_finished(threads: Threads) -> None:
    await run(threads, ask(run_id="first"), last=RunFailed("model_unreachable", "gone"))

    await threads.claim(ask(run_id="second"))


async def test_of_many_runs_that_begin_at_once_one_gets_the_thread(threads: Threads) -> None:
    results = await asyncio.gather(
        *(threads.claim(ask(run_id=f"r{number}")) for number in range(20)), return_exceptions=True
    )

    assert sorted(type(result).__name__ for result in results) == ["RunClaim", *["ThreadBusy"] * 19]
    assert len((await loaded(threads)).runs) == 1


async def test_a_second_claim_of_a_run_gets_a_higher_epoch(threads: Threads) -> None:
    epochs = [(await threads.claim(ask())).epoch for _ in range(3)]

    assert epochs[0] >= 1
    assert epochs == sorted(set(epochs))


async def test_only_the_owner_of_a_run_gets_its_next_epoch(threads: Threads) -> None:
    first = (await threads.claim(ask())).epoch

    second = await threads.advance_epoch(ask(), first)

    assert second > first
    with pytest.raises(StaleWriter):
        await threads.advance_epoch(ask(), first)
    await threads.finish(ask(), (), None, DONE)
    with pytest.raises(StaleWriter):
        await threads.advance_epoch(ask(), second)


async def test_a_run_that_has_lost_the_thread_changes_nothing_any_more(threads: Threads) -> None:
    late = ask(user("Too late"), run_id="late")
    await threads.claim(late)
    await threads.delete("t", ANNA)
    await run(threads, ask(user("New"), run_id="new"))

    await threads.finish(late, (assistant("Oh"),), {"late": True}, DONE)

    thread = await loaded(threads)
    assert [message.text for message in thread.messages] == ["New"]
    assert thread.state is None


# Whose it is


async def test_the_data_of_another_user_is_not_found(threads: Threads) -> None:
    question = RunFinished("waiting", (Interrupt("i", "approval", "May I?"),))
    await run(threads, ask(user("A secret"), principal=ANNA), last=question)

    assert await threads.load("t", BEN) is None
    assert list(await threads.list(BEN, archived=True)) == []
    assert list(await threads.pending(BEN)) == []
    assert list(await threads.pending(BEN, "t")) == []
    for work in (
        threads.claim(ask(principal=BEN, run_id="b")),
        threads.change("t", BEN, name="Mine"),
        threads.change("t", BEN, archived=True),
        threads.delete("t", BEN),
    ):
        with pytest.raises(ThreadNotFound):
            await work
    thread = await loaded(threads)
    assert [run.id for run in thread.runs] == ["r"]
    assert thread.summary is not None
    assert (thread.summary.name, thread.summary.archived) == ("A secret", False)


@pytest.mark.parametrize("thread_id", ["nobody's", "", "a\0b", "' OR 1=1 --", "x" * 10_000])
async def test_a_thread_that_is_not_there_is_not_found_whatever_it_is_called(threads: Threads, thread_id: str) -> None:
    assert await threads.load(thread_id, ANNA) is None
    assert list(await threads.pending(ANNA, thread_id)) == []
    with pytest.raises(ThreadNotFound):
        await threads.change(thread_id, ANNA, name="Mine")
    with pytest.raises(ThreadNotFound):
        await threads.delete(thread_id, ANNA)


# Lists and names


async def test_threads_are_listed_the_latest_first(threads: Threads) -> None:
    for thread_id in ("a", "b", "c"):
        await run(threads, ask(user(thread_id), thread_id=thread_id, run_id=f"run-{thread_id}"))
    await run(threads, ask(user("again"), thread_id="a", run_id="again"))

    assert [one.id for one in await threads.list(ANNA)] == ["a", "c", "b"]
    assert [one.id for one in await threads.list(ANNA, limit=2)] == ["a", "c"]


async def test_a_page_begins_after_the_last_thread_of_the_page_before_it(threads: Threads) -> None:
    for number in range(6):
        await run(threads, ask(thread_id=f"t{number}", run_id=f"r{number}", agent=f"agent{number % 2}"))

    first = await threads.list(ANNA, limit=2)
    await run(threads, ask(thread_id="new", run_id="new"))
    await threads.delete("t4", ANNA)  # the cursor itself
    await threads.delete("t3", ANNA)  # on the next page
    second = await threads.list(ANNA, limit=2, after=first[-1].cursor)
    of_one_agent = await threads.list(ANNA, agent="agent0", after=first[-1].cursor)

    assert [one.id for one in first] == ["t5", "t4"]
    assert [one.id for one in second] == ["t2", "t1"]
    assert [one.id for one in await threads.list(ANNA, after=second[-1].cursor)] == ["t0"]
    assert [one.id for one in of_one_agent] == ["t2", "t0"]


async def test_a_list_can_be_of_one_agent(threads: Threads) -> None:
    await run(threads, ask(thread_id="a", run_id="ra", agent="weather"))
    await run(threads, ask(thread_id="b", run_id="rb", agent="news"))

    assert [one.id for one in await threads.list(ANNA, agent="news")] == ["b"]


async def test_a_thread_is_named_after_the_first_words_of_its_messages(threads: Threads) -> None:
    long = "Please tell me about the weather  in Lisbon,\nand whether I should take an umbrella with me"
    await run(threads, ask(assistant("Welcome!"), user(long)))
    await run(threads, ask(user("Thanks"), run_id="r2"))

    [summary] = await threads.list(ANNA)
    assert summary.name == "Please tell me about the weather in Lisbon, and whether I"


async def test_a_thread_without_messages_gets_its_name_later(threads: Threads) -> None:
    await run(threads, ask(Message("user", (Image("image/png", "aGk="),))))
    [nameless] = await threads.list(ANNA)
    await run(threads, ask(user("What is it?"), run_id="r2"))

    [named] = await threads.list(ANNA)
    assert (nameless.name, named.name) == (None, "What is it?")


async def test_a_thread_can_be_renamed_and_keeps_that_name(threads: Threads) -> None:
    await run(threads, ask(user("Hi")))

    changed = await threads.change("t", ANNA, name="Lisbon")
    await run(threads, ask(user("More"), run_id="r2"))

    [summary] = await threads.list(ANNA)
    assert changed.name == summary.name == "Lisbon"


async def test_a_thread_can_be_put_into_the_archive_and_taken_out(threads: Threads) -> None:
    await run(threads, ask(user("Hi")))

    archived = await threads.change("t", ANNA, archived=True)
    hidden, shown = list(await threads.list(ANNA)), list(await threads.list(ANNA, archived=True))
    back = await threads.change("t", ANNA, archived=False)

    assert (archived.archived, back.archived) == (True, False)
    assert hidden == []
    assert shown == [archived]
    assert list(await threads.list(ANNA)) == [back]


async def test_times_are_iso_8601_in_utc_and_move_on(threads: Threads) -> None:
    await run(threads, ask(user("Hi")))
    [before] = await threads.list(ANNA)
    await run(threads, ask(user("Hi"), run_id="r2"))
    [after] = await threads.list(ANNA)

    assert before.created_at == after.created_at <= before.updated_at < after.updated_at
    assert abs(datetime.now(UTC) - datetime.fromisoformat(after.updated_at)) < timedelta(minutes=1)


async def test_deleting_a_thread_returns_the_runs_that_it_had(threads: Threads) -> None:
    await run(threads, ask(user("Hi"), run_id="r1"), last=RunFinished("waiting", (Interrupt("i", "r", "m"),)))
    await run(threads, ask(user("Ho"), run_id="r2"))

    run_ids = await threads.delete("t", ANNA)

    assert sorted(run_ids) == ["r1", "r2"]
    assert await threads.load("t", ANNA) is None
    assert list(await threads.list(ANNA)) == []
    assert list(await threads.pending(ANNA)) == []


# Questions to a person


MAY_I = Interrupt("i", "approval", "May I?", call_id="c", schema={"type": "boolean"})


async def test_a_question_waits_with_its_call_until_it_is_answered(threads: Threads) -> None:
    call = Call("c", "pay", '{"sum": 3}')
    said = Message("assistant", (call,), id="m")
    await run(threads, ask(user("Pay")), said, last=RunFinished("waiting", (MAY_I,)))
    waiting = list(await threads.pending(ANNA))

    answered = ask(run_id="r2", answers=(Answer("i", "resolved", True),))
    beginning = await threads.claim(answered)
    still = list(await threads.pending(ANNA, "t"))
    await threads.finish(answered, (), None, DONE)

    assert waiting == [Pending(MAY_I, "t", "r", "default", call)]
    assert list(beginning.pending) == still == waiting
    assert list(await threads.pending(ANNA)) == []


async def test_a_run_without_answers_leaves_questions_as_they_are(threads: Threads) -> None:
    await run(threads, ask(), last=RunFinished("waiting", (MAY_I,)))
    await run(threads, ask(run_id="r2"))

    assert [pending.interrupt for pending in await threads.pending(ANNA)] == [MAY_I]


async def test_questions_are_in_the_order_in_which_they_were_asked(threads: Threads) -> None:
    asked = tuple(Interrupt(id, "approval", id) for id in ("z", "a", "m"))
    await run(threads, ask(), last=RunFinished("waiting", asked))
    await run(threads, ask(thread_id="t2", run_id="r2"), last=RunFinished("waiting", (MAY_I,)))

    assert [pending.interrupt.id for pending in await threads.pending(ANNA)] == ["z", "a", "m", "i"]
    assert [pending.interrupt.id for pending in await threads.pending(ANNA, "t2")] == ["i"]


async def test_a_question_that_is_asked_again_under_its_id_is_open_again(threads: Threads) -> None:
    await run(threads, ask(), last=RunFinished("waiting", (MAY_I,)))
    again = ask(run_id="r2", answers=(Answer("i", "resolved", True),))
    await run(threads, again, last=RunFinished("waiting", (MAY_I,)))

    assert [pending.run_id for pending in await threads.pending(ANNA)] == ["r2"]


@pytest.mark.parametrize(
    ("expires_at", "is_open"),
    [
        ("2001-01-01T00:00:00Z", False),
        ("2999-01-01T00:00:00Z", True),
        ("2999-01-01T00:00:00.5+02:00", True),
        ("2001-01-01T23:00:00-12:00", False),
        ("next week", True),
        (None, True),
    ],
)
async def test_a_question_can_expire(threads: Threads, expires_at: str | None, is_open: bool) -> None:
    interrupt = Interrupt("i", "approval", "May I?", expires_at=expires_at)
    await run(threads, ask(), last=RunFinished("waiting", (interrupt,)))

    found = list(await threads.pending(ANNA))
    beginning = await threads.claim(ask(run_id="r2"))

    assert [pending.interrupt for pending in found] == [interrupt] * is_open
    assert list(beginning.pending) == found


async def test_a_question_that_expired_is_given_once_with_its_owner(threads: Threads) -> None:
    call = Call("c", "pay", "{}")
    said = Message("assistant", (call,), id="m")
    late = msgspec.structs.replace(MAY_I, expires_at="2001-01-01T00:00:00Z")
    later = Interrupt("later", "approval", "May I?", expires_at="2999-01-01T00:00:00Z")
    await run(threads, ask(user("Pay")), said, last=RunFinished("waiting", (late, later)))

    first, second = await threads.expire_questions(), await threads.expire_questions()

    assert list(first) == [Expired(ANNA.id, Pending(late, "t", "r", "default", call))]
    assert list(second) == []
    assert [one.interrupt for one in await threads.pending(ANNA)] == [later]


async def test_a_question_that_is_just_being_answered_does_not_expire(threads: Threads) -> None:
    late = msgspec.structs.replace(MAY_I, expires_at="2001-01-01T00:00:00Z")
    await run(threads, ask(), last=RunFinished("waiting", (late,)))
    answered = ask(run_id="r2", answers=(Answer("i", "resolved", True),))
    await threads.claim(answered)

    while_busy = await threads.expire_questions()
    await threads.finish(answered, (), None, DONE)

    assert list(while_busy) == []
    assert list(await threads.expire_questions()) == []


async def test_unfinished_runs_are_those_of_the_owner_and_the_thread(threads: Threads) -> None:
    await threads.claim(ask(run_id="r1"))
    await threads.claim(ask(run_id="r2", thread_id="t2"))
    await run(threads, ask(run_id="r3", thread_id="t3"))

    assert sorted(await threads.unfinished(ANNA)) == ["r1", "r2"]
    assert list(await threads.unfinished(ANNA, "t2")) == ["r2"]
    assert list(await threads.unfinished(BEN)) == []


@pytest.mark.parametrize("sent", [1, 7, 8, 9, 25])
async def test_of_the_messages_that_are_sent_again_only_new_ones_are_added(threads: Threads, sent: int) -> None:
    history = [Message("user", (Text(f"{number}"),), id=f"u{number:02}") for number in range(25)]
    await run(threads, ask(*history[:20], run_id="r1"))
    again = ask(*history[-sent:], run_id="r2")

    claim = await threads.claim(again)
    await threads.finish(again, (Message("assistant", (Text("A"),), id="a"),), None, DONE)

    assert [one.id for one in claim.new_messages] == [one.id for one in history[max(20, 25 - sent) :]]
    stored = [one.id for one in (await loaded(threads)).messages]
    assert stored == [one.id for one in (*history[:20], *claim.new_messages)] + ["a"]


# Removing the end of a thread


async def test_an_ask_that_truncates_its_thread_replaces_the_messages_from_there_on(threads: Threads) -> None:
    first, second = Message("user", (Text("One"),), id="u1"), Message("user", (Text("Two"),), id="u2")
    await run(threads, ask(first, run_id="r1"), Message("assistant", (Text("A"),), id="a1"))
    await run(threads, ask(first, second, run_id="r2"), Message("assistant", (Text("B"),), id="a2"))
    edited = Message("user", (Text("Two, edited"),), id="u2")
    again = msgspec.structs.replace(ask(first, edited, run_id="r3"), truncate_at="u2")

    claim = await threads.claim(again)
    during = await loaded(threads)
    await threads.finish(again, (Message("assistant", (Text("C"),), id="a3"),), None, DONE)

    assert claim.new_messages == (edited,)
    assert [message.id for message in during.messages] == ["u1", "a1", "u2", "a2"]  # until the run has ended
    assert [message.id for message in (await loaded(threads)).messages] == ["u1", "a1", "u2", "a3"]
    assert (await loaded(threads)).messages[2] == edited


async def test_an_ask_that_truncates_at_an_unknown_message_removes_nothing(threads: Threads) -> None:
    await run(threads, ask(Message("user", (Text("One"),), id="u1"), run_id="r1"))

    await run(threads, msgspec.structs.replace(ask(user("Two"), run_id="r2"), truncate_at="never"))

    assert [message.text for message in (await loaded(threads)).messages] == ["One", "Two"]


async def test_truncating_closes_the_interrupts_of_removed_calls_and_no_others(threads: Threads) -> None:
    for number in (1, 2):
        call = Message("assistant", (Call(f"c{number}", "delete", "{}"),), id=f"a{number}")
        waiting = RunFinished("waiting", (Interrupt(f"i{number}", "approval_required", "Delete?", f"c{number}"),))
        question = Message("user", (Text("Delete it"),), id=f"u{number}")
        await run(threads, ask(question, run_id=f"r{number}"), call, last=waiting)

    again = ask(Message("user", (Text("Wait"),), id="u2"), run_id="r3")
    await run(threads, msgspec.structs.replace(again, truncate_at="u2"))

    assert [one.interrupt.id for one in await threads.pending(ANNA, "t")] == ["i1"]


def numbered(name: str, count: int) -> list[Message]:
    return [Message("user", (Text(f"{name} {number}"),), id=f"{name}{number}") for number in range(count)]


@pytest.mark.parametrize("count", [PIECE_MESSAGES, PIECE_MESSAGES + 1, 2 * PIECE_MESSAGES + 7])
async def test_a_long_thread_is_replaced_in_pieces_and_searched_as_before(threads: Threads, count: int) -> None:
    kept, old, new = numbered("k", 3), numbered("old", count), numbered("new", count)
    await run(threads, ask(*kept, *old, run_id="r1"))
    assert [message.id for message in (await loaded(threads)).messages] == [one.id for one in (*kept, *old)]

    await run(threads, msgspec.structs.replace(ask(*kept, *new, run_id="r2"), truncate_at="old0"), assistant("Done."))

    stored = (await loaded(threads)).messages
    assert [one.id for one in stored[:-1]] == [one.id for one in (*kept, *new)]
    assert stored[-1].text == "Done."
    assert [run.outcome for run in (await loaded(threads)).runs] == ["done", "done"]


# Messages without a run


async def test_messages_can_be_appended_without_a_run(threads: Threads) -> None:
    await threads.append_messages(ask(first := user("One")))
    await run(threads, ask(first, second := user("Two")), third := assistant("Three"))
    await threads.append_messages(ask(first, fourth := user("Four")))

    thread = await loaded(threads)
    assert thread.messages == (first, second, third, fourth)
    assert [one.id for one in thread.runs] == ["r"]
    assert thread.summary is not None
    assert thread.summary.name == "One"


async def test_messages_are_appended_only_by_the_owner_and_between_runs(threads: Threads) -> None:
    await threads.append_messages(ask(user("One")))
    with pytest.raises(ThreadNotFound):
        await threads.append_messages(ask(user("Two"), principal=BEN))
    await threads.claim(ask(user("Three")))
    with pytest.raises(ThreadBusy):
        await threads.append_messages(ask(user("Four")))

    assert [message.text for message in (await loaded(threads)).messages] == ["One"]


async def test_messages_are_appended_up_to_the_quota_of_their_owner_and_deleted_threads_free_theirs(
    threads: Threads,
) -> None:
    long, quota = user("x" * 4000), 10_500
    for thread_id in ("t1", "t2"):
        await threads.append_messages(ask(long, thread_id=thread_id), quota)

    with pytest.raises(QuotaExceeded, match="quota of each user is"):
        await threads.append_messages(ask(long, thread_id="t3"), quota)
    with pytest.raises(QuotaExceeded):
        await threads.append_messages(ask(user("y"), thread_id="t2"), 10_300)
    await threads.append_messages(ask(long, thread_id="b", principal=BEN), quota)
    assert await threads.load("t3", ANNA) is None

    await threads.delete("t1", ANNA)

    await threads.append_messages(ask(long, thread_id="t3"), quota)


async def test_appends_of_one_user_at_once_do_not_pass_the_quota(threads: Threads) -> None:
    appends = [threads.append_messages(ask(user("x" * 4000), thread_id=f"t{number}"), 16_000) for number in range(12)]

    results = await asyncio.gather(*appends, return_exceptions=True)

    assert [type(one) for one in results if one is not None] == [QuotaExceeded] * 9


async def test_the_repeated_request_of_a_durable_run_is_refused_by_the_claim(threads: Threads) -> None:
    """A check before the claim is too early: the first request may arrive and end its run meanwhile."""
    asked = durable(user("Pay"), run_id="r")
    await run(threads, asked)

    with pytest.raises(RunExists) as exists:
        await threads.claim(msgspec.structs.replace(asked, run_id="again"))
    thread = await loaded(threads)
    others: list[dict[str, Any]] = [
        {"client_run_id": "c2"},
        {"agent": "other"},
        {"durable": False},
        {"messages": (*asked.messages, user("More"))},
    ]
    for number, other in enumerate(others):
        await run(threads, msgspec.structs.replace(asked, run_id=f"other{number}", **other))

    assert "'r'" in exists.value.message
    assert [one.id for one in thread.runs] == ["r"]
    assert len((await loaded(threads)).runs) == 5


async def test_the_request_of_a_cancelled_durable_run_can_be_repeated(threads: Threads) -> None:
    asked = durable(user("Pay"), run_id="r")
    await run(threads, asked, last=RunFinished("cancelled"))

    await run(threads, msgspec.structs.replace(asked, run_id="again"))

    assert [one.outcome for one in (await loaded(threads)).runs] == ["cancelled", "done"]


def durable(*messages: Message, run_id: str) -> Ask:
    return msgspec.structs.replace(ask(*messages, run_id=run_id), durable=True, client_run_id="c")
