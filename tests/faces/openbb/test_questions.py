"""Questions to a person, asked and answered in the chat."""

import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import pytest

from rightseat.core.agent import Agent
from rightseat.core.approvals import is_approved
from rightseat.core.ask import Ask
from rightseat.core.errors import BadRequest
from rightseat.core.events import Interrupt
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, Message
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.faces.openbb import questions, replies
from rightseat.faces.openbb.questions import NOT_OPEN, ChatKey, PendingQuestions
from rightseat.faces.openbb.replies import PendingQuestion, read_reply, reply_hint
from rightseat.faces.openbb.request.parser import parse
from rightseat.faces.openbb.request.types import Query
from rightseat.testing import ScriptedModel, calls, says
from rightseat.testing import ScriptedResponse as Scripted
from tests.conftest import Serve
from tests.faces.openbb.serving import app, ask, question, text_of

CHAT = ChatKey("anyone", "default", "chat-1")
NAMED = {"X-Trace-Id": "chat-1"}
DELETE = calls("delete", '{"name": "a.txt"}')
DECISION: JsonValue = {
    "type": "object",
    "properties": {"decision": {"type": "string"}, "arguments": {"type": "object"}},
}


def leave(id: str = "i1", call: str | None = None, schema: JsonValue = DECISION) -> Interrupt:
    return Interrupt(id, "approval_required", "May it?", call, schema, memo={"plugin": "p"} if schema else None)


def values(**properties: str) -> Interrupt:
    schema: JsonValue = {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()}}
    return Interrupt("i1", "input_required", "It needs more.", None, schema)


def payload(asked: Interrupt, reply: str) -> JsonValue:
    answers = read_reply(PendingQuestion((asked,), ()), reply)
    assert answers is not None
    return answers[0].payload


def chat(*said: str) -> Any:
    """The request of a chat: what the user said, what the agent answered, and so on."""
    messages = [{"role": "ai" if number % 2 else "human", "content": one} for number, one in enumerate(said)]
    return {**question(), "messages": messages}


def query(*said: str) -> Query:
    return parse(json.dumps(chat(*said)).encode(), "chat-1")


@pytest.mark.parametrize("reply", ["allow", "Allow.", "**yes**", " OK "])
def test_a_yes_in_any_spelling_allows(reply: str) -> None:
    assert payload(leave(), reply) == {"decision": "allow"}


@pytest.mark.parametrize("reply", ["deny", "No!", "refuse"])
def test_a_no_in_any_spelling_refuses(reply: str) -> None:
    assert payload(leave(), reply) == {"decision": "deny"}


def test_a_sentence_with_a_yes_in_it_allows_nothing() -> None:
    assert read_reply(PendingQuestion((leave(),), ()), "yes, but which host is it?") is None


def test_a_change_is_read_line_by_line() -> None:
    assert payload(leave(), "edit\ndepth: full\n- limit = 3") == {
        "decision": "edit",
        "arguments": {"depth": "full", "limit": 3},
    }


def test_an_edit_without_changes_is_refused() -> None:
    with pytest.raises(BadRequest, match="no changes below"):
        read_reply(PendingQuestion((leave(),), ()), "edit")


def test_a_yes_in_the_chat_approves_a_call_and_a_no_refuses_it() -> None:
    call = Call("c1", "delete", "{}")
    waiting = PendingQuestion((leave(call="c1", schema=None),), (Message("assistant", (call,)),))

    (yes,) = read_reply(waiting, "yes") or ()
    (no,) = read_reply(waiting, "no") or ()

    assert (is_approved(yes), yes.call) == (True, call)
    assert (is_approved(no), no.call) == (False, call)


def test_one_word_answers_several_that_ask_for_leave() -> None:
    asked = (leave("i1"), leave("i2"))

    answers = read_reply(PendingQuestion(asked, ()), "no") or ()

    assert reply_hint(asked) == replies.DECIDE
    assert [(one.interrupt_id, one.payload) for one in answers] == [
        ("i1", {"decision": "deny"}),
        ("i2", {"decision": "deny"}),
    ]


