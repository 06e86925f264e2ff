"""Opens what a tool asks for beside the model's arguments, for one call: `Annotated[Session, Depends(get_session)]`.

`Depends` is FastAPI's, so the functions that routes of the application use serve its tools too. Their lifetime differs:
a run outlives its request, so a dependency is opened for each call of the tool, in the process that makes the call, and
closed after it. One that needs the request is refused where the tool is decorated.
"""

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from rightseat.core.ask import Principal
from rightseat.core.errors import ConfigError
from rightseat.core.tools import Invocation

Provider = Callable[..., Any]
Overrides = Mapping[Provider, Provider]
"""By a function that is named in `Depends`: the function that is called instead, in a test."""

NO_OVERRIDES: Overrides = {}
REQUEST_TYPES = (
    ("starlette.requests", "HTTPConnection"),  # also `Request` and `WebSocket`
    ("starlette.responses", "Response"),
    ("starlette.background", "BackgroundTask"),
    ("fastapi.security", "SecurityScopes"),
)
"""What FastAPI makes from the request. They are looked up where the application has imported them."""


@dataclass(frozen=True, slots=True)
class InjectedDependency:
    """`is_cached`: several parameters of one call that depend on the function get the same value."""

    provider: Provider
    parameters: Mapping[str, "Injected"]
    is_cached: bool = True


Injected = InjectedDependency | type[Invocation] | type[Principal]
"""What a parameter receives: the value of a dependency, the call itself, or the user."""


def find_injected(hint: object, default: object, tool: str) -> Injected | None:
    """What the server passes to a parameter with this hint and default; None for an argument of the model."""
    if hint is Invocation:
        return Invocation
    if hint is Principal:
        return Principal
    marker = find_marker(hint, default)
    if marker is None:
        return None
    provider: Any = marker.dependency or (get_args(hint)[0] if get_origin(hint) is Annotated else hint)
    return read_dependency(provider, tool, is_cached=bool(marker.use_cache))


def find_marker(hint: object, default: object) -> Any:
    """FastAPI's `Depends(…)` of a parameter. An application that uses it has imported it; others need not."""
    params = sys.modules.get("fastapi.params")
    if params is None:
        return None
    given = [*(get_args(hint)[1:] if get_origin(hint) is Annotated else ()), default]
    return next((one for one in given if isinstance(one, params.Depends)), None)


def read_dependency(provider: Provider, tool: str, *, is_cached: bool = True) -> InjectedDependency:
    """Raises `ConfigError` if only a request could provide a parameter of the function."""
    name = getattr(provider, "__name__", repr(provider))
    hints = read_provider_hints(provider, name, tool)
    parameters: dict[str, Injected] = {}
    for parameter in inspect.signature(provider).parameters.values():
        hint = hints.get(parameter.name, Any)
        injected = find_injected(hint, parameter.default, tool)
        if injected is not None:
            parameters[parameter.name] = injected
        elif needs_request(hint, parameter):
            raise ConfigError(
                f"The tool {tool!r} depends on {name!r}, whose parameter {parameter.name!r} comes from a `Request`. A "
                "run outlives its request: take a `Principal` there, whose `claims` are stored with the run."
            )
    return InjectedDependency(provider, parameters, is_cached)


def read_provider_hints(provider: Provider, name: str, tool: str) -> dict[str, Any]:
    described = provider.__init__ if inspect.isclass(provider) else provider
    try:
        return get_type_hints(described, include_extras=True)
    except NameError as error:
        text = f"The tool {tool!r} depends on {name!r}, which has a type hint that cannot be resolved: {error}."
        raise ConfigError(text) from error
    except TypeError:  # an object that is callable and has no hints
        return {}


def needs_request(hint: object, parameter: inspect.Parameter) -> bool:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    made = [getattr(sys.modules[module], name) for module, name in REQUEST_TYPES if module in sys.modules]
    if isinstance(kind, type) and issubclass(kind, tuple(made)):
        return True
    markers = [*(get_args(hint)[1:] if get_origin(hint) is Annotated else ()), parameter.default]
    if any(isinstance(one, FieldInfo) for one in markers):
        return True  # Cookie, Header, Query, Path, Form and Body of FastAPI
    return parameter.default is parameter.empty


class CallScope:
    """The dependencies of one call, which are closed when it is left, the last opened first."""

    def __init__(self, invocation: Invocation, stack: AsyncExitStack, overrides: Overrides, tool: str) -> None:
        self._invocation = invocation
        self._stack = stack
        self._overrides = overrides
        self._tool = tool
        self._values: dict[Provider, object] = {}

    async def provide(self, injected: Mapping[str, Injected]) -> dict[str, object]:
        return {name: await self._value(one) for name, one in injected.items()}

    async def _value(self, injected: Injected) -> object:
        if injected is Invocation:
            return self._invocation
        if injected is Principal:
            return self._invocation.ask.principal
        if not isinstance(injected, InjectedDependency):
            raise TypeError(injected)
        replacement = self._overrides.get(injected.provider)
        dependency = injected if replacement is None else read_dependency(replacement, self._tool)
        if injected.is_cached and dependency.provider in self._values:
            return self._values[dependency.provider]
        value = await self._open(dependency.provider, await self.provide(dependency.parameters))
        self._values[dependency.provider] = value
        return value

    async def _open(self, provider: Provider, arguments: Mapping[str, object]) -> object:
        called = provider if inspect.isroutine(provider) or inspect.isclass(provider) else type(provider).__call__
        if inspect.isasyncgenfunction(called):
            return await self._stack.enter_async_context(asynccontextmanager(provider)(**arguments))
        if inspect.isgeneratorfunction(called):
            return await self._stack.enter_async_context(open_in_thread(provider, arguments))
        if inspect.iscoroutinefunction(called):
            return await provider(**arguments)
        return await asyncio.to_thread(provider, **arguments)


@asynccontextmanager
async def open_in_thread(
    provider: Callable[..., Iterator[object]], arguments: Mapping[str, object]
) -> AsyncIterator[object]:
    """A generator function that is not async, which may block before and after its `yield`."""
    context = contextmanager(provider)(**arguments)
    value = await asyncio.to_thread(context.__enter__)
    try:
        yield value
    except BaseException as error:
        if not await asyncio.to_thread(context.__exit__, type(error), error, error.__traceback__):
            raise
    else:
        await asyncio.to_thread(context.__exit__, None, None, None)
