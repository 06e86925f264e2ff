import pytest

from rightseat.core.compacting import compacted
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    MessagesReplaced,
    RunFinished,
    RunStarted,
    StateChanged,
    StateReplaced,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.folding import Fold
from rightseat.core.messages import user
from rightseat.core.resuming import Resumption
from rightseat.testing import check_pairs

STARTED = RunStarted("r", "t", "default")
ASKED = user("Charge it.")
FIRST: list[Event] = [
    ThoughtStarted("h1"),
    ThoughtDelta("h1", "Let me "),
    ThoughtDelta("h1", "see."),
    ThoughtEnded("h1"),
    TextStarted("m1"),
    TextDelta("m1", "I "),
    TextDelta("m1", "charge "),
    TextDelta("m1", "it."),
    TextEnded("m1"),
    CallStarted("c1", "charge", "m1"),
    CallDelta("c1", '{"am'),
    CallDelta("c1", 'ount":1}'),
    CallEnded("c1"),
    AnswerEnded("calls"),
]
TOOL: list[Event] = [StateChanged([{"op": "add", "path": "/n", "value": 1}]), CallReturned("c1", "charge", "done")]
SECOND: list[Event] = [
    TextStarted("m2"),
    TextDelta("m2", "Do"),
    TextDelta("m2", "ne."),
    TextEnded("m2"),
    AnswerEnded("stop"),
]
WHOLE = [*FIRST, *TOOL, *SECOND]


def go_on(said: list[Event], again: list[Event]) -> tuple[list[Event], Fold]:
    """What is written behind what the log has, and what comes of all of it."""
    fold = Fold({})
    resumption = Resumption([STARTED, *said], fold, (ASKED,))
    written: list[Event] = []
    for event in again:
        for unsaid in resumption.feed(event):
            fold.add(unsaid)
            written.append(unsaid)
    return written, fold


def folded(events: list[Event]) -> Fold:
    fold = Fold({})
    for event in events:
        fold.add(event)
    return fold


@pytest.mark.parametrize("length", range(len(WHOLE) + 1))
def test_wherever_a_run_broke_off_what_was_finished_is_said_to_its_end_and_once(length: int) -> None:
    said = WHOLE[:length]

    written, fold = go_on(said, [*compacted(FIRST), *TOOL, *compacted(SECOND)])

    check_pairs([*said, *written])
    assert not any(isinstance(event, MessagesReplaced) for event in written)
    assert compacted([*said, *written]) == compacted(WHOLE)
    assert (fold.messages(), fold.state) == (folded(WHOLE).messages(), {"n": 1})


@pytest.mark.parametrize("length", range(1, len(FIRST) + 1))
def test_an_answer_that_was_not_kept_is_ended_and_taken_back_before_another_is_given(length: int) -> None:
    said = FIRST[:length]
    anew: list[Event] = [TextStarted("m9"), TextDelta("m9", "Hello."), TextEnded("m9"), AnswerEnded("stop")]

    written, fold = go_on(said, anew)

    check_pairs([*said, *written])
    *endings, replaced = written[: -len(anew)]
    assert all(isinstance(event, TextEnded | ThoughtEnded | CallEnded) and not event.whole for event in endings)
    assert replaced == MessagesReplaced((ASKED,), ())
    assert written[-len(anew) :] == anew
    assert [message.text for message in fold.messages()] == ["Hello."]


def test_what_was_finished_before_the_answer_that_broke_off_stays() -> None:
    said = [*FIRST, *TOOL, *SECOND[:2]]
    anew: list[Event] = [TextStarted("m9"), TextDelta("m9", "Fine."), TextEnded("m9"), AnswerEnded("stop")]

    written, fold = go_on(said, [*compacted(FIRST), *TOOL, *anew])

    kept = folded([*FIRST, *TOOL]).messages()
    assert written == [TextEnded("m2", whole=False), MessagesReplaced((ASKED,), kept), *anew]
    assert fold.messages() == folded([*FIRST, *TOOL, *anew]).messages()


def test_a_run_that_died_twice_does_not_take_back_what_is_gone_already() -> None:
    second: list[Event] = [TextStarted("m8"), TextDelta("m8", "Hel"), TextDelta("m8", "lo."), TextEnded("m8")]
    ended: list[Event] = [TextEnded("m1", whole=False), MessagesReplaced((ASKED,), ())]
    said: list[Event] = [*FIRST[:6], *ended, *second]

    written, fold = go_on(said, [*compacted(second), AnswerEnded("stop")])

    assert written == [AnswerEnded("stop")]
    assert [message.text for message in fold.messages()] == ["Hello."]


def test_a_state_that_belongs_to_what_is_taken_back_goes_with_it() -> None:
    said: list[Event] = [StateReplaced({"n": 1}), TextStarted("m"), StateReplaced({"n": 2})]

    written, fold = go_on(said, [StateReplaced({"n": 1}), TextStarted("m9")])

    assert written == [
        TextEnded("m", whole=False),
        MessagesReplaced((ASKED,), ()),
        StateReplaced({"n": 1}),
        TextStarted("m9"),
    ]
    assert fold.state == {"n": 1}


def test_a_log_that_was_lost_and_begun_anew_counts_as_what_it_says() -> None:
    replaced = MessagesReplaced((ASKED,), folded([*FIRST, *TOOL]).messages())

    written, fold = go_on([replaced, *SECOND[:2]], [*compacted(FIRST), *TOOL[1:], *compacted(SECOND)])

    assert [event for event in written if not isinstance(event, AnswerEnded)] == [
        TextDelta("m2", "ne."),
        TextEnded("m2"),
    ]
    assert fold.messages() == folded(WHOLE).messages()


def test_an_event_without_an_id_is_said_once_in_its_place() -> None:
    note = Custom("acme.note", 1)
    said: list[Event] = [note, TextStarted("m"), TextDelta("m", "Hi"), TextEnded("m"), note]

    written, _ = go_on(said, [*said, note, AnswerEnded("stop")])

    assert written == [note, AnswerEnded("stop")]


def test_a_log_that_has_its_end_says_so() -> None:
    resumption = Resumption([STARTED, RunFinished("done")], Fold(), ())

    assert resumption.last == RunFinished("done")
    assert Resumption([], Fold(), ()).is_first


def test_the_text_of_an_answer_that_two_processes_continued_stays_when_the_calls_of_one_go() -> None:
    kept: list[Event] = [*FIRST[4:9], CallStarted("c9", "charge", "m1"), CallDelta("c9", "{}"), CallEnded("c9")]

    written, fold = go_on(FIRST[4:], kept)

    assert isinstance(written[0], MessagesReplaced)
    assert fold.messages() == folded(kept).messages()
