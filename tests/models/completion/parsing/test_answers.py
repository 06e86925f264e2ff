"""Answers in a form that a model was not told to use, thoughts, and where text ends."""

import json

import pytest

from rightseat.core.errors import ModelUnreachable
from rightseat.core.model import ReasoningChunk, TextChunk
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.styles import STYLES
from tests.models.completion.families import TOOLS, WEATHER
from tests.models.completion.playing import calls_of, cut, joined, read, reading

CALL = json.dumps({"name": "get_weather", "arguments": {"city": "Paris"}})
HERMES = STYLES["hermes"]
pieces = pytest.mark.parametrize("size", [1, 2, 5, 1000])


@pieces
@pytest.mark.parametrize(
    "raw",
    [
        CALL,
        f"  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```json\n{json.dumps(json.loads(CALL), indent=2)}\n```",
        CALL.replace("arguments", "parameters"),
    ],
)
def test_a_call_that_cannot_be_meant_otherwise_is_one(raw: str, size: int) -> None:
    chunks = read(reading(HERMES, TOOLS), cut(raw, (size,)))

    assert [(name, json.loads(said)) for name, said in calls_of(chunks)] == [("get_weather", {"city": "Paris"})]
    assert joined(chunks).strip() == ""


@pieces
@pytest.mark.parametrize(
    "raw",
    [
        '```json\n{"name": "Bob", "age": 3}\n```',
        '{"name": "get_weather_report", "arguments": {}}',
        '{"name": "get_weather", "arguments": {"city": 5}}',
        '{"name": "get_weather", "arguments": {"city": "Par',
        'Here: {"city": "Paris"}.',
        f"So: {CALL}",
        "a\n\n```json\n[1]\n```\n b ",
        "The tag <tool_cal is not whole, <tool_call is neither; 3 < 4.",
        "``` and ```js and trailing spaces \n",
    ],
)
def test_anything_else_is_text_to_the_last_character(raw: str, size: int) -> None:
    chunks = read(reading(HERMES, TOOLS), cut(raw, (size,)))

    assert (joined(chunks), calls_of(chunks)) == (raw, [])


def test_json_that_is_no_call_is_not_held_back() -> None:
    reader = reading(HERMES, TOOLS)

    assert joined(reader.feed('{"city": "Par')) == '{"city": "Par'


@pieces
def test_without_tools_a_mark_is_text(size: int) -> None:
    raw = f"<tool_call>\n{CALL}\n</tool_call>"

    assert joined(read(reading(HERMES, ()), cut(raw, (size,)))) == raw


@pieces
def test_a_text_around_a_fenced_call_stays(size: int) -> None:
    chunks = read(reading(HERMES, TOOLS), cut(f"Sure:\n```json\n{CALL}\n```\nDone.", (size,)))

    assert [name for name, _ in calls_of(chunks)] == ["get_weather"]
    assert joined(chunks) == "Sure:\nDone."


@pieces
def test_what_a_model_thinks_is_no_text(size: int) -> None:
    raw = f"<think>\nParis, 3 < 4.\n</think>\n\nLet me see.\n<tool_call>\n{CALL}\n</tool_call>"

    chunks = read(reading(HERMES, TOOLS), cut(raw, (size,)))

    assert joined(chunks, ReasoningChunk).strip() == "Paris, 3 < 4."
    assert joined(chunks) == "Let me see."
    assert len(calls_of(chunks)) == 1


def test_reasoning_that_the_prompt_opened_is_continued() -> None:
    chunks = read(reading(HERMES, TOOLS, "<think>"), ["Hm.</thi", "nk>\n\nHi."])

    assert (joined(chunks, ReasoningChunk), joined(chunks)) == ("Hm.", "Hi.")


@pieces
def test_channels_of_harmony_are_reasoning_and_text(size: int) -> None:
    raw = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi there.<|return|>"

    chunks = read(reading(STYLES["harmony"], TOOLS), cut(raw, (size,)))

    assert (joined(chunks, ReasoningChunk), joined(chunks)) == ("Hm.", "Hi there.")


@pieces
def test_a_call_of_harmony_may_be_addressed_before_its_channel(size: int) -> None:
    raw = ' to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Rome"}<|call|>'

    chunks = read(reading(STYLES["harmony"], TOOLS), cut(raw, (size,)))

    assert calls_of(chunks) == [("get_weather", '{"city": "Rome"}')]


