"""Which tools are offered, and what holds the model."""

import json
from typing import Any

import pytest

from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.errors import BadRequest, ContextTooLong, SchemaNotSupported
from rightseat.core.messages import Call, Message, Result, system, user
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion import plan as planning
from rightseat.models.completion.backend import Constraint, Description, Trigger
from rightseat.models.completion.grammar.output import lark
from rightseat.models.completion.model import Completion
from rightseat.models.completion.styles import STYLES
from rightseat.models.completion.styles.tool_prompts import to_function
from rightseat.models.completion.supported_tools import explain_too_long
from tests.models.completion.families import PARIS, TOOLS, WEATHER, hermes
from tests.models.completion.grammar.oracle import Judge
from tests.models.completion.playing import Player

BAD = Tool(
    "broken_lookup", "Look up.", {"type": "object", "properties": {"q": {"type": "string", "not": {"enum": ["x"]}}}}
)


def plan(style: str = "hermes", tools: tuple[Tool, ...] = TOOLS, triggers: bool = True, **asked: Any) -> planning.Plan:
    prompt = Prompt((system("Be brief."), user("Hi")), tools, Parameters(**asked))
    return planning.make_plan(prompt, STYLES[style], triggers=triggers)


def constraint(made: planning.Plan, prompt: str = "", *, thinks: bool = False) -> Constraint:
    found = made.constraint(prompt, thinks=thinks)
    assert found is not None
    return found


def accepts(found: Constraint, text: str) -> bool:
    return Judge(lark.write(found.grammar)).accepts(text)


def test_a_trained_model_is_held_once_it_begins_a_call() -> None:
    found = constraint(plan())

    assert [trigger.value for trigger in found.triggers] == ["<tool_call>"]
    assert "<tool_call>" in found.preserved
    assert accepts(found, hermes("", [PARIS]))


def test_and_from_its_first_token_on_where_a_call_is_demanded() -> None:
    assert constraint(plan(tool_choice="required")).triggers == ()
    assert constraint(plan(tool_choice=NamedTool("get_weather"))).triggers == ()


def test_and_where_the_backend_knows_no_triggers_or_the_model_was_not_trained() -> None:
    assert constraint(plan(triggers=False)).triggers == ()
    assert constraint(plan("forced-hermes")).triggers == ()


def test_without_tools_nothing_holds_the_model() -> None:
    assert plan(tools=()).root is None
    assert plan(tool_choice="none").root is None
    assert plan(tool_choice="none").tools == ()


def test_a_bad_tool_among_good_ones_is_left_out_and_named() -> None:
    made = plan(tools=(WEATHER, BAD))

    assert [tool.name for tool in made.tools] == ["get_weather"]
    assert len(made.warnings) == 1
    assert "broken_lookup" in made.warnings[0]
    assert "`not`" in made.warnings[0]


@pytest.mark.parametrize(
    ("tools", "choice"), [((BAD,), "auto"), ((WEATHER, BAD), NamedTool("broken_lookup")), ((BAD,), "required")]
)
def test_alone_or_demanded_it_is_refused(tools: tuple[Tool, ...], choice: Any) -> None:
    with pytest.raises(SchemaNotSupported, match=r"broken_lookup.*`not`"):
        plan(tools=tools, tool_choice=choice)


@pytest.mark.parametrize("name", ["", "a b", 'x", "y', "x\n</tool_call>", "n" * 300, "<tool_call>"])
def test_a_name_that_no_call_can_hold_is_refused(name: str) -> None:
    with pytest.raises(SchemaNotSupported, match="`name`"):
        plan(tools=(Tool(name, "", {"type": "object"}),))


def test_invalid_tools_and_choices_are_refused() -> None:
    with pytest.raises(BadRequest, match="'get_weather'"):
        plan(tools=(WEATHER, WEATHER))
    with pytest.raises(BadRequest, match="'nowhere' is required"):
        plan(tool_choice=NamedTool("nowhere"))
    with pytest.raises(BadRequest, match="no tools"):
        plan(tools=(), tool_choice="required")


def test_the_end_of_the_prompt_is_not_repeated() -> None:
    made = plan("functionary-v2", tool_choice="required")
    call = 'get_weather\n<|content|>{"city": "Oslo"}'

    assert accepts(constraint(made, "<|from|>assistant\n<|recipient|>"), call)
    assert accepts(constraint(made, "<|from|>assistant\n"), f"<|recipient|>{call}")


