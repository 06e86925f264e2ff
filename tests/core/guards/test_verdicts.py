"""Every question of a conversation is judged, once; what was denied is left out, whoever sends it again."""

import gc
import time
from collections.abc import Collection

import msgspec
import pytest

from rightseat.core.ask import Answer, Ask, Principal, Topics
from rightseat.core.errors import GuardDenied
from rightseat.core.guard import BaseGuard, question_text
from rightseat.core.guards.verdicts import NOT_PASSED_ON, QuestionChecker, Verdict, remove_messages, split_turns
from rightseat.core.messages import Message, Text, assistant, system, user


class NoXyz(BaseGuard):
    """Denies `xyz`, and keeps what it was asked."""

    name = "no-xyz"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def check_question(self, ask: Ask) -> None:
        self.asked.append(question_text(ask))
        if "xyz" in question_text(ask):
            raise GuardDenied("No xyz.")


def said(*messages: Message) -> Ask:
    return Ask(messages=messages)


def again(ask: Ask, *messages: Message) -> Ask:
    """The conversation as a client without ids sends it again, and more."""
    old = tuple(Message(one.role, one.parts) for one in ask.messages)
    return msgspec.structs.replace(ask, messages=(*old, *messages))


async def test_an_earlier_question_without_a_verdict_is_checked() -> None:
    denied = user("about xyz")

    verdict = await QuestionChecker([NoXyz()], 1).judge(said(denied, assistant("No."), user("And now?")))

    assert verdict == Verdict(removed_messages=(denied.id,))


async def test_a_denied_question_is_left_out_of_every_later_one() -> None:
    guard = NoXyz()
    judging = QuestionChecker([guard], 1)
    first = said(user("about xyz"))
    assert (await judging.judge(first)).reason == "No xyz."
    second = again(first, user("Hello"))
    assert (await judging.judge(second)).removed_messages == (second.messages[0].id,)
    third = again(second, assistant("Hi."), user("And now?"))

    verdict = await judging.judge(third)

    assert verdict == Verdict(removed_messages=(third.messages[0].id,))
    assert guard.asked == ["about xyz", "Hello", "And now?"]


async def test_what_was_judged_before_is_not_judged_again() -> None:
    guard = NoXyz()
    judging = QuestionChecker([guard], 1)
    first = said(user("One"))
    await judging.judge(first)

    await judging.judge(again(first, assistant("1"), user("Two")))

    assert guard.asked == ["One", "Two"]


async def test_a_long_history_is_one_question_to_a_guard_where_nothing_is_denied() -> None:
    guard = NoXyz()
    history = [message for number in range(50) for message in (user(f"Question {number}"), assistant("Yes."))]

    assert await QuestionChecker([guard], 1).judge(said(*history, user("Now?"))) == Verdict()
    assert len(guard.asked) == 2


async def test_one_denied_question_in_a_long_history_is_found_by_halves() -> None:
    guard = NoXyz()
    questions = [user(f"Question {number}") for number in range(64)]
    questions[40] = user("xyz")
    history = [message for question in questions for message in (question, assistant("Yes."))]

    verdict = await QuestionChecker([guard], 1).judge(said(*history, user("Now?")))

    assert verdict.removed_messages == (questions[40].id,)
    assert len(guard.asked) < 16


async def test_a_guard_is_not_given_more_of_a_history_at_once_than_it_can_read() -> None:
    guard = NoXyz()
    history = [message for _ in range(20) for message in (user("long " * 1000), assistant("Yes."))]

    await QuestionChecker([guard], 1).judge(said(*history, user("Now?")))

    assert max(map(len, guard.asked)) < 17_000


async def test_messages_that_were_denied_together_are_not_passed_on_together_later() -> None:
    judging = QuestionChecker([Joined()], 1)
    first = said(user("xy"), user("z"))
    assert (await judging.judge(first)).removed_messages == (first.messages[0].id,)
    second = again(first, assistant("What?"), user("Well"))

    assert (await judging.judge(second)).removed_messages == (second.messages[0].id,)


class Joined(NoXyz):
    async def check_question(self, ask: Ask) -> None:
        if "xyz" in question_text(ask).replace("\n", ""):
            raise GuardDenied("No xyz.")


class Once(NoXyz):
    """A guard that changes its mind, as models do."""

    async def check_question(self, ask: Ask) -> None:
        if not self.asked:
            await super().check_question(ask)


