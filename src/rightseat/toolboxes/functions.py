"""Python functions as tools.

    @tool
    async def get_weather(city: Annotated[str, Field(description="A city, in English")]) -> dict[str, float]:
        \"\"\"The weather of a city, now.\"\"\"

The schema comes from the signature, the description from the docstring. Arguments from the model are validated against
the signature. The model does not see parameters of type `Invocation` (the call itself), of type `Principal` (the user),
and those of `toolboxes.dependencies`. A function that is not `async` runs in a thread.
"""

import asyncio
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar, get_type_hints, overload

import pydantic_core
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PydanticSchemaGenerationError,
    ValidationError,
    create_model,
)

from rightseat.core.ask import Ask
from rightseat.core.errors import ConfigError, RightseatError
from rightseat.core.events import ApprovalText
from rightseat.core.tools import Approval, Effect, Invocation, Tool, Toolbox
from rightseat.toolboxes.dependencies import NO_OVERRIDES, CallScope, Injected, Overrides, find_injected

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

Translated = str | Mapping[str, str]
"""A text, or texts by language tag: `{"en": "Cancel this order?", "zh-CN": "取消此订单？"}`."""

OPTIONS = "__rightseat_tool__"
"""The attribute of a function with its `ToolOptions`."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # accepted by every provider


class BadArguments(RightseatError):
    """Returned to the model, which can often fix it."""

    code = "invalid_arguments"
    status = 400


class ToolTimeout(RightseatError):
    """Returned to the model. The call may have taken effect."""

    code = "tool_timeout"
    status = 504

    def __init__(self, name: str, timeout: float) -> None:
        super().__init__(f"The tool {name} took longer than {timeout:g} s. Whether it took effect is unknown.")


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What `@tool` declares about a function. Without a name or a description, the function's own are used."""

    name: str | None = None
    description: str | None = None
    approval: Translated | None = None
    effect: Effect = "read"
    timeout: float | None = None
    title: Translated = ""


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Translated | None = None,
    effect: Effect = "read",
    timeout: float | None = None,
    title: Translated = "",
) -> Callable[[F], F]: ...
def tool(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Translated | None = None,
    effect: Effect = "read",
    timeout: float | None = None,
    title: Translated = "",
) -> F | Callable[[F], F]:
    """Declare that a model may call this function: `@tool`, or `@tool(name=…, description=…)`.

    The function itself is returned, so other code and tests call it as before. `approval` is the question to the user
    before each call, in which `{order_id}` stands for that argument, and `title` its heading. Both can be texts by
    language, the first of which is used for all other languages. `effect="write"` declares that a call changes
    something, so that the agent's policy can require an approval. If a durable run is interrupted during such a call,
    the call is repeated only with `effect="idempotent_write"`, for example if the function passes on the key of its
    `Invocation`. Otherwise the user decides how to continue. After `timeout` seconds the model receives an error
    instead of the result; a function that is not `async` goes on in its thread.

        @tool(approval="Cancel this order?", effect="write", timeout=10)
        def cancel_order(order_id: int, caller: Principal) -> str: ...
    """
    options = ToolOptions(name, description, approval, effect, timeout, title)

    def decorate(function: F) -> F:
        make_tool(function, options)  # an error in the signature is one here, and not in the first run
        if hasattr(function, OPTIONS):
            raise ConfigError(f"The function {function.__name__!r} is a tool already: it has two `@tool`.")
        setattr(function, OPTIONS, options)
        return function

    return decorate if function is None else decorate(function)


class FunctionToolbox:
    """A toolbox of functions. Added functions are available to the next run.

    `overrides` replace functions that parameters depend on; they are looked up in every call.
    """

    def __init__(
        self, tools: Iterable[Tool | Function] = (), label: str = "functions", overrides: Overrides = NO_OVERRIDES
    ) -> None:
        self.label = label
        self._overrides = overrides
        self._tools: dict[str, Tool] = {}
        self._functions: list[Function] = []
        for item in tools:
            self.add(item)

    @property
    def functions(self) -> Sequence[Function]:
        """Those that were added as functions."""
        return self._functions

    def add(self, item: Tool | Function, options: ToolOptions | None = None) -> None:
        """Without `options` those of the function's `@tool` count."""
        added = item if isinstance(item, Tool) else make_tool(item, options, self._overrides)
        if added.name in self._tools:
            raise ConfigError(f"There are two tools named {added.name!r}. Rename one of them.")
        self._tools[added.name] = added
        if not isinstance(item, Tool):
            self._functions.append(item)

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


