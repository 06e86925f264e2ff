"""Python functions as tools."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError
from rightseat.core.messages import user
from rightseat.core.tools import Approval, Invocation
from rightseat.toolboxes.functions import BadArguments, FunctionToolbox, ToolTimeout, as_toolbox, make_tool, tool
from tests.acme import tools as acme

ASK = Ask(messages=(user("Hi"),))


async def call(function: Callable[..., object], **arguments: JsonValue) -> str:
    made = make_tool(function)
    assert made.run is not None
    return await made.run(Invocation("call_1", arguments, ASK, "key"))


class Unit(Enum):
    celsius = "C"
    fahrenheit = "F"


class Place(BaseModel):
    city: str
    country: str = "DE"


# The schema


def test_the_signature_is_the_schema() -> None:
    @tool
    async def forecast(
        city: Annotated[str, Field(description="A city, in English")],
        days: Annotated[int, Field(ge=1, le=10)] = 3,
        unit: Literal["C", "F"] = "C",
    ) -> str:
        """What the weather will be."""
        return ""

    made = make_tool(forecast)
    assert (made.name, made.description) == ("forecast", "What the weather will be.")
    assert made.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "A city, in English"},
            "days": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_has_an_empty_schema() -> None:
    @tool
    def now() -> str:
        return ""

    made = make_tool(now)
    assert made.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert made.description == ""


def test_name_and_description_can_be_given() -> None:
    @tool(name="getWeather", description="Weather!")
    def weather(city: str) -> str:
        """Not this."""
        return city

    assert (make_tool(weather).name, make_tool(weather).description) == ("getWeather", "Weather!")


def test_the_invocation_is_not_part_of_the_schema() -> None:
    @tool
    def whoami(invocation: Invocation, loud: bool = False) -> str:
        return ""

    assert list(make_tool(whoami).parameters["properties"]) == ["loud"]  # type: ignore[arg-type]  # a JsonValue


@pytest.mark.parametrize("name", ["<lambda>", "two words", "x" * 65, "ä"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid tool name"):
        tool(name=name)(lambda: None)


def test_parameters_without_names_are_refused() -> None:
    def anything(*args: str) -> str:
        return ""

    def everything(**more: str) -> str:
        return ""

    for function in (anything, everything):
        with pytest.raises(ConfigError, match="all parameters must have names"):
            tool(function)


def test_an_unsupported_type_hint_is_reported() -> None:
    def broken(city: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821  # that is the point
        return ""

    with pytest.raises(ConfigError, match="The tool 'broken' has a type hint that cannot be resolved"):
        tool(broken)


# Calling


async def test_arguments_arrive_with_the_types_of_the_hints() -> None:
    got: list[object] = []

    @tool
    async def visit(place: Place, on: date, unit: Unit, tags: list[str] | None = None) -> str:
        got.extend((place, on, unit, tags))
        return "ok"

    assert await call(visit, place={"city": "Bonn"}, on="2026-11-15", unit="C") == "ok"
    assert got == [Place(city="Bonn"), date(2026, 11, 15), Unit.celsius, None]


async def test_parameters_may_have_names_that_pydantic_uses_itself() -> None:
    @tool
    async def odd(json: str, copy: int, model_config: str, _id: str = "x") -> list[object]:
        return [json, copy, model_config, _id]

    assert await call(odd, json="a", copy=1, model_config="b") == '["a",1,"b","x"]'


async def test_a_default_may_be_a_field() -> None:
    @tool
    async def forecast(city: str = Field(description="A city"), days: int = Field(3, le=10)) -> list[object]:
        return [city, days]

    assert await call(forecast, city="Bonn") == '["Bonn",3]'
    assert make_tool(forecast).parameters["required"] == ["city"]
    with pytest.raises(BadArguments, match="days: should be less than or equal to 10"):
        await call(forecast, city="Bonn", days=11)


async def test_a_function_with_an_invocation_parameter_gets_the_invocation() -> None:
    @tool
    async def whoami(invocation: Invocation, loud: bool = False) -> str:
        return f"{invocation.ask.principal.id} {invocation.key} {loud}"

    assert await call(whoami, loud=True) == "anyone key True"


async def test_a_sync_function_runs_in_a_thread_and_does_not_hold_others_up() -> None:
    started, go_on = threading.Event(), threading.Event()

    @tool
    def slow() -> str:
        started.set()
        assert go_on.wait(5)
        return threading.current_thread().name

    async with asyncio.timeout(30):
        running = asyncio.create_task(call(slow))
        await asyncio.to_thread(started.wait)
        go_on.set()

        assert await running != threading.main_thread().name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "The arguments are invalid: a is missing; b is missing. The arguments are: a, b."),
        ({"a": 1}, "The arguments are invalid: b is missing. The arguments are: a, b."),
        (
            {"a": "one", "b": 2},
            "The arguments are invalid: a: should be a valid integer, unable to parse string as an integer. "
            "The arguments are: a, b.",
        ),
        ({"a": 1, "b": 2, "c": 3}, "The arguments are invalid: there is no argument c. The arguments are: a, b."),
    ],
)
async def test_invalid_arguments_are_reported_one_by_one(arguments: dict[str, JsonValue], said: str) -> None:
    with pytest.raises(BadArguments) as error:
        await call(acme.add, **arguments)

    assert error.value.message == said


async def test_an_exception_of_a_function_propagates() -> None:
    @tool
    async def explode() -> None:
        raise RuntimeError("kaboom")

    with pytest.raises(RuntimeError, match="kaboom"):
        await call(explode)


# Results


@dataclass
class Weather:
    sky: str
    degrees: float


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("plain “text”", "plain “text”"),
        (None, "null"),
        (3, "3"),
        ({"a": [1, 2], "ü": "日本"}, '{"a":[1,2],"ü":"日本"}'),
        (Place(city="Köln"), '{"city":"Köln","country":"DE"}'),
        (Weather("clear", 1.5), '{"sky":"clear","degrees":1.5}'),
        ([date(2026, 11, 15), Unit.celsius], '["2026-11-15","C"]'),
        (float("nan"), "null"),
    ],
)
async def test_a_result_is_text_as_it_is_or_json(result: object, content: str) -> None:
    @tool
    async def give() -> object:
        return result

    assert await call(give) == content


# Toolboxes


async def test_a_toolbox_gives_the_tools_that_were_added() -> None:
    functions = FunctionToolbox([acme.add])

    def late() -> None: ...

    functions.add(late)

    assert [tool.name for tool in await functions.tools(ASK)] == ["add", "late"]


def test_two_tools_with_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools named 'add'"):
        FunctionToolbox([acme.add, acme.add])


def plain() -> None: ...


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (acme.add, ["add"]),
        (acme.both, ["get_weather", "add"]),
        ((acme.add,), ["add"]),
        (acme.box, ["get_weather"]),
        (plain, ["plain"]),
        ([plain, acme.add], ["plain", "add"]),
    ],
)
async def test_a_reference_may_name_a_tool_or_several_or_a_toolbox(value: Any, names: list[str]) -> None:
    assert [tool.name for tool in await as_toolbox(value, "m:x").tools(ASK)] == names


@pytest.mark.parametrize("value", [7, "add", [acme.add, 7], FunctionToolbox, {"a": acme.add}])
def test_a_reference_to_something_else_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="'m:x' is not a tool, a list of tools or a toolbox, but "):
        as_toolbox(value, "m:x")


# The function itself


def test_a_decorated_function_stays_a_function() -> None:
    @tool(approval="Sure?", effect="write", timeout=5)
    def double(number: int) -> int:
        """Twice as much."""
        return 2 * number

    assert inspect.isfunction(double)
    assert double(4) == 8
    assert double.__doc__ == "Twice as much."
    made = make_tool(double)
    assert (made.approval, made.effect) == (Approval("Sure?"), "write")


def test_a_function_is_declared_once() -> None:
    @tool(name="one")
    def number() -> int:
        return 1

    with pytest.raises(ConfigError, match="'number' is a tool already"):
        tool(name="two")(number)


# Timeouts


async def test_a_tool_that_takes_too_long_is_cancelled_and_reported() -> None:
    ended: list[str] = []

    @tool(timeout=0.01)
    async def slow() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return ""

    with pytest.raises(ToolTimeout, match=r"The tool slow took longer than 0\.01 s"):
        await call(slow)

    assert ended == ["cancelled"]


async def test_a_timeout_inside_of_a_tool_is_its_own() -> None:
    @tool(timeout=60)
    async def impatient() -> str:
        raise TimeoutError("the database")

    with pytest.raises(TimeoutError, match="the database"):
        await call(impatient)


def test_a_timeout_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="The tool 'plain' has a timeout of 0 s"):
        tool(timeout=0)(plain)
