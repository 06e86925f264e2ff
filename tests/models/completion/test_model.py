"""The whole of it: what a client asks reaches the backend, and what the backend says becomes chunks."""

import json
from typing import Any

import pytest

from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.errors import ContextTooLong, ModelUnreachable, SchemaNotSupported
from rightseat.core.messages import user
from rightseat.core.model import Chunk, NoteChunk, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.models import completion
from rightseat.models.completion.backend import Description, End, TextPiece
from rightseat.models.completion.model import Completion
from rightseat.models.completion.styles import STYLES
from tests.models.completion.families import PARIS, TOOLS, WEATHER, hermes
from tests.models.completion.playing import CHATML, Player, calls_of, joined

BAD = Tool("broken_lookup", "", {"type": "object", "properties": {"q": {"if": {}, "then": {}}}})


async def ask(player: Player, tools: tuple[Tool, ...] = TOOLS, style: str = "auto", **asked: Any) -> list[Chunk]:
    async with Completion(player, style=style) as model:
        return [chunk async for chunk in model.stream(Prompt((user("Hi"),), tools, Parameters(**asked), "thread_1"))]


async def test_a_response_has_its_stop_reason_and_its_usage() -> None:
    chunks = await ask(Player("Hello."))

    assert joined(chunks) == "Hello."
    assert chunks[-2:] == [StopChunk("stop"), UsageChunk(7, 5)]


async def test_tokens_from_the_prompt_cache_are_part_of_the_usage() -> None:
    chunks = await ask(Player("Hello.", end=End("stop", 7, 5, cached_tokens=6)))

    assert chunks[-1] == UsageChunk(7, 5, 6)


async def test_calls_are_the_reason_where_there_are_some() -> None:
    chunks = await ask(Player(hermes("", [PARIS])))

    assert [(name, json.loads(said)) for name, said in calls_of(chunks)] == [PARIS]
    assert StopChunk("tool_calls") in chunks


async def test_a_call_that_was_cut_is_not_whole() -> None:
    chunks = await ask(Player(hermes("", [PARIS])[:45], end=End("length", 7, 5)))

    assert [name for name, _ in calls_of(chunks)] == ["get_weather"]
    assert StopChunk("length") in chunks


async def test_a_call_that_a_stop_word_of_the_client_cut_is_not_whole_either() -> None:
    chunks = await ask(Player(hermes("", [PARIS])[:45], end=End("stop", 7, 5, stop="Paris")), stop=("Paris",))

    assert StopChunk("length") in chunks


async def test_a_backend_that_breaks_its_grammar_is_an_error() -> None:
    with pytest.raises(ModelUnreachable, match="output is invalid"):
        await ask(Player(hermes("", [("get_weather", {"city": 5})])), tool_choice="required")


async def test_a_text_that_breaks_its_schema_is_an_error_too() -> None:
    wanted = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}

    assert joined(await ask(Player('{"age": 3}'), (), response_schema=wanted)) == '{"age": 3}'
    with pytest.raises(ModelUnreachable, match="does not match its schema"):
        await ask(Player('{"age": "three"}'), (), response_schema=wanted)


async def test_what_the_client_wants_reaches_the_backend() -> None:
    player = Player("Hello.")

    await ask(player, (), stop=("END",), max_tokens=77, temperature=0.0, top_p=0.5, seed=3, logprobs=2)

    (request,) = player.requests
    assert (request.stop, request.max_tokens, request.temperature) == (("END",), 77, 0.0)
    assert (request.top_p, request.seed, request.logprobs, request.thread_id) == (0.5, 3, 2, "thread_1")
    assert request.constraint is None
    assert request.prompt == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


async def test_what_the_client_leaves_open_is_as_it_is_configured() -> None:
    player = Player("Hello.")
    async with Completion(player, temperature=0.7, max_tokens=9) as model:
        async for _ in model.stream(Prompt((user("Hi"),))):
            pass

    assert (player.requests[0].temperature, player.requests[0].max_tokens) == (0.7, 9)


async def test_a_model_without_a_template_stops_where_the_user_would_speak() -> None:
    player = Player("Hello.", description=Description())

    await ask(player)

    assert "\nUser:" in player.requests[0].stop
    assert "get_weather" in player.requests[0].prompt


async def test_a_tool_that_is_left_out_is_warned_of_before_the_answer() -> None:
    player = Player("Hello.")

    first, *_ = await ask(player, (WEATHER, BAD))

    assert isinstance(first, NoteChunk)
    assert "broken_lookup" in str(first.value)
    assert "broken_lookup" not in player.requests[0].prompt


async def test_a_tool_that_is_demanded_and_cannot_be_held_to_is_refused_before_the_backend_is_asked() -> None:
    player = Player("Hello.")

    with pytest.raises(SchemaNotSupported):
        await ask(player, (WEATHER, BAD), tool_choice=NamedTool("broken_lookup"))

    assert player.requests == []


async def test_logprobs_stand_before_their_text() -> None:
    class Counting(Player):
        async def generate(self, request):  # type: ignore[no-untyped-def]  # as its base
            yield TextPiece("Hi", ({"token": "Hi", "logprob": -0.1},))
            yield self.end

    chunks = await ask(Counting(), ())

    assert chunks[:2] == [NoteChunk("logprobs", [{"token": "Hi", "logprob": -0.1}]), TextChunk("Hi")]


async def test_a_backend_with_another_model_is_looked_at_again() -> None:
    player = Player("Hello.", "functions", description=Description(template=CHATML))
    async with Completion(player) as model:
        async for _ in model.stream(Prompt((user("Hi"),), TOOLS)):
            pass
        player.description = Description(template=CHATML + "{# <function= #}")
        async for _ in model.stream(Prompt((user("Hi"),), TOOLS)):
            pass

    assert [bool(request.constraint and request.constraint.triggers) for request in player.requests] == [False, True]


async def test_a_prompt_beyond_the_context_stays_that_error() -> None:
    class Small(Player):
        async def generate(self, request):  # type: ignore[no-untyped-def]  # as its base
            if request.prompt:
                raise ContextTooLong("Too long.", 400)
            yield self.end

    with pytest.raises(ContextTooLong, match=r"Too long\. The 2 tools take most of the prompt"):
        await ask(Small())


async def test_a_prompt_is_counted_as_the_template_writes_it_if_the_backend_counts() -> None:
    class Counting(Player):
        async def count(self, text: str) -> int | None:
            return len(text)

    async with Completion(Counting()) as counting, Completion(Player()) as model:
        short = await counting.count_prompt(Prompt((user("Hi"),), ()))
        longer = await counting.count_prompt(Prompt((user("Hi"),), TOOLS))
        unknown = await model.count_prompt(Prompt((user("Hi"),), ()))

    assert unknown is None
    assert 2 < (short or 0) < (longer or 0)


def test_options_name_every_style() -> None:
    known = completion.Options.model_json_schema()["properties"]["style"]["enum"]

    assert set(known) == {"auto", *STYLES}


def test_a_model_is_built_from_its_options_and_opens_nothing() -> None:
    model = completion.build(completion.Options.model_validate({"backend": {"url": "http://127.0.0.1:9"}}))

    assert isinstance(model, Completion)
