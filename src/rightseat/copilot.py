"""Builds a copilot in Python code instead of a configuration file, for an application of your own.

copilot = Copilot(model=OpenAI("gpt-4o-mini", api_key=…))

@copilot.tool
async def get_weather(city: str) -> dict[str, float]: ...

app.include_router(copilot.router())
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Self, TypeVar, overload

from fastapi import APIRouter, FastAPI

from rightseat import app, config, parts
from rightseat.access.threads import ScopedThreads
from rightseat.config import Access, ConfiguredPart, Server
from rightseat.core.agent import Agent
from rightseat.core.errors import ConfigError
from rightseat.core.hooks import AfterRequest, BeforeRequest, OnError
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Tool
from rightseat.toolboxes.functions import Function, FunctionToolbox, make_tool

F = TypeVar("F", bound=Function)
B = TypeVar("B", bound=BeforeRequest)
A = TypeVar("A", bound=AfterRequest)
E = TypeVar("E", bound=OnError)


class Copilot:
    """Agents with their tools, ready to be served.

    `model` responds as the agent `default`; `agents` are further agents that clients may name. With neither, the
    built-in demo model responds. The application opens and closes the model; the caller opens and closes parts
    inside `agents`. `access` has the keys of the configuration section `access`; without it, every client that reaches
    the application is accepted. Threads are kept in memory until the process ends, unless `state_dir` names a folder.
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        agents: Mapping[str, Agent] | None = None,
        tools: Iterable[Tool | Function] = (),
        instructions: str | None = None,
        max_turns: int = 16,
        path: str = "/copilotkit",
        access: Access | Mapping[str, Any] | None = None,
        state_dir: str | Path | None = None,
    ) -> None:
        self._functions = FunctionToolbox(tools)
        self._server = Server()
        self._has_loop = model is not None or not agents
        kept = json.dumps({"server": {"state_dir": str(state_dir)}})
        plain = config.parse(kept if state_dir else config.IN_MEMORY, environ={})
        log, threads, engine = (part.module.build(part.options) for part in (plain.log, plain.threads, plain.engine))
        named = dict(agents or {})
        if self._has_loop:
            if "default" in named:
                raise ConfigError("There are two agents named 'default': the model's, and one in `agents`.")
            model = model or plain.models["default"].module.Scripted()
            named["default"] = Loop(model, [self._functions], instructions=instructions, max_turns=max_turns)
        artifacts = app.artifacts_of(threads)
        runtime = Runtime(named, log=log, threads=ScopedThreads(threads), engine=engine, artifacts=artifacts)
        accepted = Access.model_validate(access or {})
        if accepted.oidc is not None:
            raise ConfigError("`oidc` of `access` needs a console: use `Copilot.from_file` with a configuration file.")
        authenticator = app.build_authenticator(accepted, app.api_keys_of(threads))
        owned = [part for part in (log, threads, engine, model, *named.values(), authenticator) if part is not None]
        self._assembly = app.Assembly(runtime, [_face(plain.faces[0], path, named)], owned, authenticator)

    @classmethod
    def from_file(cls, file: str | Path = config.FILE) -> Self:
        """Build the copilot of a configuration file. Tools that are added in Python go to every agent with a model."""
        found = config.read(Path(file))
        copilot = cls()
        copilot._server = found.server
        copilot._assembly = app.assemble(found, [copilot._functions])
        return copilot

    @property
    def runtime(self) -> Runtime:
        """To start, follow and cancel runs without a client."""
        return self._assembly.runtime

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Open models, log and threads, to use the `runtime` in a program without a server."""
        return self._assembly.opened()

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self, function: None = None, /, *, name: str | None = None, description: str | None = None
    ) -> Callable[[F], F]: ...
    def tool(
        self, function: F | None = None, /, *, name: str | None = None, description: str | None = None
    ) -> F | Callable[[F], F]:
        """Let the model call this function: `@copilot.tool`, or `@copilot.tool(name=…, description=…)`."""

        def add(function: F) -> F:
            if not self._has_loop:
                raise ConfigError("The agents of this copilot have tools of their own. Give it a `model` to add some.")
            self._functions.add(make_tool(function, name, description))
            return function

        return add if function is None else add(function)

    def before_request(self, hook: B) -> B:
        """Call `hook(ask)` before every run. It may return another ask, or raise a `RightseatError` to refuse it."""
        self.runtime.hooks.before_request.append(parts.require_async(hook))
        return hook

    def after_request(self, hook: A) -> A:
        """Call `hook(ask, messages)` after every run, with its messages."""
        self.runtime.hooks.after_request.append(parts.require_async(hook))
        return hook

    def on_error(self, hook: E) -> E:
        """Call `hook(ask, failure)` when a run fails. `failure` has the cause, the agent, the node and the duration."""
        self.runtime.hooks.on_error.append(parts.require_async(hook))
        return hook

    def router(self) -> APIRouter:
        """A router for `include_router` of your application. It includes the lifespan.

        FastAPI runs dependencies of `FastAPI(…)`, `APIRouter(…)` and `include_router(…)` before each request. They can
        refuse it, and do not say who the user is. Your application checks origins and host names.
        """
        return app.build_included_router(app.build_router(self._assembly))

    def app(self, *, origins: Sequence[str] | None = None, hosts: Sequence[str] | None = None) -> FastAPI:
        """An application that is ready to be served.

        `origins` are the web pages that may call, `hosts` the accepted host names beside those of this machine.
        """
        settings = {"origins": origins, "hosts": hosts}
        changes = {name: value for name, value in settings.items() if value is not None}
        return app.application(self._assembly, Server(**{**self._server.model_dump(), **changes}))


def _face(face: ConfiguredPart, path: str, agents: Mapping[str, Agent]) -> ConfiguredPart:
    """The default face at another path. Chats that name no agent go to `default`, or to the only one."""
    only = next(iter(agents)) if len(agents) == 1 else None
    options = type(face.options)(path=path, agent="default" if "default" in agents else only)
    return ConfiguredPart(face.kind, face.type, face.module, options)