def make_tool(function: Function, options: ToolOptions | None = None, overrides: Overrides = NO_OVERRIDES) -> Tool:
    """Without `options` those of the function's `@tool` count."""
    options = options or getattr(function, OPTIONS, None) or ToolOptions()
    name = options.name or function.__name__
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a valid tool name: use up to 64 letters, digits, '_' and '-'.")
    if options.timeout is not None and not options.timeout > 0:
        raise ConfigError(f"The tool {name!r} has a timeout of {options.timeout:g} s. Set more than 0.")
    hints = read_hints(function, name)
    injected = read_injected(function, name, hints)
    arguments = read_signature(function, name, hints, injected)
    text = inspect.getdoc(function) if options.description is None else options.description
    return Tool(
        name,
        text or "",
        write_schema(arguments),
        BoundFunction(function, name, arguments, injected, options.timeout, overrides).run,
        approval=None if options.approval is None else build_approval(options.approval, options.title),
        effect=options.effect,
        checks_arguments=True,
        check=partial(check_arguments, arguments),  # pydantic checks more than the schema says
    )


def build_approval(message: Translated, title: Translated) -> Approval:
    messages, titles = read_texts(message), read_texts(title)
    first, heading = next(iter(messages.values())), next(iter(titles.values()))
    translations = {
        tag: ApprovalText(messages.get(tag, first), titles.get(tag, heading)) for tag in (*messages, *titles) if tag
    }
    return Approval(first, title=heading, translations=translations)


def read_texts(text: Translated) -> Mapping[str, str]:
    """By language; a single text has the language `""`."""
    if isinstance(text, str):
        return {"": text}
    if not text:
        raise ConfigError("A text by language needs at least one language, such as {'en': 'Cancel this order?'}.")
    return text


def read_hints(function: Function, name: str) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(f"The tool {name!r} has a type hint that cannot be resolved: {error}.") from error
    return {parameter: hint for parameter, hint in hints.items() if parameter != "return"}


def read_injected(function: Function, name: str, hints: Mapping[str, Any]) -> dict[str, Injected]:
    """The parameters that the model does not see, and what each receives."""
    found = {}
    for parameter in inspect.signature(function).parameters.values():
        injected = find_injected(hints.get(parameter.name, Any), parameter.default, name)
        if injected is not None:
            found[parameter.name] = injected
    return found


def read_signature(
    function: Function, name: str, hints: Mapping[str, Any], injected: Collection[str]
) -> type[BaseModel]:
    """The parameters for the model, as a pydantic model.

    Its fields have generated names and the parameters' names as aliases, because pydantic does not allow some names:
    `json`, `copy`, `_id`.
    """
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"The tool {name!r} takes {parameter}: all parameters must have names.")
        if parameter.name not in injected:
            hint = hints.get(parameter.name, Any)
            fields[f"parameter_{index}"] = (Annotated[hint, Field(alias=parameter.name)], read_default(parameter))
    try:
        return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
    except PydanticSchemaGenerationError as error:
        problem = str(error).partition(". Set")[0]
        raise ConfigError(
            f"The tool {name!r} has a parameter that no JSON can be: {problem}. To pass it from the application, write "
            "`Annotated[T, Depends(get_it)]`."
        ) from error


def read_default(parameter: inspect.Parameter) -> Any:
    return ... if parameter.default is parameter.empty else parameter.default


def write_schema(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    schema = arguments.model_json_schema()
    del schema["title"]
    for described in schema.get("properties", {}).values():
        described.pop("title", None)
    schema.setdefault("properties", {})
    return schema


@dataclass(frozen=True, slots=True)
class BoundFunction:
    """A function with what its parameters are: `arguments` of the model, and `injected` ones."""

    function: Function
    name: str
    arguments: type[BaseModel]
    injected: Mapping[str, Injected]
    timeout: float | None
    overrides: Overrides

    async def run(self, invocation: Invocation) -> str:
        values = check_arguments(self.arguments, invocation.arguments)
        try:
            async with asyncio.timeout(self.timeout) as deadline:
                return write_result(await self._call(invocation, values))
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise ToolTimeout(self.name, self.timeout or 0) from error

    async def _call(self, invocation: Invocation, values: dict[str, Any]) -> object:
        async with AsyncExitStack() as stack:
            scope = CallScope(invocation, stack, self.overrides, self.name)
            values |= await scope.provide(self.injected)
            if inspect.iscoroutinefunction(self.function):
                return await self.function(**values)
            return await asyncio.to_thread(self.function, **values)


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
