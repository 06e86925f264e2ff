import pytest

from rightseat.core.events import (
    Custom,
    Event,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFinished,
    RunStarted,
    StateChanged,
    StateReplaced,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.messages import user
from rightseat.core.run.replay import Replay
from rightseat.core.stream.compaction import compact
from rightseat.core.stream.reducer import Reducer
from rightseat.testing import check_pairs

STARTED = RunStarted("r", "t", "default")
ASKED = user("Charge it.")
FIRST: list[Event] = [
    ReasoningStarted("h1"),
    ReasoningDelta("h1", "Let me "),
    ReasoningDelta("h1", "see."),
    ReasoningEnded("h1"),
    TextStarted("m1"),
    TextDelta("m1", "I "),
    TextDelta("m1", "charge "),
    TextDelta("m1", "it."),
    TextEnded("m1"),
    ToolCallStarted("c1", "charge", "m1"),
    ToolCallDelta("c1", '{"am'),
    ToolCallDelta("c1", 'ount":1}'),
    ToolCallEnded("c1"),
    ModelResponseEnded("tool_calls"),
]
TOOL: list[Event] = [StateChanged([{"op": "add", "path": "/n", "value": 1}]), ToolCallReturned("c1", "charge", "done")]
SECOND: list[Event] = [
    TextStarted("m2"),
    TextDelta("m2", "Do"),
    TextDelta("m2", "ne."),
    TextEnded("m2"),
    ModelResponseEnded("stop"),
]
WHOLE = [*FIRST, *TOOL, *SECOND]


def go_on(said: list[Event], again: list[Event]) -> tuple[list[Event], Reducer]:
    """What is written behind what the log has, and what comes of all of it."""
    reducer = Reducer({})
    resumption = Replay([STARTED, *said], reducer, (ASKED,))
    written: list[Event] = []
    for event in again:
        for unsaid in resumption.feed(event):
            reducer.add(unsaid)
            written.append(unsaid)
    return written, reducer


def folded(events: list[Event]) -> Reducer:
    reducer = Reducer({})
    for event in events:
        reducer.add(event)
    return reducer


@pytest.mark.parametrize("length", range(len(WHOLE) + 1))
def test_wherever_a_run_was_interrupted_its_finished_steps_are_logged_completely_and_once(length: int) -> None:
    said = WHOLE[:length]

    written, reducer = go_on(said, [*compact(FIRST), *TOOL, *compact(SECOND)])

    check_pairs([*said, *written])
    assert not any(isinstance(event, MessagesReplaced) for event in written)
    assert compact([*said, *written]) == compact(WHOLE)
    assert (reducer.messages(), reducer.state) == (folded(WHOLE).messages(), {"n": 1})


@pytest.mark.parametrize("length", range(1, len(FIRST) + 1))
def test_an_unsaved_response_is_ended_and_retracted_before_a_new_one(length: int) -> None:
    said = FIRST[:length]
    anew: list[Event] = [TextStarted("m9"), TextDelta("m9", "Hello."), TextEnded("m9"), ModelResponseEnded("stop")]

    written, reducer = go_on(said, anew)

    check_pairs([*said, *written])
    *endings, replaced = written[: -len(anew)]
    assert all(
        isinstance(event, TextEnded | ReasoningEnded | ToolCallEnded) and not event.complete for event in endings
    )
    assert replaced == MessagesReplaced((ASKED,), ())
    assert written[-len(anew) :] == anew
    assert [message.text for message in reducer.messages()] == ["Hello."]


def test_what_was_finished_before_the_answer_that_broke_off_stays() -> None:
    said = [*FIRST, *TOOL, *SECOND[:2]]
    anew: list[Event] = [TextStarted("m9"), TextDelta("m9", "Fine."), TextEnded("m9"), ModelResponseEnded("stop")]

    written, reducer = go_on(said, [*compact(FIRST), *TOOL, *anew])

    kept = folded([*FIRST, *TOOL]).messages()
    assert written == [TextEnded("m2", complete=False), MessagesReplaced((ASKED,), kept), *anew]
    assert reducer.messages() == folded([*FIRST, *TOOL, *anew]).messages()


def test_a_run_that_died_twice_does_not_take_back_what_is_gone_already() -> None:
    second: list[Event] = [TextStarted("m8"), TextDelta("m8", "Hel"), TextDelta("m8", "lo."), TextEnded("m8")]
    ended: list[Event] = [TextEnded("m1", complete=False), MessagesReplaced((ASKED,), ())]
    said: list[Event] = [*FIRST[:6], *ended, *second]

    written, reducer = go_on(said, [*compact(second), ModelResponseEnded("stop")])

    assert written == [ModelResponseEnded("stop")]
    assert [message.text for message in reducer.messages()] == ["Hello."]


def test_a_state_that_belongs_to_what_is_taken_back_goes_with_it() -> None:
    said: list[Event] = [StateReplaced({"n": 1}), TextStarted("m"), StateReplaced({"n": 2})]

    written, reducer = go_on(said, [StateReplaced({"n": 1}), TextStarted("m9")])

    assert written == [
        TextEnded("m", complete=False),
        MessagesReplaced((ASKED,), ()),
        StateReplaced({"n": 1}),
        TextStarted("m9"),
    ]
    assert reducer.state == {"n": 1}


def test_a_recreated_log_counts_as_the_messages_that_it_begins_with() -> None:
    replaced = MessagesReplaced((ASKED,), folded([*FIRST, *TOOL]).messages())

    written, reducer = go_on([replaced, *SECOND[:2]], [*compact(FIRST), *TOOL[1:], *compact(SECOND)])

    assert [event for event in written if not isinstance(event, ModelResponseEnded)] == [
        TextDelta("m2", "ne."),
        TextEnded("m2"),
    ]
    assert reducer.messages() == folded(WHOLE).messages()


def test_an_event_without_an_id_is_logged_once_in_its_place() -> None:
    note = Custom("acme.note", 1)
    said: list[Event] = [note, TextStarted("m"), TextDelta("m", "Hi"), TextEnded("m"), note]

    written, _ = go_on(said, [*said, note, ModelResponseEnded("stop")])

    assert written == [note, ModelResponseEnded("stop")]


def test_a_replay_of_a_finished_log_has_its_last_event() -> None:
    resumption = Replay([STARTED, RunFinished("done")], Reducer(), ())

    assert resumption.last == RunFinished("done")
    assert Replay([], Reducer(), ()).is_first


def test_the_text_of_an_answer_that_two_processes_continued_stays_when_the_calls_of_one_go() -> None:
    kept: list[Event] = [
        *FIRST[4:9],
        ToolCallStarted("c9", "charge", "m1"),
        ToolCallDelta("c9", "{}"),
        ToolCallEnded("c9"),
    ]

    written, reducer = go_on(FIRST[4:], kept)

    assert isinstance(written[0], MessagesReplaced)
    assert reducer.messages() == folded(kept).messages()
