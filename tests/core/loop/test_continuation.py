"""An answer that broke off, and what its model makes of it."""

from collections.abc import AsyncIterator, Sequence

import pytest

from rightseat.concurrency import aclosing
from rightseat.core.ask import Ask
from rightseat.core.engine import PartialResponse, Steps
from rightseat.core.errors import ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.events import (
    Custom,
    Event,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallStarted,
)
from rightseat.core.guard import BaseGuard, Guard, TextFilter
from rightseat.core.guards.pipeline import make_guard_wrapper
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.continuation import OverlapFilter, ResumedSteps, stream_response
from rightseat.core.loop.subagents import NestedSteps
from rightseat.core.messages import user
from rightseat.core.model import (
    CannotContinue,
    Chunk,
    NoteChunk,
    PartialOutput,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from rightseat.core.run.replay import Replay
from rightseat.core.stream.reducer import Reducer
from rightseat.engines.local import _direct_steps
from rightseat.testing import ScriptedModel, check_pairs, says

STARTED = RunStarted("r", "t", "default")
ASK = Ask(messages=(user("Hi"),), run_id="r", thread_id="t", durable=True)
TEXT: list[Event] = [TextStarted("m"), TextDelta("m", "one "), TextDelta("m", "two ")]
THOUGHT: list[Event] = [ReasoningStarted("h"), ReasoningDelta("h", "Let "), ReasoningDelta("h", "me")]
WARNED = Custom("model.warning", "A tool was left out.")


class Going:
    """A model that goes on with these chunks, and answers with others."""

    def __init__(self, *rest: Chunk | Exception) -> None:
        self.rest = rest
        self.begun: list[PartialOutput] = []
        self.asked = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.asked += 1
        yield TextChunk("anew")

    async def continue_stream(self, prompt: Prompt, begun: PartialOutput) -> AsyncIterator[Chunk]:
        self.begun.append(begun)
        for chunk in self.rest:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


async def taken_over(
    said: Sequence[Event], model: Going | ScriptedModel, *guards: Guard
) -> tuple[list[Event], Reducer]:
    """What is written behind what the log has of the run, and what the thread looks like then."""
    reducer = Reducer()
    resumption = Replay([STARTED, *said], reducer, ASK.messages)
    written: list[Event] = []
    agent = make_guard_wrapper(guards)(Loop(model))
    async with aclosing(agent.run(ASK, ResumedSteps(_direct_steps, resumption))) as events:
        async for event in events:
            for unsaid in resumption.feed(event):
                reducer.add(unsaid)
                written.append(unsaid)
    check_pairs([*said, *written])
    return written, reducer


async def test_the_rest_of_a_text_comes_in_the_same_message() -> None:
    model = Going(TextChunk("three "), TextChunk("four"), UsageChunk(7, 9))

    written, reducer = await taken_over(TEXT, model)

    assert [type(event) for event in written] == [TextDelta, TextDelta, TextEnded, ModelResponseEnded]
    assert {event.message_id for event in written if isinstance(event, TextDelta | TextEnded)} == {"m"}
    assert [message.text for message in reducer.messages()] == ["one two three four"]
    assert model.begun == [PartialOutput(text="one two ")]
    assert model.asked == 0


async def test_interrupted_reasoning_is_continued_to_its_end() -> None:
    model = Going(ReasoningChunk(" see."), TextChunk("Yes."))

    written, reducer = await taken_over(THOUGHT, model)

    assert written[:2] == [ReasoningDelta("h", " see."), ReasoningEnded("h")]
    assert model.begun == [PartialOutput("Let me", is_reasoning=True)]
    assert [message.text for message in reducer.messages()] == ["Yes."]


async def test_an_interrupted_text_is_continued_with_the_reasoning_before_it() -> None:
    model = Going(TextChunk("three"))

    written, _ = await taken_over([*THOUGHT, ReasoningEnded("h"), *TEXT], model)

    assert written[0] == TextDelta("m", "three")
    assert model.begun == [PartialOutput("Let me", "one two ")]


async def test_reasoning_that_had_ended_is_followed_by_its_text() -> None:
    model = Going(TextChunk("Yes."))

    written, _ = await taken_over([*THOUGHT, ReasoningEnded("h")], model)

    assert [type(event) for event in written] == [TextStarted, TextDelta, TextEnded, ModelResponseEnded]
    assert model.begun == [PartialOutput("Let me")]


async def test_what_was_noted_beside_the_half_is_noted_once() -> None:
    probable: list[Event] = [Custom("model.logprobs", [{"token": "one "}])]

    written, _ = await taken_over(
        [WARNED, *TEXT, *probable], Going(NoteChunk("logprobs", [{"token": "one "}]), TextChunk("one "))
    )

    assert [event for event in written if isinstance(event, Custom)] == probable
    assert TextDelta("m", "one ") in written


async def test_a_response_continues_a_second_time() -> None:
    first, _ = await taken_over(TEXT, Going(TextChunk("three ")))

    written, reducer = await taken_over([*TEXT, first[0]], Going(TextChunk("four")))

    assert written[0] == TextDelta("m", "four")
    assert [message.text for message in reducer.messages()] == ["one two three four"]


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
async def test_a_model_that_cannot_continue_repeats_its_response(model: Going | ScriptedModel) -> None:
    written, reducer = await taken_over(TEXT, model)

    assert written[0] == TextEnded("m", complete=False)
    assert isinstance(written[1], MessagesReplaced)
    assert [message.text for message in reducer.messages()] == ["anew"]


async def test_a_model_that_cannot_be_reached_fails_as_ever() -> None:
    with pytest.raises(ModelUnreachable):
        await taken_over(TEXT, Going(ModelUnreachable("down")))


@pytest.mark.parametrize(
    "said",
    [
        [*TEXT, TextEnded("m"), ToolCallStarted("c", "charge", "m"), ToolCallDelta("c", '{"am')],
        [ToolCallStarted("c", "charge"), ToolCallDelta("c", '{"am')],
        [*TEXT, TextEnded("m")],
        [*TEXT, TextEnded("m"), ModelResponseEnded("stop")],
        [*THOUGHT, *TEXT],
        [*TEXT, Custom("model.kept", {"anthropic": {}})],
    ],
    ids=["call", "call-alone", "ended", "answered", "two-open", "kept"],
)
async def test_half_a_call_and_what_had_ended_are_taken_back(said: list[Event]) -> None:
    model = Going(TextChunk("never"))

    _, reducer = await taken_over(said, model)

    assert model.begun == []
    assert [message.text for message in reducer.messages()] == ["anew"]


class Slow(BaseGuard):
    """Shows a text four characters late."""

    name = "slow"

    def __init__(self) -> None:
        self.held = ""

    def make_text_filter(self, ask: Ask) -> TextFilter:
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

    written, reducer = await taken_over([TextStarted("m"), TextDelta("m", said)], model, Slow())

    assert [message.text for message in reducer.messages()] == ["one two three"]
    assert not any(isinstance(event, MessagesReplaced | TextStarted) for event in written)


def test_nothing_is_continued_behind_a_log_that_was_lost() -> None:
    """Thoughts from before are not in it."""
    reducer = Reducer()
    for event in TEXT:
        reducer.add(event)
    anew = MessagesReplaced(ASK.messages, reducer.messages())

    assert Replay([STARTED, *TEXT], Reducer(), ()).partial_response() is not None
    assert Replay([STARTED, anew, TextDelta("m", "three")], Reducer(), ()).partial_response() is None


async def test_a_run_without_logged_events_starts_from_the_beginning() -> None:
    model = Going(TextChunk("never"))

    written, _ = await taken_over([], model)

    assert (model.begun, model.asked) == ([], 1)
    assert [type(event) for event in written] == [TextStarted, TextDelta, TextEnded, ModelResponseEnded]


async def test_the_steps_of_a_run_within_a_run_know_it_too() -> None:
    resumption = Replay([STARTED, *TEXT], Reducer(), ())
    model = Going(TextChunk("three"), StopChunk("stop"))

    steps: Steps = NestedSteps("c", ResumedSteps(_direct_steps, resumption))
    events = [event async for event in stream_response(model, Prompt(ASK.messages), steps)]

    assert events == [
        TextStarted("m"),
        TextDelta("m", "one two "),
        TextDelta("m", "three"),
        TextEnded("m"),
        ModelResponseEnded("stop"),
    ]


def test_the_partial_output_is_removed_however_the_chunks_are_split() -> None:
    known = OverlapFilter(PartialOutput("Hm. ", "one two "))

    new = [
        known.filter(chunk)
        for chunk in (ReasoningChunk("Hm"), ReasoningChunk(". "), TextChunk("one "), TextChunk("two 3"))
    ]

    assert new == [None, None, None, TextChunk("3")]
    assert known.filter(TextChunk("one")) == TextChunk("one")


@pytest.mark.parametrize("chunk", [TextChunk("two"), ReasoningChunk("one"), StopChunk("stop")])
def test_output_that_differs_from_the_partial_response_cannot_continue(chunk: Chunk) -> None:
    with pytest.raises(CannotContinue):
        OverlapFilter(PartialOutput(text="one ")).filter(chunk)


def test_a_partial_response_has_the_id_of_its_open_reasoning() -> None:
    assert PartialResponse((*THOUGHT,)).reasoning_id == "h"
    assert PartialResponse((*THOUGHT, ReasoningEnded("h"))).reasoning_id is None


class Loading(Going):
    """A model that has to be loaded first."""

    def __init__(self) -> None:
        super().__init__(TextChunk("three"))
        self.is_ready = False

    async def wait_until_ready(self) -> None:
        self.is_ready = True

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        if not self.is_ready:
            raise ModelLoading("It is being loaded.")
        yield TextChunk("anew")


@pytest.mark.parametrize(("said", "text"), [(TEXT, "one two three"), ([], "anew")], ids=["half", "nothing"])
async def test_a_resumed_run_waits_for_its_model(said: list[Event], text: str) -> None:
    _, reducer = await taken_over(said, Loading())

    assert [message.text for message in reducer.messages()] == [text]


async def test_a_new_run_does_not() -> None:
    with pytest.raises(ModelLoading):
        _ = [event async for event in Loop(Loading()).run(ASK, _direct_steps)]