def test_a_model_that_thinks_may_do_so_before_a_demanded_call() -> None:
    made, call = plan(tool_choice="required"), hermes("", [PARIS])

    assert accepts(constraint(made, thinks=True), f"<think>\nHm.\n</think>\n\n{call}")
    assert accepts(constraint(made, thinks=True), call)
    assert accepts(constraint(made, "<think>\n", thinks=True), f"Hm.\n</think>\n\n{call}")
    assert not accepts(constraint(made), f"<think>\nHm.\n</think>\n\n{call}")


def test_an_answer_with_a_schema_is_that_alone() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    found = constraint(plan(tools=(), response_schema=schema))

    assert accepts(found, '{"age": 3}')
    assert not accepts(found, "Three.")


def test_a_call_of_hermes_may_name_its_tool_last() -> None:
    found = constraint(plan(tool_choice="required"))

    assert accepts(found, '<tool_call>\n{"arguments": {"city": "Paris"}, "name": "get_weather"}\n</tool_call>')
    assert not accepts(found, '<tool_call>\n{"arguments": {"city": 5}, "name": "get_weather"}\n</tool_call>')
    assert not accepts(found, '<tool_call>\n{"arguments": {"city": "Paris"}, "name": "send_note"}\n</tool_call>')

    forced = constraint(plan("forced-hermes", tool_choice="required"))
    assert accepts(forced, '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>')
    assert not accepts(forced, '<tool_call>\n{"arguments": {"city": "Paris"}, "name": "get_weather"}\n</tool_call>')


def test_llama_is_held_to_the_schema_behind_the_tag_of_a_function() -> None:
    found = constraint(plan("llama-3.1"))

    assert Trigger("word", "<function=") in found.triggers
    assert accepts(found, '<function=get_weather>{"city": "Paris"}</function>')
    assert not accepts(found, '<function=get_weather>{"city": 5}</function>')


def write(style: str, description: Description, tools: tuple[Tool, ...] = TOOLS, **more: Any) -> planning.TemplateInput:
    prompt = Prompt((system("Be brief."), user("Hi")), tools)
    made = planning.make_plan(prompt, STYLES[style], triggers=True)
    return planning.write_template_input(made, prompt, description, **{"signatures": None, **more})


def test_a_template_that_prints_tools_is_given_them() -> None:
    written = write("hermes", Description(template="{{ tools }}"))

    assert [tool["function"]["name"] for tool in written.tools or ()] == ["get_weather", "send_note"]
    assert "get_weather" not in str(written.turns)


@pytest.mark.parametrize("style", ["forced-hermes", "generic", "functionary-v2", "hermes", "phi-4"])
def test_tools_are_in_the_turns_where_the_template_prints_none(style: str) -> None:
    written = write(style, Description(template="{{ messages }}", caps={"supports_tools": False}))

    assert written.tools is None
    assert "get_weather" in written.turns[0]["content"]
    assert any("Be brief." in turn["content"] for turn in written.turns)


SHAPE: dict[str, JsonValue] = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.parametrize("style", ["hermes", "forced-hermes"])
@pytest.mark.parametrize("tools", [(), TOOLS], ids=["alone", "with tools"])
async def test_the_schema_of_a_json_answer_is_in_the_prompt_of_hermes(style: str, tools: tuple[Tool, ...]) -> None:
    player = Player('{"age": 3}')
    asked = Prompt((system("Be brief."), user("How old?")), tools, Parameters(response_schema=SHAPE))

    async with Completion(player, style=style) as model:
        _ = [chunk async for chunk in model.stream(asked)]

    (request,) = player.requests
    instructions, question = request.prompt.partition("How old?")[::2]
    assert instructions.count("<schema>\n" + json.dumps(SHAPE) + "\n</schema>") == 1
    assert "Here's the json schema you must adhere to:" in instructions
    assert instructions.index("Be brief.") < instructions.index("<schema>")
    assert "<schema>" not in question


def test_without_a_schema_the_prompt_does_not_speak_of_json() -> None:
    assert "<schema>" not in str(write("hermes", Description(template="")).turns)


def test_signatures_in_typescript_are_shorter() -> None:
    plain = Description(template="{{ messages }}")
    short = write("generic", plain, signatures="typescript").turns[0]["content"]
    long = write("generic", plain, signatures="json_schema").turns[0]["content"]

    assert 'unit?: "celsius" | "fahrenheit"' in short
    assert '"type": "string"' in long
    assert len(short) < len(long)


@pytest.mark.parametrize("signatures", ["json_schema", "typescript"])
def test_what_a_tool_is_for_stands_before_its_name(signatures: str) -> None:
    offered = write("forced-hermes", Description(template="{{ messages }}"), signatures=signatures).turns[0]["content"]

    assert 0 < offered.index(WEATHER.description) < offered.index(WEATHER.name)


