"""An answer that broke off, and what its model makes of it."""

from collections.abc import AsyncIterator, Sequence

import pytest

from rightseat.core.ask import Ask
from rightseat.core.closing import closing
from rightseat.core.continuing import Known, ResumedSteps, answer
from rightseat.core.engine import PartialAnswer, Steps
from rightseat.core.errors import ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallStarted,
    Custom,
    Event,
    MessagesReplaced,
    RunStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.folding import Fold
from rightseat.core.guard import Guard, Passive, Watch
from rightseat.core.guarding import guarded
from rightseat.core.handing import Under
from rightseat.core.loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import (
    Begun,
    CannotContinue,
    Chunk,
    NoteChunk,
    Prompt,
    StopChunk,
    TextChunk,
    ThoughtChunk,
    UsageChunk,
)
from rightseat.core.resuming import Resumption
from rightseat.engines.local import _once
from rightseat.testing import ScriptedModel, check_pairs, says

STARTED = RunStarted("r", "t", "default")
ASK = Ask(messages=(user("Hi"),), run_id="r", thread_id="t", durable=True)
TEXT: list[Event] = [TextStarted("m"), TextDelta("m", "one "), TextDelta("m", "two ")]
THOUGHT: list[Event] = [ThoughtStarted("h"), ThoughtDelta("h", "Let "), ThoughtDelta("h", "me")]
WARNED = Custom("model.warning", "A tool was left out.")


class Going:
    """A model that goes on with these chunks, and answers with others."""

    def __init__(self, *rest: Chunk | Exception) -> None:
        self.rest = rest
        self.begun: list[Begun] = []
        self.asked = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.asked += 1
        yield TextChunk("anew")

    async def go_on(self, prompt: Prompt, begun: Begun) -> AsyncIterator[Chunk]:
        self.begun.append(begun)
        for chunk in self.rest:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


async def taken_over(said: Sequence[Event], model: Going | ScriptedModel, *guards: Guard) -> tuple[list[Event], Fold]:
    """What is written behind what the log has of the run, and what the thread looks like then."""
    fold = Fold()
    resumption = Resumption([STARTED, *said], fold, ASK.messages)
    written: list[Event] = []
    agent = guarded(guards)(Loop(model))
    async with closing(agent.run(ASK, ResumedSteps(_once, resumption))) as events:
        async for event in events:
            for unsaid in resumption.feed(event):
                fold.add(unsaid)
                written.append(unsaid)
    check_pairs([*said, *written])
    return written, fold


async def test_the_rest_of_a_text_comes_in_the_same_message() -> None:
    model = Going(TextChunk("three "), TextChunk("four"), UsageChunk(7, 9))

    written, fold = await taken_over(TEXT, model)

    assert [type(event) for event in written] == [TextDelta, TextDelta, TextEnded, AnswerEnded]
    assert {event.message_id for event in written if isinstance(event, TextDelta | TextEnded)} == {"m"}
    assert [message.text for message in fold.messages()] == ["one two three four"]
    assert model.begun == [Begun(text="one two ")]
    assert model.asked == 0


async def test_a_thought_that_was_cut_is_thought_to_its_end() -> None:
    model = Going(ThoughtChunk(" see."), TextChunk("Yes."))

    written, fold = await taken_over(THOUGHT, model)

    assert written[:2] == [ThoughtDelta("h", " see."), ThoughtEnded("h")]
    assert model.begun == [Begun("Let me", is_thinking=True)]
    assert [message.text for message in fold.messages()] == ["Yes."]


async def test_a_text_goes_on_with_the_thought_before_it_in_mind() -> None:
    model = Going(TextChunk("three"))

    written, _ = await taken_over([*THOUGHT, ThoughtEnded("h"), *TEXT], model)

    assert written[0] == TextDelta("m", "three")
    assert model.begun == [Begun("Let me", "one two ")]


async def test_a_thought_that_had_ended_is_followed_by_its_text() -> None:
    model = Going(TextChunk("Yes."))

    written, _ = await taken_over([*THOUGHT, ThoughtEnded("h")], model)

    assert [type(event) for event in written] == [TextStarted, TextDelta, TextEnded, AnswerEnded]
    assert model.begun == [Begun("Let me")]


async def test_what_was_noted_beside_the_half_is_noted_once() -> None:
    probable: list[Event] = [Custom("model.logprobs", [{"token": "one "}])]

    written, _ = await taken_over(
        [WARNED, *TEXT, *probable], Going(NoteChunk("logprobs", [{"token": "one "}]), TextChunk("one "))
    )

    assert [event for event in written if isinstance(event, Custom)] == probable
    assert TextDelta("m", "one ") in written


async def test_an_answer_goes_on_for_a_second_time() -> None:
    first, _ = await taken_over(TEXT, Going(TextChunk("three ")))

    written, fold = await taken_over([*TEXT, first[0]], Going(TextChunk("four")))

    assert written[0] == TextDelta("m", "four")
    assert [message.text for message in fold.messages()] == ["one two three four"]


@pytest.mark.parametrize(
    "model",
    [
        Going(CannotContinue("no")),
        Going(ModelRefused("This model takes no prefill.", 400)),
        Going(),
        ScriptedModel([says("anew")]),
    ],
    ids=["cannot", "refused", "silent", "plain"],
)
async def test_a_model_that_cannot_go_on_gives_its_answer_anew(model: Going | ScriptedModel) -> None:
    written, fold = await taken_over(TEXT, model)

    assert written[0] == TextEnded("m", whole=False)
    assert isinstance(written[1], MessagesReplaced)
    assert [message.text for message in fold.messages()] == ["anew"]