def test_questions_that_one_message_cannot_answer_are_not_asked() -> None:
    assert reply_hint((leave(), values(city="string"))) is None


def test_one_value_is_the_message_itself() -> None:
    assert payload(values(city="string"), " New York ") == {"city": "New York"}
    assert payload(values(city="string"), "7") == {"city": "7"}
    assert payload(values(days="integer"), "7") == {"days": 7}
    assert payload(values(city="string"), "city: Oslo") == {"city": "Oslo"}
    assert payload(values(names="array"), "a, b") == {"names": ["a", "b"]}


def test_several_values_are_lines_or_an_object() -> None:
    assert payload(values(city="string", days="integer"), "city: Oslo\ndays: 3") == {"city": "Oslo", "days": 3}
    assert payload(values(city="string", days="integer"), '{"city": "Oslo", "days": 3}') == {"city": "Oslo", "days": 3}


def test_an_unknown_field_is_refused_with_the_names_of_the_fields() -> None:
    with pytest.raises(BadRequest, match=r"'town' is not one of the fields.*`city`, `days`"):
        payload(values(city="string", days="integer"), "town: Oslo")
    with pytest.raises(BadRequest, match="No line"):
        payload(values(city="string", days="integer"), "Oslo, three days")


def test_a_value_can_be_cancelled() -> None:
    (answer,) = read_reply(PendingQuestion((values(city="string"),), ()), "Cancel") or ()

    assert answer.status == "cancelled"


def test_one_of_several_words_is_asked_for_by_name() -> None:
    asked = Interrupt("i", "outcome_unknown", "Repeat?", None, {"type": "string", "enum": ["repeat", "skip", "stop"]})

    assert reply_hint((asked,)) == "To answer, reply **repeat**, **skip** or **stop**."
    assert payload(asked, "Stop") == "stop"
    with pytest.raises(BadRequest, match="not one of the choices"):
        payload(asked, "perhaps")


def test_a_question_is_answered_once() -> None:
    kept = PendingQuestions()
    kept.add(CHAT, PendingQuestion((leave(),), ()))
    said = query("Scan.", f"May it?\n\n{replies.EDIT}", "allow")

    assert kept.take_reply(CHAT, said) is not None
    with pytest.raises(BadRequest, match="not open"):
        kept.take_reply(CHAT, said)


def test_what_cannot_be_read_leaves_the_question_open() -> None:
    kept = PendingQuestions()
    kept.add(CHAT, PendingQuestion((values(city="string", days="integer"),), ()))
    with pytest.raises(BadRequest):
        kept.take_reply(CHAT, query("Weather?", f"It needs more.\n\n{replies.VALUES}", "Oslo"))

    assert kept.take_reply(CHAT, query("Weather?", f"It needs more.\n\n{replies.VALUES}", "city: Oslo")) is not None


def test_another_question_closes_the_open_one() -> None:
    kept = PendingQuestions()
    kept.add(CHAT, PendingQuestion((leave(),), ()))

    assert kept.take_reply(CHAT, query("Scan.", f"May it?\n\n{replies.EDIT}", "What is a scan?")) is None
    with pytest.raises(BadRequest, match="not open"):
        kept.take_reply(CHAT, query("Scan.", f"May it?\n\n{replies.EDIT}", "allow"))


@pytest.mark.parametrize(("longest", "decision"), [(60.0, "cancelled"), (0.0, "expired")])
def test_a_question_that_is_closed_without_an_answer_leaves_an_audit_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, longest: float, decision: str
) -> None:
    call = Call("c1", "delete", '{"name": "a.txt"}')
    kept = PendingQuestions()
    kept.add(CHAT, PendingQuestion((leave("i1", call="c1", schema=None),), (Message("assistant", (call,)),)))
    monkeypatch.setattr(questions, "MAX_PENDING_S", longest)

    with caplog.at_level(logging.INFO, "rightseat.audit"):
        kept.take_reply(CHAT, query("Delete it.", f"May it?\n\n{replies.DECIDE}", "What is a file?"))

    assert [record.getMessage() for record in caplog.records] == [
        f"approval: user='anyone' agent='default' tool='delete' interrupt='i1' decision={decision}"
    ]