def test_builtin_tools_of_llama_are_named_apart() -> None:
    search = Tool("brave_search", "", {"type": "object", "properties": {"query": {"type": "string"}}})

    written = write("llama-3.1", Description(template="{{ tools }} {{ builtin_tools }}"), (search, WEATHER))

    assert written.variables == {"builtin_tools": ["brave_search"]}
    assert [tool["function"]["name"] for tool in written.tools or ()] == ["get_weather"]


LLAMA = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>{% endfor %}"
    "{# system, <|python_tag|> #}"
)
SEARCH = Tool("brave_search", "", {"type": "object", "properties": {"query": {"type": "string"}}})


@pytest.mark.parametrize(("template", "style"), [(LLAMA, "auto"), (LLAMA + "{# tools #}", "llama-3.1-functions")])
async def test_the_prompt_for_llama_asks_for_function_tags(template: str, style: str) -> None:
    player = Player("Hello.", description=Description(template=template))
    asked = (
        *(system("Be brief."), user("Where is it warm?")),
        Message("assistant", (Call("1", "brave_search", '{"query": "warm \\"places\\""}'),)),
        Message("tool", (Result("1", "brave_search", "Rome, Paris"),)),
        Message("assistant", (Call("2", "get_weather", '{"city": "Rome"}'),)),
        Message("tool", (Result("2", "get_weather", "31 degrees"),)),
        user("And Paris?"),
    )

    async with Completion(player, style=style) as model:
        _ = [chunk async for chunk in model.stream(Prompt(asked, (WEATHER, SEARCH)))]

    (request,) = player.requests
    instructions, _, history = request.prompt.partition("Where is it warm?")
    assert instructions.startswith("<|start_header_id|>system<|end_header_id|>\n\nTools: brave_search\n\nBe brief.")
    assert json.dumps([to_function(WEATHER)], indent=2) in instructions
    assert '\n<function=example_function_name>{"example_name": "example_value"}</function>\n' in instructions
    assert "- Only call one function at a time\n" in instructions
    assert '<function=get_weather>{"city": "Rome"}</function><|eot_id|>' in history
    assert '<|python_tag|>brave_search.call(query="warm \\"places\\"")<|eot_id|>' in history
    assert "<|start_header_id|>ipython<|end_header_id|>\n\n31 degrees" in history
    assert {trigger.value for trigger in request.constraint.triggers} == {"<function=", "<|python_tag|>"}  # type: ignore[union-attr]
    assert request.stop[-1:] == ("<|eom_id|>",)


PRINTED: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"code": {"type": "query"}},
    "required": ["query"],
}


@pytest.mark.parametrize("name", ["brave_search", "wolfram_alpha"])
@pytest.mark.parametrize("style", ["llama-3.1", "llama-3.1-functions", "forced-hermes"])
def test_a_builtin_tool_as_the_documentation_prints_it_takes_a_query(name: str, style: str) -> None:
    made = plan(style, tools=(Tool(name, "", PRINTED), WEATHER))

    assert [tool.name for tool in made.tools] == [name, "get_weather"]
    assert made.tools[0].parameters == {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    }
    assert list(made.warnings) == [
        f"The parameters of the tool '{name}' are not a JSON Schema; it is offered with `query`, a string."
    ]


def test_a_tool_whose_type_is_none_of_json_schemas_is_left_out_and_named() -> None:
    made = plan("llama-3.1", tools=(Tool("my_search", "", PRINTED), WEATHER))

    assert [tool.name for tool in made.tools] == ["get_weather"]
    assert "'my_search' was dropped" in made.warnings[0]


def test_a_prompt_that_is_too_long_names_the_longest_tool() -> None:
    long = Tool("long_lookup", "Look up. " * 200, {"type": "object"})
    error = ContextTooLong("Too long.", 400)

    assert "'long_lookup'" in str(explain_too_long(error, (WEATHER, long), "x" * 2000))
    assert str(explain_too_long(error, (WEATHER,), "x" * 20_000)) == "Too long."


@pytest.mark.parametrize(
    ("parameters", "keyword"),
    [
        ({"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1}, "minProperties"),
        ({"type": "object", "properties": {"a>b": {"type": "string"}}}, "properties"),
    ],
)
def test_what_tags_cannot_hold_a_model_to_is_refused_by_name(parameters: dict[str, JsonValue], keyword: str) -> None:
    with pytest.raises(SchemaNotSupported, match=f"tool 'odd'.*`{keyword}`"):
        plan("qwen3-coder", tools=(Tool("odd", "", parameters),))
