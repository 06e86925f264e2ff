"""Python functions as tools.

    @tool
    async def get_weather(city: Annotated[str, Field(description="A city, in English")]) -> dict[str, float]:
        \"\"\"The weather of a city, now.\"\"\"

The schema comes from the signature, the description from the docstring. What a model sends is checked against the
signature before the function is called. A parameter of the type `Invocation` gets the call itself, and is not shown to
the model. A function that is not `async` runs in a thread.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar, get_type_hints, overload

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model

from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.tools import Approval, Effect, Invocation, Run, Tool, Toolbox

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what every provider accepts


class BadArguments(RightseatError):
    """Said to the model, which can often repair it."""

    code = "invalid_arguments"
    status = 400


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    approve: str | None = None,
    effect: Effect = "read",
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    approve: str | None = None,
    effect: Effect = "read",
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function: `@tool`, or `@tool(name=…, description=…)`.

    `approve` is what a person is asked before it runs; `effect="write"` says that it changes something, so that an
    agent may ask on its own. In a durable run, a call of such a tool that was cut off is made again only if it is an
    `idempotent_write`: if it passes the key of its `Invocation` on, say. Else a person is asked what became of it.
    """

    def made(function: Function) -> Tool:
        approval = None if approve is None else Approval(approve)
        return replace(make(function, name, description), approval=approval, effect=effect)

    return made if function is None else made(function)


class Functions:
    """A toolbox of functions. Add to it at any time: the next run sees it."""

    def __init__(self, tools: Iterable[Tool | Function] = (), label: str = "functions") -> None:
        self.label = label
        self._tools: dict[str, Tool] = {}
        for item in tools:
            self.add(item)

    def add(self, item: Tool | Function) -> None:
        added = item if isinstance(item, Tool) else make(item)
        if added.name in self._tools:
            raise ConfigError(f"There are two tools named {added.name!r}. Give one of them another name.")
        self._tools[added.name] = added

    @property
    def names(self) -> Collection[str]:
        return self._tools.keys()

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return tuple(self._tools.values())


def box(value: object, reference: str) -> Toolbox:
    """What a `module:name` of the configuration names, as a toolbox: it may be a tool, several, or a toolbox."""
    if isinstance(value, Tool) or inspect.isfunction(value):
        return Functions([value], f"`{reference}`")
    if isinstance(value, list | tuple) and all(isinstance(item, Tool) or inspect.isfunction(item) for item in value):
        return Functions(value, f"`{reference}`")
    if inspect.iscoroutinefunction(getattr(value, "tools", None)) and not isinstance(value, type):
        toolbox: Toolbox = value  # type: ignore[assignment]  # it has the one method that a toolbox has
        return toolbox
    raise ConfigError(f"{reference!r} is not a tool, a list of tools or a toolbox, but {type(value).__name__}.")


def make(function: Function, name: str | None = None, description: str | None = None) -> Tool:
    name = name or function.__name__
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be the name of a tool: use up to 64 letters, digits, '_' and '-'.")
    hints = read_hints(function, name)
    seen_by_tool = [parameter for parameter, hint in hints.items() if hint is Invocation]
    arguments = read_signature(function, name, hints)
    said = inspect.getdoc(function) if description is None else description
    run = bind(function, arguments, seen_by_tool)
    return Tool(name, said or "", write_schema(arguments), run, checks_arguments=True)


def read_hints(function: Function, name: str) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"The tool {name!r} has a type hint that cannot be understood: {error}.") from error
    return {parameter: hint for parameter, hint in hints.items() if parameter != "return"}


def read_signature(function: Function, name: str, hints: Mapping[str, Any]) -> type[BaseModel]:
    """The parameters that a model fills in, as a pydantic model.

    Its fields have names of our own and the parameters' names as aliases, because a parameter may be named as nothing
    in a pydantic model may: `json`, `copy`, `_id`.
    """
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"The tool {name!r} takes {parameter}: its parameters should all have names.")
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


def bind(function: Function, arguments: type[BaseModel], seen_by_tool: Sequence[str]) -> Run:
    async def run(invocation: Invocation) -> str:
        values = check(arguments, invocation.arguments) | dict.fromkeys(seen_by_tool, invocation)
        if inspect.iscoroutinefunction(function):
            return write_result(await function(**values))
        return write_result(await asyncio.to_thread(function, **values))

    return run


def check(arguments: type[BaseModel], sent: Mapping[str, JsonValue]) -> dict[str, Any]:
    """The values to call with: what was sent, and the defaults of what was not."""
    try:
        values = arguments.model_validate(sent)
    except ValidationError as error:
        raise BadArguments(write_complaint(error, arguments)) from error
    return {field.alias or name: getattr(values, name) for name, field in arguments.model_fields.items()}


def write_complaint(error: ValidationError, arguments: type[BaseModel]) -> str:
    known = ", ".join(field.alias or name for name, field in arguments.model_fields.items()) or "none"
    said = []
    for detail in error.errors(include_url=False):
        where = ".".join(str(step) for step in detail["loc"])
        match detail["type"]:
            case "missing":
                said.append(f"{where} is missing")
            case "extra_forbidden":
                said.append(f"there is no argument {where}")
            case _:
                said.append(f"{where}: {detail['msg'].replace('Input should', 'should')}")
    return f"The arguments do not fit: {'; '.join(said)}. The arguments are: {known}."


def write_result(result: object) -> str:
    """Text as it is; everything else as JSON."""
    if isinstance(result, str):
        return result
    return pydantic_core.to_json(result, inf_nan_mode="null").decode()