@pieces
@pytest.mark.parametrize(
    ("name", "said", "arguments"),
    [
        ("brave_search", 'brave_search.call(query="a \\"b\\" (c), é")', {"query": 'a "b" (c), é'}),
        ("wolfram_alpha", 'wolfram_alpha.call(query="2 + 2")', {"query": "2 + 2"}),
        ("ipython", "for i in x:\n    print({'i': \"}\"})\n", {"code": "for i in x:\n    print({'i': \"}\"})\n"}),
    ],
)
def test_the_builtin_tools_of_llama(name: str, said: str, arguments: dict[str, str], size: int) -> None:
    key = next(iter(arguments))
    tool = Tool(name, "", {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]})

    chunks = read(reading(STYLES["llama-3.1"], (tool, WEATHER)), cut(f"<|python_tag|>{said}", (size,)))

    assert [(called, json.loads(text)) for called, text in calls_of(chunks)] == [(name, arguments)]


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_llama_may_call_a_function_by_its_tag(size: int) -> None:
    raw = 'I look.\n<function=get_weather>{"city": "Paris"}</function>'

    chunks = read(reading(STYLES["llama-3.1"], TOOLS), cut(raw, (size,)))

    assert calls_of(chunks) == [("get_weather", '{"city": "Paris"}')]
    assert joined(chunks) == "I look."


@pytest.mark.parametrize("said", ["A <function=name>{…}</function>.", "x <function=drop_tables>{}", "<function="])
def test_the_tag_of_a_function_that_was_not_offered_is_text(said: str) -> None:
    assert joined(read(reading(STYLES["llama-3.1"], TOOLS), cut(said, (3,)))) == said


def test_a_function_tag_that_breaks_its_schema_is_no_call() -> None:
    with pytest.raises(ModelUnreachable, match="do not match the schema"):
        read(reading(STYLES["llama-3.1"], TOOLS), ['<function=get_weather>{"city": 5}</function>'])


def test_the_tag_of_a_function_is_no_text_wherever_an_answer_is_cut() -> None:
    raw = '<function=get_weather>{"city": "Paris"}</function>'
    for end in range(len(raw)):
        assert joined(read(reading(STYLES["llama-3.1"], TOOLS), cut(raw[:end], (2,)), was_cut=True)) == ""


@pytest.mark.parametrize("style", ["hermes", "forced-hermes"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_arguments_of_a_call_may_come_before_its_name(style: str, size: int) -> None:
    raw = '<tool_call>\n{"arguments": {"city": "Paris"}, "name": "get_weather"}\n</tool_call>'

    chunks = read(reading(STYLES[style], TOOLS), cut(f"{raw}\n{raw}", (size,)))

    assert calls_of(chunks) == [("get_weather", '{"city": "Paris"}')] * 2
    assert joined(chunks) == ""


@pytest.mark.parametrize(
    "raw",
    [
        '{"arguments": {"city": "Paris"}}',
        '{"arguments": {"city": 5}, "name": "get_weather"}',
        '{"arguments": {"city": "Paris"}, "name": "drop_tables"}',
        '{"arguments": "Paris", "name": "get_weather"}',
    ],
    ids=["no name", "wrong type", "unknown", "no object"],
)
def test_arguments_before_a_name_are_checked_as_any_others(raw: str) -> None:
    with pytest.raises(ModelUnreachable):
        read(reading(HERMES, TOOLS), [f"<tool_call>\n{raw}\n</tool_call>"])


def test_a_text_ends_with_its_own_spaces() -> None:
    assert read(reading(HERMES, TOOLS), ["one ", "two "])[-1] == TextChunk(" ")


def test_more_calls_than_an_answer_may_have_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    one = f"<tool_call>\n{CALL}\n</tool_call>\n"
    reader = Reader(lambda it: HERMES.answer(it, HERMES), {"get_weather": WEATHER.parameters}, max_calls=1)

    chunks = read(reader, [one, one, "and text"])

    assert len(calls_of(chunks)) == 1
    assert "more than 1 calls" in caplog.text


def test_an_answer_that_is_cut_within_a_string_ends_there() -> None:
    raw = "<tool_call>\n<function=get_weather>\n<parameter=city>\nPar"

    chunks = read(reading(STYLES["qwen3-coder"], TOOLS), [raw], was_cut=True)

    assert calls_of(chunks) == [("get_weather", '{"city": "Par')]


@pytest.mark.parametrize(
    ("schema", "said", "meant"),
    [
        ({"type": "string"}, "5", "5"),
        ({"$ref": "#/$defs/text"}, "5", "5"),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"type": ["string", "integer"]}, "five", "five"),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({}, "true", True),
    ],
)
def test_a_value_without_quotes_has_the_type_of_its_schema(
    schema: dict[str, JsonValue], said: str, meant: object
) -> None:
    parameters: dict[str, JsonValue] = {"properties": {"x": schema}, "$defs": {"text": {"type": "string"}}}
    raw = f"<tool_call>\n<function=f>\n<parameter=x>\n{said}\n</parameter>\n</function>\n</tool_call>"

    ((_, arguments),) = calls_of(read(reading(STYLES["qwen3-coder"], (Tool("f", "", parameters),)), cut(raw, (3,))))

    assert json.loads(arguments) == {"x": meant}