async def test_a_model_that_cannot_be_reached_fails_as_ever() -> None:
    with pytest.raises(ModelUnreachable):
        await taken_over(TEXT, Going(ModelUnreachable("down")))


@pytest.mark.parametrize(
    "said",
    [
        [*TEXT, TextEnded("m"), CallStarted("c", "charge", "m"), CallDelta("c", '{"am')],
        [CallStarted("c", "charge"), CallDelta("c", '{"am')],
        [*TEXT, TextEnded("m")],
        [*TEXT, TextEnded("m"), AnswerEnded("stop")],
        [*THOUGHT, *TEXT],
        [*TEXT, Custom("model.kept", {"anthropic": {}})],
    ],
    ids=["call", "call-alone", "ended", "answered", "two-open", "kept"],
)
async def test_half_a_call_and_what_had_ended_are_taken_back(said: list[Event]) -> None:
    model = Going(TextChunk("never"))

    _, fold = await taken_over(said, model)

    assert model.begun == []
    assert [message.text for message in fold.messages()] == ["anew"]


class Slow(Passive):
    """Shows a text four characters late."""

    name = "slow"

    def __init__(self) -> None:
        self.held = ""

    def watch(self, ask: Ask) -> Watch:
        return Slow()

    async def add(self, text: str) -> str:
        self.held += text
        shown, self.held = self.held[:-4], self.held[-4:]
        return shown

    async def end(self) -> str:
        return self.held


@pytest.mark.parametrize("length", range(1, 9))
async def test_guards_read_the_whole_and_show_the_rest(length: int) -> None:
    said = "one two "[:length]
    model = Going(TextChunk("one two three"[length:]))

    written, fold = await taken_over([TextStarted("m"), TextDelta("m", said)], model, Slow())

    assert [message.text for message in fold.messages()] == ["one two three"]
    assert not any(isinstance(event, MessagesReplaced | TextStarted) for event in written)


def test_nothing_is_continued_behind_a_log_that_was_lost() -> None:
    """Thoughts from before are not in it."""
    fold = Fold()
    for event in TEXT:
        fold.add(event)
    anew = MessagesReplaced(ASK.messages, fold.messages())

    assert Resumption([STARTED, *TEXT], Fold(), ()).partial_answer() is not None
    assert Resumption([STARTED, anew, TextDelta("m", "three")], Fold(), ()).partial_answer() is None


async def test_a_run_that_has_said_nothing_begins_as_ever() -> None:
    model = Going(TextChunk("never"))

    written, _ = await taken_over([], model)

    assert (model.begun, model.asked) == ([], 1)
    assert [type(event) for event in written] == [TextStarted, TextDelta, TextEnded, AnswerEnded]


async def test_the_steps_of_a_run_within_a_run_know_it_too() -> None:
    resumption = Resumption([STARTED, *TEXT], Fold(), ())
    model = Going(TextChunk("three"), StopChunk("stop"))

    steps: Steps = Under("c", ResumedSteps(_once, resumption))
    events = [event async for event in answer(model, Prompt(ASK.messages), steps)]

    assert events == [
        TextStarted("m"),
        TextDelta("m", "one two "),
        TextDelta("m", "three"),
        TextEnded("m"),
        AnswerEnded("stop"),
    ]


def test_what_was_said_is_taken_out_however_it_comes() -> None:
    known = Known(Begun("Hm. ", "one two "))

    new = [
        known.take(chunk) for chunk in (ThoughtChunk("Hm"), ThoughtChunk(". "), TextChunk("one "), TextChunk("two 3"))
    ]

    assert new == [None, None, None, TextChunk("3")]
    assert known.take(TextChunk("one")) == TextChunk("one")


@pytest.mark.parametrize("chunk", [TextChunk("two"), ThoughtChunk("one"), StopChunk("stop")])
def test_something_else_than_what_was_said_cannot_go_on(chunk: Chunk) -> None:
    with pytest.raises(CannotContinue):
        Known(Begun(text="one ")).take(chunk)


def test_a_half_knows_its_open_thought() -> None:
    assert PartialAnswer((*THOUGHT,)).thought_id == "h"
    assert PartialAnswer((*THOUGHT, ThoughtEnded("h"))).thought_id is None


class Loading(Going):
    """A model that has to be loaded first."""

    def __init__(self) -> None:
        super().__init__(TextChunk("three"))
        self.is_ready = False

    async def ready(self) -> None:
        self.is_ready = True

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        if not self.is_ready:
            raise ModelLoading("It is being loaded.")
        yield TextChunk("anew")


@pytest.mark.parametrize(("said", "text"), [(TEXT, "one two three"), ([], "anew")], ids=["half", "nothing"])
async def test_a_run_that_goes_on_waits_for_its_model(said: list[Event], text: str) -> None:
    _, fold = await taken_over(said, Loading())

    assert [message.text for message in fold.messages()] == [text]


async def test_a_new_run_does_not() -> None:
    with pytest.raises(ModelLoading):
        _ = [event async for event in Loop(Loading()).run(ASK, _once)]
