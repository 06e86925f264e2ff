"""Answers that broke off, and go on behind what was said of them."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from rightseat.core.ask import Parameters
from rightseat.core.errors import ContextTooLong
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
from rightseat.core.tools import Tool
from rightseat.models.completion.backend import CompletionRequest, Description, End, TextPiece
from rightseat.models.completion.grammar.output import lark
from rightseat.models.completion.model import Completion
from tests.models.completion.families import FAMILIES, PARIS, TOOLS, Family, generic, hermes
from tests.models.completion.grammar.oracle import Judge
from tests.models.completion.playing import CHATML, Player, calls_of, joined

THINKING = CHATML.replace("assistant\n", "assistant\n<think>\n")
HERMES = Description(template=CHATML + "{{ tools }}<tool_call></tool_call>")


class Counter(Player):
    """A backend to which every word is a token."""

    async def count(self, text: str) -> int | None:
        return len(text.split())


def prompt_of(tools: Sequence[Tool] = (), **asked: Any) -> Prompt:
    return Prompt((user("Hi"),), tools, Parameters(**asked))


async def go_on(
    player: Player, begun: PartialOutput, tools: Sequence[Tool] = (), style: str = "auto", **asked: Any
) -> list[Chunk]:
    async with Completion(player, style=style) as model:
        return [chunk async for chunk in model.continue_stream(prompt_of(tools, **asked), begun)]


async def test_a_text_continues_after_the_same_prompt() -> None:
    player = Counter("one two", " three")
    async with Completion(player) as model:
        begun = joined([chunk async for chunk in model.stream(prompt_of())])

        chunks = [chunk async for chunk in model.continue_stream(prompt_of(), PartialOutput(text=begun))]

    first, second = (request.prompt for request in player.requests)
    assert second == first + "one two"
    assert joined(chunks) == " three"


async def test_the_partial_output_counts_as_output_and_not_as_input() -> None:
    player = Counter(" four", end=End("stop", input_tokens=10, output_tokens=2, cached_tokens=9))

    chunks = await go_on(player, PartialOutput(text="one two three"), max_tokens=20)

    assert chunks[-2:] == [StopChunk("stop"), UsageChunk(7, 5, 7)]
    assert player.requests[0].max_tokens == 17


async def test_a_trailing_space_is_left_to_the_backend_and_not_sent_twice() -> None:
    player = Counter(" three", size=100)

    chunks = await go_on(player, PartialOutput(text="one two "))

    assert player.requests[0].prompt.endswith("one two")
    assert joined(chunks) == "three"


async def test_a_backend_that_drops_the_leading_space_cannot_continue() -> None:
    with pytest.raises(CannotContinue, match="differs from its partial"):
        await go_on(Counter("-thirds"), PartialOutput(text="one two "))


async def test_an_answer_that_was_whole_ends() -> None:
    chunks = await go_on(Counter(""), PartialOutput(text="one two."))

    assert [type(chunk) for chunk in chunks] == [StopChunk, UsageChunk]


async def test_a_backend_that_cannot_count_tokens_cannot_continue() -> None:
    with pytest.raises(CannotContinue, match="does not count tokens"):
        await go_on(Player(" three"), PartialOutput(text="one two"))


async def test_a_response_of_maximum_length_cannot_continue() -> None:
    with pytest.raises(CannotContinue, match="reached its maximum length"):
        await go_on(Counter(" three"), PartialOutput(text="one two"), max_tokens=2)


async def test_a_response_that_ended_inside_a_stop_word_cannot_continue() -> None:
    with pytest.raises(CannotContinue, match="stop word"):
        await go_on(Counter("ND"), PartialOutput(text="one E"), stop=["END"])


class Likely(Counter):
    async def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        async for piece in super().generate(request):
            yield piece if isinstance(piece, End) else TextPiece(piece.text, ({"token": piece.text},))


async def test_logprobs_stand_before_their_text() -> None:
    chunks = await go_on(Likely(" three", size=3), PartialOutput(text="one two "), logprobs=1)

    assert chunks[:4] == [
        NoteChunk("logprobs", [{"token": " th"}]),
        TextChunk("th"),
        NoteChunk("logprobs", [{"token": "ree"}]),
        TextChunk("ree"),
    ]


async def test_a_response_that_cannot_continue_emits_no_chunk() -> None:
    async with Completion(Likely("-thirds")) as model:
        chunks = model.continue_stream(prompt_of(logprobs=1), PartialOutput(text="one two "))

        with pytest.raises(CannotContinue):
            await anext(chunks)


class Full(Counter):
    async def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        if not self.answers:
            raise ContextTooLong("too long", 400)
        yield self.end


async def test_a_prompt_beyond_the_context_stays_that_error() -> None:
    with pytest.raises(ContextTooLong):
        await go_on(Full(), PartialOutput(text="one"))


async def test_reasoning_is_continued_and_then_its_text() -> None:
    player = Counter(" see.\n</think>\n\nYes.")

    chunks = await go_on(player, PartialOutput("Let me", is_reasoning=True))

    assert player.requests[0].prompt.endswith("<think>\nLet me")
    assert (joined(chunks, ReasoningChunk), joined(chunks)) == (" see.\n", "Yes.")


@pytest.mark.parametrize("template", [CHATML, THINKING, THINKING.replace("<think>\n", "<think>")])
async def test_reasoning_is_put_before_the_text_whether_the_template_opens_it_or_not(template: str) -> None:
    player = Counter(", no.", description=Description(template=template))

    chunks = await go_on(player, PartialOutput("Let me see.\n", "Yes"))

    assert player.requests[0].prompt.endswith("<|im_start|>assistant\n<think>\nLet me see.\n</think>\n\nYes")
    assert joined(chunks) == ", no."


async def test_reasoning_that_a_template_opens_may_have_been_empty() -> None:
    player = Counter(", no.", description=Description(template=THINKING))

    await go_on(player, PartialOutput(text="Yes"))

    assert player.requests[0].prompt.endswith("<|im_start|>assistant\n<think>\n</think>\n\nYes")


async def test_calls_follow_the_rest_of_a_text() -> None:
    player = Counter(" see.\n" + hermes("", [PARIS]), description=HERMES)

    chunks = await go_on(player, PartialOutput(text="Let me"), TOOLS)

    assert joined(chunks) == " see."
    assert [name for name, _ in calls_of(chunks)] == ["get_weather"]
    constraint = player.requests[0].constraint
    assert constraint is not None
    assert [trigger.value for trigger in constraint.triggers] == ["<tool_call>"]


async def test_a_call_that_only_begins_an_answer_is_not_looked_for_behind_a_text() -> None:
    llama = Description(template=CHATML + "{{ tools }}<|start_header_id|><|python_tag|>")
    player = Counter(" see.", description=llama)

    await go_on(player, PartialOutput(text="Let me"), TOOLS)

    constraint = player.requests[0].constraint
    assert constraint is not None
    assert {trigger.kind for trigger in constraint.triggers} == {"word"}


async def test_a_model_that_is_held_from_its_first_token_on_is_held_to_the_rest() -> None:
    player = Counter(" see.", has_triggers=False)

    await go_on(player, PartialOutput(text="Let me"), TOOLS)

    constraint = player.requests[0].constraint
    assert constraint is not None
    judge = Judge(lark.write(constraint.grammar))
    assert judge.accepts(" see.")
    assert judge.accepts(" see." + hermes("", [PARIS]))
    assert not judge.accepts(" see.<tool_call>nonsense")


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def test_an_answer_that_has_a_schema_is_held_to_the_rest_of_it_and_checked_as_a_whole() -> None:
    player = Counter('is"}', has_triggers=False)

    chunks = await go_on(player, PartialOutput(text='{"city": "Par'), response_schema=SCHEMA)

    constraint = player.requests[0].constraint
    assert constraint is not None
    assert Judge(lark.write(constraint.grammar)).accepts('is"}')
    assert joined(chunks) == 'is"}'


async def test_a_text_that_violates_its_grammar_cannot_continue() -> None:
    with pytest.raises(CannotContinue, match="grammar"):
        await go_on(Counter("is"), PartialOutput(text="Paris"), response_schema=SCHEMA)


async def test_the_json_of_an_untrained_model_continues_inside_its_result() -> None:
    said = generic('Say "yes".', [])
    cut = said.index('\\".')
    player = Counter(said[cut:])

    chunks = await go_on(player, PartialOutput("Hm", 'Say "yes'), TOOLS, style="generic")

    prompt = player.requests[0].prompt
    assert prompt.endswith('"next_step": {"result": "Say \\"yes')
    assert joined(chunks) == '".'


THOUGHTLESS = ("functionary-v2", "functionary-v3.2", "llama-3.1", "llama-3.1-functions")


@pytest.mark.parametrize("tools", [(), TOOLS], ids=["plain", "tools"])
@pytest.mark.parametrize("thought", ["", "Let me see."])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
async def test_in_every_style_written_output_is_parsed_back_unchanged(
    family: Family, thought: str, tools: tuple[Tool, ...]
) -> None:
    if thought and (family.name in THOUGHTLESS or (family.name, tools) == ("generic", ())):
        with pytest.raises(CannotContinue):  # no thought is ever read in this style
            await go_on(Counter(""), PartialOutput(thought, "Yes"), tools, family.name)
        return
    for has_triggers in (True, False):
        described = Description(template=CHATML + "{# " + family.template + " #}")
        player = Counter(", no", description=described, has_triggers=has_triggers)

        chunks = await go_on(player, PartialOutput(thought, "Yes"), tools, family.style)

        assert joined(chunks) == ", no"
        assert player.requests[0].prompt.endswith("Yes")