async def test_a_denied_question_stays_denied_even_if_the_guard_would_now_allow_it() -> None:
    judging = QuestionChecker([Once()], 1)
    first = said(user("about xyz"))
    await judging.judge(first)

    verdict = await judging.judge(again(first, assistant("?"), user("And now?")))

    assert len(verdict.removed_messages) == 1


async def test_what_is_marked_in_the_thread_is_left_out_by_a_server_that_did_not_judge_it() -> None:
    denied = user("of politics")

    async def recall(ask: Ask) -> Collection[str]:
        return {denied.id}

    verdict = await QuestionChecker([NoXyz()], 1, recall).judge(
        said(denied, user("Hello"), assistant("Hi."), user("Now?"))
    )

    assert verdict.removed_messages == (denied.id,)


class Service(NoXyz):
    checks_history = False


async def test_a_guard_that_wants_no_history_is_asked_about_the_question_alone() -> None:
    guard = Service()

    await QuestionChecker([guard], 1).judge(said(user("xyz"), assistant("No."), user("Now?")))

    assert guard.asked == ["Now?"]


async def test_what_such_a_guard_denied_is_left_out_all_the_same() -> None:
    judging = QuestionChecker([Service()], 1)
    first = said(user("xyz"))
    await judging.judge(first)

    assert len((await judging.judge(again(first, assistant("No."), user("Now?")))).removed_messages) == 1


async def test_a_verdict_is_good_for_its_person_its_agent_and_its_topics_alone() -> None:
    guard = NoXyz()
    judging = QuestionChecker([guard], 1)
    asked = said(user("One"))
    await judging.judge(asked)
    others = (
        {"principal": Principal("ben")},
        {"agent": "other"},
        {"topics": Topics(deny=("one",))},
    )

    for other in others:
        await judging.judge(msgspec.structs.replace(again(asked, assistant("1"), user("Two")), **other))

    assert guard.asked == ["One"] + ["One", "Two"] * 3


async def test_a_denied_answer_to_a_tool_does_not_deny_the_messages() -> None:
    class NoAnswers(NoXyz):
        async def check_question(self, ask: Ask) -> None:
            if ask.answers:
                raise GuardDenied("No.")

    judging = QuestionChecker([NoAnswers()], 1)
    first = msgspec.structs.replace(said(user("Hi")), answers=(Answer("i", "resolved", "xyz"),))
    await judging.judge(first)

    assert await judging.judge(said(user("Hi"), assistant("?"), user("Well"))) == Verdict()


async def test_a_turn_has_the_messages_between_two_responses() -> None:
    one, two, three = user("1"), user("2"), user("3")

    assert split_turns(said(one, system("s"), two, assistant("a"), three)) == [(one, two), (three,)]
    assert split_turns(said(one, assistant("a"))) == [(one,), ()]


async def test_a_placeholder_replaces_a_removed_question_that_has_a_response() -> None:
    denied, answered = user("a"), user("b")
    ask = said(denied, answered, assistant("No."), user("Now?"))

    left = remove_messages(ask, (denied.id, answered.id)).messages

    assert [message.text for message in left] == [NOT_PASSED_ON, "No.", "Now?"]
    assert left[0].parts == (Text(NOT_PASSED_ON),)


@pytest.mark.serial
async def test_the_time_for_a_turn_of_many_messages_grows_as_their_number_does() -> None:
    """Quadratic time would be 16 times as long for four times the messages."""
    for word in ("abc", "xyz"):
        short, long = [], []
        for _ in range(ROUNDS):
            short.append(await measure_turn(1000, word))
            long.append(await measure_turn(4000, word))

        assert min(long) < 8 * min(short)


ROUNDS = 5
"""Another process can make a round slower but none faster, so the shortest ones are compared."""


async def measure_turn(count: int, word: str) -> float:
    """Judge so many messages, and the turn after them. The CPU time of this thread, in seconds, without the garbage
    collector, which looks at the objects of all tests before.
    """
    gc.disable()
    try:
        began = time.thread_time()
        ask = said(*(user(f"{word} {number}") for number in range(count)))
        judging = QuestionChecker([NoXyz()], 60)
        await judging.judge(ask)
        await judging.judge(again(ask, assistant("Hi."), user("And now?")))
        return time.thread_time() - began
    finally:
        gc.enable()