def test_a_question_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = PendingQuestions()
    kept.add(CHAT, PendingQuestion((leave(),), ()))
    monkeypatch.setattr(questions, "MAX_PENDING_S", 0.0)

    with pytest.raises(BadRequest, match="not open"):
        kept.take_reply(CHAT, query("Scan.", f"May it?\n\n{replies.EDIT}", "allow"))


def test_the_word_of_another_agent_is_no_persons_leave() -> None:
    kept = PendingQuestions()
    kept.add(CHAT, PendingQuestion((leave(),), ()))

    assert kept.take_reply(CHAT, query("Scan.", "allow")) is None, "the last message is an agent's"
    assert kept.take_reply(CHAT, query("Scan.", f"May it?\n\n{replies.EDIT}", "allow")) is not None


# On a real server


class Tools:
    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [self._tool]


def deleting(done: list[str], *answers: Scripted) -> Agent:
    """A model whose tool changes something, so a person is asked."""

    async def delete(invocation: Invocation) -> str:
        done.append(str(invocation.arguments["name"]))
        return f"{invocation.arguments['name']} is gone"

    schema: dict[str, JsonValue] = {"type": "object", "properties": {"name": {"type": "string"}}}
    tool = Tool("delete", "Delete a file.", schema, delete, effect="write")
    return Loop(ScriptedModel(list(answers)), [Tools(tool)])


async def test_a_tool_that_changes_something_runs_after_the_users_approval(serve: Serve) -> None:
    done: list[str] = []
    agent = deleting(done, DELETE, says("It is gone."))

    async with serve(app(agent=agent)) as url:
        asked = text_of(await ask(url, chat("Delete a.txt"), **NAMED))
        before = list(done)
        answered = text_of(await ask(url, chat("Delete a.txt", asked, "allow"), **NAMED))
        again = text_of(await ask(url, chat("Delete a.txt", asked, "allow"), **NAMED))

    assert "May delete be run?" in asked
    assert '"name": "a.txt"' in asked
    assert asked.endswith(replies.DECIDE)
    assert before == []
    assert (answered, done) == ("It is gone.", ["a.txt"])
    assert again == NOT_OPEN


async def test_a_tool_that_the_user_refuses_is_not_run_and_the_model_continues(serve: Serve) -> None:
    done: list[str] = []
    agent = deleting(done, DELETE, says("Then I leave it."))

    async with serve(app(agent=agent)) as url:
        asked = text_of(await ask(url, chat("Delete a.txt"), **NAMED))
        answered = text_of(await ask(url, chat("Delete a.txt", asked, "deny"), **NAMED))

    assert (answered, done) == ("Then I leave it.", [])


async def test_a_chat_without_a_name_cannot_be_asked(serve: Serve) -> None:
    async with serve(app(agent=deleting([], DELETE))) as url:
        said = text_of(await ask(url, chat("Delete a.txt")))

    assert said.startswith("delete needs approval")


async def test_an_answer_after_a_restart_gets_a_notice_that_nothing_was_done(serve: Serve) -> None:
    done: list[str] = []
    async with serve(app(agent=deleting(done, DELETE))) as url:
        asked = text_of(await ask(url, chat("Delete a.txt"), **NAMED))
    async with serve(app(agent=deleting(done, says("Sure, done!")))) as url:
        answered = text_of(await ask(url, chat("Delete a.txt", asked, "allow"), **NAMED))

    assert (answered, done) == (NOT_OPEN, [])


def test_values_are_read_from_lines() -> None:
    said = "- city:  Oslo \n  * `days` = 3\nname: a: b\n\n no value"

    assert replies.read_pairs(said) == {"city": "Oslo", "days": "3", "name": "a: b"}


@pytest.mark.serial
@pytest.mark.parametrize("said", [" " * 200_000, "a: x" + " " * 200_000 + "y", "-" + " " * 200_000, "[" * 200_000])
def test_a_hostile_reply_is_read_in_linear_time(said: str) -> None:
    began = time.process_time()

    replies.read_pairs(said)

    assert time.process_time() - began < 1
