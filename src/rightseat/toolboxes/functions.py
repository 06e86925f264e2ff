"""Python functions as tools.

    @tool
    async def get_weather(city: Annotated[str, Field(description="A city, in English")]) -> dict[str, float]:
        \"\"\"The weather of a city, now.\"\"\"

The schema comes from the signature, the description from the docstring. Arguments from the model are validated against
the signature. A parameter of type `Invocation` receives the call itself, and is hidden from the model. A function that
is not `async` runs in a thread.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, TypeVar, get_type_hints, overload

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model

from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.tools import Approval, Effect, Invocation, RunTool, Tool, Toolbox

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # accepted by every provider


class BadArguments(RightseatError):
    """Returned to the model, which can often fix it."""

    code = "invalid_arguments"
    status = 400


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    approval: str | None = None,
    effect: Effect = "read",
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: str | None = None,
    effect: Effect = "read",
) -> Tool | Callable[[Function], Tool]:
    """Turn a function into a tool: `@tool`, or `@tool(name=…, description=…)`.

    `approval` is the question to the user before each call. `effect="write"` declares that a call changes something, so
    that the agent's policy can require an approval. If a durable run is interrupted during such a call, the call is
    repeated only with `effect="idempotent_write"`, for example if the function passes on the key of its `Invocation`.
    Otherwise the user decides how to continue.
    """

    def decorate(function: Function) -> Tool:
        question = None if approval is None else Approval(approval)
        return replace(make_tool(function, name, description), approval=question, effect=effect)

    return decorate if function is None else decorate(function)


class FunctionToolbox:
    """A toolbox of functions. Added functions are available to the next run."""

    def __init__(self, tools: Iterable[Tool | Function] = (), label: str = "functions") -> None:
        self.label = label
        self._tools: dict[str, Tool] = {}
        for item in tools:
            self.add(item)

    def add(self, item: Tool | Function) -> None:
        added = item if isinstance(item, Tool) else make_tool(item)
        if added.name in self._tools:
            raise ConfigError(f"There are two tools named {added.name!r}. Rename one of them.")
        self._tools[added.name] = added

    @property
    def names(self) -> Collection[str]:
        return self._tools.keys()

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return tuple(self._tools.values())


def as_toolbox(value: object, reference: str) -> Toolbox:
    """Convert the value of a `module:name` reference: a tool, a list of tools, or a toolbox."""
    if isinstance(value, Tool) or inspect.isfunction(value):
        return FunctionToolbox([value], f"`{reference}`")
    if isinstance(value, list | tuple) and all(isinstance(item, Tool) or inspect.isfunction(item) for item in value):
        return FunctionToolbox(value, f"`{reference}`")
    if inspect.iscoroutinefunction(getattr(value, "tools", None)) and not isinstance(value, type):
        toolbox: Toolbox = value  # type: ignore[assignment]  # it has the method of a toolbox
        return toolbox
    raise ConfigError(f"{reference!r} is not a tool, a list of tools or a toolbox, but {type(value).__name__}.")


def make_tool(function: Function, name: str | None = None, description: str | None = None) -> Tool:
    name = name or function.__name__
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a valid tool name: use up to 64 letters, digits, '_' and '-'.")
    hints = read_hints(function, name)
    invocation_parameters = [parameter for parameter, hint in hints.items() if hint is Invocation]
    arguments = read_signature(function, name, hints)
    text = inspect.getdoc(function) if description is None else description
    run = bind(function, arguments, invocation_parameters)
    check = partial(check_arguments, arguments)  # pydantic checks more than the schema says
    return Tool(name, text or "", write_schema(arguments), run, checks_arguments=True, check=check)


def read_hints(function: Function, name: str) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"The tool {name!r} has a type hint that cannot be resolved: {error}.") from error
    return {parameter: hint for parameter, hint in hints.items() if parameter != "return"}


def read_signature(function: Function, name: str, hints: Mapping[str, Any]) -> type[BaseModel]:
    """The parameters for the model, as a pydantic model.

    Its fields have generated names and the parameters' names as aliases, because pydantic does not allow some names:
    `json`, `copy`, `_id`.
    """
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"The tool {name!r} takes {parameter}: all parameters must have names.")
        hint = hints.get(parameter.name, Any)
        if hint is not Invocation:
            fields[f"parameter_{index}"] = (Annotated[hint, Field(alias=parameter.name)], read_default(parameter))
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def read_default(parameter: inspect.Parameter) -> Any:
    return ... if parameter.default is parameter.empty else parameter.default


def write_schema(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    schema = arguments.model_json_schema()
    del schema["title"]
    for described in schema.get("properties", {}).values():
        described.pop("title", None)
    schema.setdefault("properties", {})
    return schema


def bind(function: Function, arguments: type[BaseModel], invocation_parameters: Sequence[str]) -> RunTool:
    async def run(invocation: Invocation) -> str:
        values = check_arguments(arguments, invocation.arguments) | dict.fromkeys(invocation_parameters, invocation)
        if inspect.iscoroutinefunction(function):
            return write_result(await function(**values))
        return write_result(await asyncio.to_thread(function, **values))

    return run


def check_arguments(arguments: type[BaseModel], arguments_sent: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Validate the arguments, and add defaults."""
    try:
        values = arguments.model_validate(arguments_sent)
    except ValidationError as error:
        raise BadArguments(describe_errors(error, arguments)) from error
    return {field.alias or name: getattr(values, name) for name, field in arguments.model_fields.items()}


def describe_errors(error: ValidationError, arguments: type[BaseModel]) -> str:
    known = ", ".join(field.alias or name for name, field in arguments.model_fields.items()) or "none"
    problems = []
    for detail in error.errors(include_url=False):
        where = ".".join(str(step) for step in detail["loc"])
        match detail["type"]:
            case "missing":
                problems.append(f"{where} is missing")
            case "extra_forbidden":
                problems.append(f"there is no argument {where}")
            case _:
                problems.append(f"{where}: {detail['msg'].replace('Input should', 'should')}")
    return f"The arguments are invalid: {'; '.join(problems)}. The arguments are: {known}."


def write_result(result: object) -> str:
    """Text as it is; everything else as JSON."""
    if isinstance(result, str):
        return result
    return pydantic_core.to_json(result, inf_nan_mode="null").decode()
