"""Questions to people, and the states of agents, as CopilotKit's GraphQL clients get them."""

from typing import Any

import pytest

from rightseat.core.approvals import is_approved
from rightseat.core.ask import Answer
from rightseat.core.errors import BadRequest
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, StateReplaced, StepEnded, StepStarted
from rightseat.core.threads import Pending
from rightseat.faces.copilotkit.graphql.inputs import MetaEventInput
from rightseat.faces.copilotkit.graphql.meta import read_answers
from rightseat.faces.copilotkit.graphql.scalars import MetaEventName
from tests.faces.copilotkit.test_encoder import STARTED, merged, singly, text, whole

ASKED = Interrupt("i1", "on_interrupt", "What is your name?")
KIND = MetaEventName.LangGraphInterruptEvent


def both(*events: Event) -> list[dict[str, Any]]:
    """What a client ends up with: of pieces, and of one body."""
    return [merged(singly(STARTED, *events)), whole([STARTED, *events])]


def test_a_question_is_a_meta_event() -> None:
    for response in both(*text("m", "Hm"), RunFinished("waiting", (ASKED,))):
        (event,) = response["metaEvents"]
        assert (event["type"], event["name"]) == ("MetaEvent", "LangGraphInterruptEvent")
        assert event["value"] == "What is your name?"
        assert response["status"]["code"] == "Success"


def test_a_question_with_messages_comes_with_them() -> None:
    messages: Any = [
        {"id": "im-1", "role": "assistant", "content": "Please approve"},
        {"id": "ic-1", "name": "approve", "arguments": {"amount": 5}},
    ]
    told = Custom("copilotkit.interrupt", {"id": "i1", "value": "approve?", "messages": messages})

    for response in both(told, RunFinished("waiting", (Interrupt("i1", "on_interrupt", "approve?"),))):
        (event,) = response["metaEvents"]
        assert event["data"]["value"] == "approve?"
        first, second = event["data"]["messages"]
        assert (first["content"], first["status"]["code"]) == (["Please approve"], "Success")
        assert (second["name"], second["arguments"]) == ("approve", ['{"amount":5}'])


def test_a_state_behind_all_steps_is_the_last() -> None:
    events = (
        StepStarted("chat"),
        StateReplaced({"n": 1}),
        StepEnded("chat"),
        StateReplaced({"n": 2}),
        RunFinished("done"),
    )

    for response in both(*events):
        shown = [(one["nodeName"], one["state"], one["running"]) for one in response["messages"]]
        assert shown == [("chat", '{"n":1}', True), ("__end__", '{"n":2}', False)]


def test_a_state_between_two_steps_is_shown_with_the_second() -> None:
    events = (StepStarted("a"), StepEnded("a"), StateReplaced({"n": 1}), StepStarted("b"), StepEnded("b"))

    for response in both(*events, RunFinished("done")):
        assert [one["nodeName"] for one in response["messages"]] == ["b", "__end__"]


def test_the_states_of_an_agent_that_was_handed_over_to_are_its_own() -> None:
    events = (
        Custom("agent.entered", "crew"),
        StateReplaced({"step": 1}),
        Custom("agent.left", "crew"),
        RunFinished("done"),
    )

    for response in both(*events):
        shown = [(one["agentName"], one["nodeName"]) for one in response["messages"]]
        assert shown == [("crew", ""), ("crew", "__end__")]


def pending(*interrupts: Interrupt) -> list[Pending]:
    return [Pending(one, "t", "r", "a") for one in interrupts]


@pytest.mark.parametrize(
    ("response", "payload"), [("Ada", "Ada"), ('{"approved": true}', {"approved": True}), ("7", 7)]
)
def test_a_response_answers_the_question_with_its_words(response: str, payload: Any) -> None:
    event = MetaEventInput(name=KIND, value="What is your name?", response=response)

    answers = read_answers([event], pending(Interrupt("i0", "on_interrupt", "Where?"), ASKED))

    assert answers == (Answer("i1", "resolved", payload),)


def test_the_only_question_is_answered_whatever_its_words() -> None:
    event = MetaEventInput(name=KIND, value="else", response="Ada")

    assert read_answers([event], pending(ASKED)) == (Answer("i1", "resolved", "Ada"),)


@pytest.mark.parametrize(
    ("response", "is_yes"),
    [
        *((yes, True) for yes in ("true", '{"approved": true}', '{"decision": "allow"}')),
        *((no, False) for no in ("ok", "yes", "false", '"true"', "", "True", "1", '{"approved": 1}')),
    ],
)
def test_a_text_approves_a_call_if_it_is_the_json_of_a_yes(response: str, is_yes: bool) -> None:
    event = MetaEventInput(name=KIND, value="May I?", response=response)
    asked = Interrupt("i1", "approval_required", "May I?", "c1")

    (answer,) = read_answers([event], pending(asked))

    assert is_approved(answer) is is_yes


def test_an_event_without_a_response_answers_nothing() -> None:
    assert read_answers([MetaEventInput(name=KIND, value="What is your name?")], pending(ASKED)) == ()


def test_an_answer_to_no_question_is_refused() -> None:
    event = MetaEventInput(name=KIND, value="What is your name?", response="Ada")

    with pytest.raises(BadRequest, match="No open question"):
        read_answers([event], [])
