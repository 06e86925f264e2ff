"""What a LangGraph graph streams, and what it is sent. A real server is in `tests/contracts`."""

from typing import Any

import pytest

from rightseat.core.ask import Answer, Ask, Context, ToolOffer
from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    RunFailed,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, user
from rightseat.wire.langgraph import LangGraphDecoder, select_new, write_command, write_input

NODE = {"langgraph_node": "chat"}


def read(reader: LangGraphDecoder, *streamed: tuple[str, Any]) -> list[Event]:
    return [event for mode, data in streamed for event in reader.read(mode, data)]


def piece(**fields: Any) -> tuple[str, Any]:
    return "messages", [{"type": "AIMessageChunk", "id": "run-1", "content": "", **fields}, NODE]


def test_pieces_of_an_answer_and_the_end_of_its_node() -> None:
    events = read(LangGraphDecoder(), piece(content="Hel"), piece(content="lo"), ("updates", {"chat": {"count": 1}}))

    assert events == [
        StepStarted("chat"),
        *(TextStarted("run-1"), TextDelta("run-1", "Hel"), TextDelta("run-1", "lo"), TextEnded("run-1")),
        StepEnded("chat"),
    ]


def test_a_call_in_pieces_and_its_result() -> None:
    first = {"id": "c1", "name": "look", "args": "", "index": 0}
    rest = {"id": None, "name": None, "args": "{}", "index": 0}
    result = {"type": "tool", "tool_call_id": "c1", "name": "look", "content": "seen", "id": "t1"}

    events = read(
        LangGraphDecoder(),
        piece(tool_call_chunks=[first]),
        piece(tool_call_chunks=[rest]),
        ("messages", [result, {"langgraph_node": "tools"}]),
    )

    assert events == [
        StepStarted("chat"),
        *(ToolCallStarted("c1", "look", "run-1"), ToolCallDelta("c1", "{}"), ToolCallEnded("c1")),
        *(StepEnded("chat"), StepStarted("tools")),
        ToolCallReturned("c1", "look", "seen"),
    ]


def test_blocks_of_content_are_read_for_their_text() -> None:
    events = read(LangGraphDecoder(), piece(content=[{"type": "text", "text": "Hi"}, {"type": "image_url"}]))

    assert TextDelta("run-1", "Hi") in events


def test_a_message_that_was_not_streamed_is_emitted_once() -> None:
    whole = {"type": "ai", "id": "m1", "content": "Hello Ada", "tool_calls": []}

    events = read(LangGraphDecoder(), ("messages", [whole, NODE]), ("values", {"messages": [whole], "name": "Ada"}))

    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hello Ada"]
    assert events[-1] == StateReplaced({"name": "Ada"})


def test_messages_that_the_thread_had_or_was_sent_are_not_emitted_again() -> None:
    before = [{"type": "ai", "id": "old", "content": "Earlier", "tool_calls": [{"id": "c0", "name": "f", "args": {}}]}]
    result = {"type": "tool", "tool_call_id": "c0", "name": "f", "content": "done", "id": "t"}
    sent = Message("tool", (Result("c0", "f", "done"),))

    events = read(LangGraphDecoder(before, (sent,)), ("values", {"messages": [*before, result]}))

    assert events == [StateReplaced({})]


def test_a_question_is_asked_once() -> None:
    asked = [{"id": "i1", "value": {"field": "name"}}]
    reader = LangGraphDecoder()

    read(reader, ("values", {"__interrupt__": asked}), ("updates", {"__interrupt__": asked}))

    memo: Any = {"kind": "langgraph", "value": {"field": "name"}}
    assert reader.interrupts == [Interrupt("i1", "on_interrupt", '{"field": "name"}', memo=memo)]


def test_the_rules_for_predicted_state_are_emitted_once() -> None:
    rules = [{"state_key": "story", "tool": "write", "tool_argument": "text"}]
    data = [{"type": "AIMessageChunk", "id": "run-1", "content": "a"}, {"copilotkit:emit-intermediate-state": rules}]

    events = read(LangGraphDecoder(), ("messages", data), ("messages", data))

    assert [event for event in events if isinstance(event, Custom)] == [
        Custom("PredictState", rules)  # type: ignore[arg-type]  # a list is invariant
    ]


def test_custom_data_and_failures() -> None:
    events = read(
        LangGraphDecoder(), ("custom", {"n": 1}), ("error", {"error": "ValueError", "message": "no"}), ("metadata", {})
    )

    assert events == [Custom("langgraph.custom", {"n": 1}), RunFailed("agent_failed", "ValueError: no")]


def test_a_subgraphs_stream_is_read_like_its_parents() -> None:
    events = read(
        LangGraphDecoder(), ("messages|sub:1", [{"type": "AIMessageChunk", "id": "r", "content": "Hi"}, NODE])
    )

    assert TextDelta("r", "Hi") in events


def test_a_graph_is_sent_what_is_new_to_it() -> None:
    ask = Ask(
        messages=(user("Hi"), assistant("Hello"), user("More")),
        state={"count": 1, "name": "Ada", "messages": ["mine"]},
        tools=(ToolOffer("setColor", "sets it", {"type": "object"}),),
        context=(Context("page", "home"),),
    )
    known = {"count": 1, "messages": [{"type": "human", "id": ask.messages[0].id}, {"id": ask.messages[1].id}]}

    assert write_input(ask, known) == {
        "name": "Ada",
        "messages": [{"type": "human", "id": ask.messages[2].id, "content": "More"}],
        "copilotkit": {
            "actions": [{"name": "setColor", "description": "sets it", "parameters": {"type": "object"}}],
            "context": [{"description": "page", "value": "home"}],
        },
    }


def test_a_call_that_the_graph_made_is_known_by_its_own_id() -> None:
    """A client of CopilotKit may send it as a message of another id."""
    call = Message("assistant", (Call("c1", "f", "{}"),), id="elsewhere")
    result = Message("tool", (Result("c1", "f", "done"),))
    known = {"messages": [{"type": "ai", "id": "run-1", "tool_calls": [{"id": "c1", "name": "f", "args": {}}]}]}

    assert select_new((call, result), known) == [result]


def test_pictures_are_sent_as_langchain_reads_them() -> None:
    picture = Message("user", (Text("See"), Image("image/png", "AAAA")), id="u")

    (written,) = write_input(Ask(messages=(picture,)), {})["messages"]

    assert written["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]


@pytest.mark.parametrize(
    ("answers", "command"),
    [
        ((), None),
        ((Answer("i1", "resolved", "Ada", memo={"kind": "langgraph"}),), {"resume": "Ada"}),
        ((Answer("i1", "cancelled", memo={"kind": "langgraph"}),), {"resume": {"cancelled": True}}),
        (
            (
                Answer("i1", "resolved", 1, memo={"kind": "langgraph"}),
                Answer("i2", "resolved", 2, memo={"kind": "langgraph"}),
            ),
            {"resume": {"i1": 1, "i2": 2}},
        ),
        ((Answer("i1", "resolved", "Ada", memo={"kind": "else"}),), None),
    ],
)
def test_answers_become_a_command(answers: tuple[Answer, ...], command: Any) -> None:
    assert write_command(Ask(messages=(), answers=answers)) == command


def test_a_question_whose_id_is_no_text_gets_one_of_its_own() -> None:
    reader = LangGraphDecoder()
    read(reader, ("updates", {"__interrupt__": [{"id": 4, "value": "sure?"}]}))

    (asked,) = reader.interrupts
    assert asked.id.startswith("interrupt_")
