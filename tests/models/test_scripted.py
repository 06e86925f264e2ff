"""The built-in model of a first start."""

import json
from collections.abc import Callable, Iterable

import pytest
from pydantic import JsonValue

from rightseat.core.ask import Parameters
from rightseat.core.messages import Call, Message, Result, assistant, user
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.tools import Tool
from rightseat.models.scripted import Options, build
from rightseat.toolboxes.functions import make_tool
from tests.acme import tools as acme


async def answer(
    *messages: Message, tools: Iterable[Tool | Callable[..., object]] = (), parameters: Parameters | None = None
) -> list[Chunk]:
    model = build(Options(chunk_delay=0))
    return [
        chunk
        async for chunk in model.stream(
            Prompt(
                messages,
                [tool if isinstance(tool, Tool) else make_tool(tool) for tool in tools],
                parameters or Parameters(),
            )
        )
    ]


def text(chunks: list[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


async def test_the_demo_model_streams_the_question_and_how_to_configure_a_real_model() -> None:
    chunks = await answer(user("First?"), assistant("Yes."), user("How are you?"))

    assert len(chunks) > 10
    assert text(chunks).startswith("You said: “How are you?” I am the built-in demo model:")
    assert "rightseat.yaml" in text(chunks)
    assert "OPENAI_API_KEY" in text(chunks)
    assert chunks[-1] == StopChunk("stop")


async def test_it_offers_to_call_the_tools_there_are() -> None:
    assert text(await answer(user("Hi"), tools=acme.both)).endswith("I call it: get_weather, add.")


async def test_a_tool_that_the_question_names_is_called_with_the_words_behind_it() -> None:
    call, stop = await answer(user("Please call get_weather for Paris!"), tools=acme.both)

    assert isinstance(call, CallChunk)
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "for Paris"})
    assert stop == StopChunk("tool_calls")


async def test_two_calls_have_two_ids() -> None:
    first, *_ = await answer(user("add"), tools=acme.both)
    second, *_ = await answer(user("add"), tools=acme.both)

    assert isinstance(first, CallChunk)
    assert isinstance(second, CallChunk)
    assert first.id != second.id


@pytest.mark.parametrize("question", ["address me", "forget_weather", "What is the sum?"])
async def test_a_tool_whose_name_is_only_part_of_a_word_is_not_called(question: str) -> None:
    assert text(await answer(user(question), tools=acme.both))


async def test_no_tool_is_called_where_the_client_wants_none() -> None:
    assert text(await answer(user("add"), tools=acme.both, parameters=Parameters(tool_choice="none")))


async def test_after_tool_results_the_response_repeats_them() -> None:
    calls = Message("assistant", (Call("a", "add", "{}"), Call("b", "get_weather", "{}")))
    results = [Message("tool", (Result("a", "add", "3"),)), Message("tool", (Result("b", "get_weather", "clear"),))]

    chunks = await answer(user("add, get_weather"), calls, *results, tools=acme.both)

    assert text(chunks) == "The tool add returned: 3 The tool get_weather returned: clear"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "Paris 3"),
        ({"type": "string", "enum": ["C", "F"]}, "C"),
        ({"type": "string", "default": "x"}, "x"),
        ({"type": "integer"}, 3),
        ({"type": "number"}, 3),
        ({"type": "boolean"}, True),
        ({"type": "array", "items": {}}, []),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}, {"a": True}),
        ({"type": "object"}, {}),
        ({"anyOf": [{"type": "string"}]}, "Paris 3"),
    ],
)
async def test_arguments_are_made_from_what_the_schema_requires(schema: dict[str, JsonValue], value: JsonValue) -> None:
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"it": schema, "optional": {"type": "string"}},
        "required": ["it"],
    }
    call, *_ = await answer(user("try: Paris 3"), tools=[Tool("try", "", parameters)])

    assert isinstance(call, CallChunk)
    assert json.loads(call.arguments) == {"it": value}


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"required": ["a"]}, {"properties": {"a": True}}])
async def test_an_empty_schema_gets_no_arguments(parameters: dict[str, JsonValue]) -> None:
    call, *_ = await answer(user("try"), tools=[Tool("try", "", parameters)])

    assert isinstance(call, CallChunk)
    assert json.loads(call.arguments) == {}


async def test_silence_is_answered_too() -> None:
    assert text(await answer()).startswith("You said: “”")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"city": {"type": ["string", "null"]}}}, {"city": None}),
        ({"properties": {"city": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, {"city": None}),
        ({"properties": {"flow": {"enum": ["scan", "forecast", None]}}}, {"flow": "forecast"}),
        ({"properties": {"flow": {"enum": ["scan", "report", None]}}}, {"flow": None}),
        ({"properties": {"days": {"type": "integer"}}}, {"days": 3}),
    ],
)
async def test_a_response_schema_gets_json_at_once(schema: dict[str, JsonValue], value: JsonValue) -> None:
    chunk, stop = await answer(user("The forecast for 3 days"), parameters=Parameters(response_schema=schema))

    assert isinstance(chunk, TextChunk)
    assert json.loads(chunk.text) == value
    assert stop == StopChunk("stop")
